"""The finding on claim C7 from combined heads. [snell21] Sec. 5.2"""

from typing import TYPE_CHECKING

import numpy as np

from foveate.jobs.experiment import Records
from foveate.metrics.intervals import mean_interval
from foveate.records.findings import Finding, Verdict
from foveate.studies.snell21.copying.findings import first_above
from foveate.studies.snell21.heads.search import bad_heads, good_heads
from foveate.types import Array

if TYPE_CHECKING:
    from foveate.studies.snell21.heads import HeadsSettings

__all__ = ["findings", "learnt"]

DRAWS = 20  # [snell21] Figure 2, below which shares decide nothing
CRITERION_PARTS = ("all-bad", "one-good", "random")
WORDS = {
    "lstm-sum": "LSTM, contexts summed",
    "lstm-mean": "LSTM, contexts averaged",
    "gru-sum": "GRU, contexts summed",
    "gru-mean": "GRU, contexts averaged (released code)",
}


def learnt(settings: "HeadsSettings", records: Records, part: str) -> Array:
    """Whether each draw of a part has learnt, shape (draws,)."""
    return np.isfinite(first_above(records[part], settings.good, settings.steps))


def findings(settings: "HeadsSettings", records: Records) -> list[Finding]:
    """The one finding: which combinations of heads learn."""
    first = settings.variants[0]
    draws = {name: learnt(settings, records, f"{first}-{name}") for name in CRITERION_PARTS}
    bad, one, random = (float(draws[name].mean()) for name in CRITERION_PARTS)
    gap = mean_interval(draws["one-good"].astype(float) - draws["all-bad"])
    cells = dict.fromkeys(name.split("-")[0] for name in settings.variants)
    sentences = [
        f"Learnt within {settings.steps} steps, {settings.draws} draws a scenario.",
        *[_variant(settings, records, name) for name in settings.variants],
        *[_search(settings, records, cell) for cell in cells],
    ]
    return [
        Finding(
            "snell21:C7",
            _verdict(settings, records, (bad, one, random)),
            *gap,
            measure="share of draws that learn with one good head, minus with none",
            summary=" ".join(sentences),
            figure=f"heads-{first}",
            deviation=_deviation(settings),
        )
    ]


def _verdict(
    settings: "HeadsSettings", records: Records, shares: tuple[float, float, float]
) -> Verdict:
    """The verdict from the shares of draws that learn: all bad, one good, random."""
    cell = settings.variants[0].split("-")[0]
    search = settings.search(f"{cell}-sum")
    if len(bad_heads(search, records[f"{cell}-search"].final["best"][0])) < settings.heads:
        return "not testable here"
    if settings.draws < DRAWS:
        return "underpowered"
    bad, one, random = shares
    conditions = [bad <= 0.5, one >= 0.9, random >= 0.9]
    if all(conditions):
        return "holds"
    if sum(conditions) == 2 or min(one, random) - bad >= 0.25:
        return "holds in part"
    return "does not hold"


def _variant(settings: "HeadsSettings", records: Records, variant: str) -> str:
    shares = {
        name: f"{learnt(settings, records, f'{variant}-{name}').mean():.0%}"
        for name in (*CRITERION_PARTS, "all-bad-last")
    }
    same = "same_as" in records[f"{variant}-all-bad-last"].meta
    last = "" if same else f" (bad by last accuracy: {shares['all-bad-last']})"
    return (
        f"{WORDS[variant]}: {shares['all-bad']} with {settings.heads} bad heads{last}, "
        f"{shares['one-good']} with one good head among them, {shares['random']} with random heads."
    )


def _search(settings: "HeadsSettings", records: Records, cell: str) -> str:
    search = settings.search(f"{cell}-sum")
    final = records[f"{cell}-search"].final
    best, last = final["best"][0], final["last"][0]
    good, bad = len(good_heads(search, best)), bad_heads(search, best)
    by_last = bad_heads(search, last)
    substitute = "" if good and bad else "; where there was none, the nearest candidate was used"
    also = "the same ones" if by_last == bad else f"{len(by_last)}, not all the same,"
    return (
        f"The search with the {cell.upper()} tried {len(best)} heads and found {good} good and "
        f"{len(bad)} bad ones by best accuracy, {also} by last accuracy{substitute}."
    )


def _deviation(settings: "HeadsSettings") -> str:
    """What differs from the paper: the variant that is judged, then sizes."""
    first = settings.variants[0]
    variant = "" if first == "lstm-sum" else f"{WORDS[first]} instead of {WORDS['lstm-sum']}; "
    return variant + _sizes(settings)


def _sizes(settings: "HeadsSettings") -> str:
    if (settings.d, settings.batch, settings.length, settings.heads) == (256, 128, 40, 8):
        if (settings.draws, settings.wanted, settings.wanted_good) == (20, 20, 20):
            return "none in sizes"
        return (
            f"{settings.draws} draws a scenario, {settings.wanted} bad and "
            f"{settings.wanted_good} good heads instead of 20 each"
        )
    return (
        f"smaller: states of {settings.d}, batches of {settings.batch}, "
        f"{settings.heads} heads, {settings.draws} draws "
        f"a scenario, {settings.wanted} bad and {settings.wanted_good} good heads wanted, "
        f"{settings.steps} steps"
    )
