"""Earlier criteria of agreement, which results showed to be undecidable. [snell21]"""

from collections.abc import Mapping

from foveate.records.findings import Revision, Verdict

__all__ = ["REVISIONS"]

DATE = "2026-11-18"
EASY_TEXTS = (
    "An excess of .05 over the random level is less than the smallest published one (SST, .12) by "
    "more than half; it separates a weak agreement from none, not the published picture from a "
    "weak one."
)
FIRST = (
    "For each data set the excess A(α, β_uf) − random level (fair ties; β_uf at the checkpoint "
    "chosen on one half of the validation data, read on the other half): the 95 % interval over "
    "seeds lies above .05. Holds for all data sets, in part for at least half. As in the paper's "
    "tables, SMS does not count."
)
EARLIER: Mapping[str, tuple[str, Verdict]] = {
    "snell21:C1": (FIRST, "holds"),
    "snell21:C2": ("The same for A(β_uf, β_px), at the same checkpoint.", "holds in part"),
    "snell21:C3": ("The same for A(Δ, β_uf), at the same checkpoint.", "holds"),
    "snell21:C4": ("The same for A(α, β), both of one model at its end.", "holds"),
}
REVISIONS: Mapping[str, Revision] = {
    claim: Revision(DATE, EASY_TEXTS, criterion, verdict)
    for claim, (criterion, verdict) in EARLIER.items()
} | {
    "snell21:C17": Revision(
        DATE,
        "With two seeds an interval has one degree of freedom, so that nearly nothing lies above 0 "
        "and the verdict followed from the number of seeds.",
        "For each data set, with the checkpoint that maximises A(α, β_uf(τ)) on one half of the "
        "validation data and values of the other half (fair ties): the 95 % intervals over seeds "
        "of its rise from step 0 and of its fall to the last step both lie above 0. Holds for all "
        "data sets, in part for at least half; SMS does not count.",
        "does not hold",
    )
}
