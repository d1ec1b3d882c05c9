"""Question (a): is there evidence, and how much? From bags and labels alone, without flags."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from foveate.trust.auditor import Audit

__all__ = ["Amount", "Presence", "amounts"]

Presence = Literal["some", "nothing", "everywhere", "unknown"]

NO_EVIDENCE_COVER = 0.4  # cover below which a class has no evidence, if another class has
SEEN = 0.6  # cover from which on a class has evidence
EVERYWHERE_RATIO = (
    1.35  # tenth percentile of r in own bags above which every segment tells the class
)


@dataclass(frozen=True)
class Amount:
    """How much evidence the bags of one class have.

    Args:
        presence: "some"; "nothing" where the class means that nothing is there; "everywhere" where
            every segment tells the class; "unknown" where the auditor sees no evidence at all.
        declared: Whether a flag said so.
        count: Evidence segments a bag, the mean of Σ e.
        share: The same as a share of the bag's segments.
        best: Mean of the largest e of a bag.
        cover: Mean probability that a bag has evidence that is seen.
        why: The inference in one sentence.
    """

    presence: Presence
    declared: bool
    count: float
    share: float
    best: float
    cover: float
    why: str


def amounts(audit: Audit, classes: Sequence[str], absent: Sequence[int] = ()) -> list[Amount]:
    """The amount of evidence in each class.

    Args:
        audit: What the auditor knows.
        classes: Names of the classes.
        absent: Classes that are declared to mean that nothing is there.
    """
    cover = [_mean(audit.cover[audit.y == c]) for c in range(len(classes))]
    some = max((value for value in cover if not np.isnan(value)), default=0.0)
    return [_amount(audit, c, classes[c], cover[c], some, c in absent) for c in range(len(classes))]


def _amount(audit: Audit, c: int, name: str, cover: float, some: float, absent: bool) -> Amount:
    of = audit.y == c
    e, lengths = audit.e[of], audit.mask[of].sum(-1)
    count = _mean(e.sum(-1))
    share = _mean(e.sum(-1) / np.maximum(lengths, 1))
    best = _mean(e.max(-1)) if len(e) else float("nan")
    presence = _presence(audit.least[c], cover, some)
    why = _why(presence, name, count, _mean(lengths), cover)
    if absent:
        presence, why = "nothing", f"'{name}' was declared or marked to mean that nothing is there."
    return Amount(presence, absent, count, share, best, cover, why)


def _presence(least: float, cover: float, some: float) -> Presence:
    if least >= EVERYWHERE_RATIO:
        return "everywhere"
    if cover < NO_EVIDENCE_COVER:
        return "nothing" if some >= SEEN else "unknown"
    return "some"


def _why(presence: Presence, name: str, count: float, length: float, cover: float) -> str:
    return {
        "some": f"About {count:.1f} of {length:.0f} segments of a bag of '{name}' are evidence.",
        "nothing": f"No segment is typical of '{name}' (evidence in {100 * cover:.0f} % of its "
        "bags), while other classes have evidence: it means that nothing is there.",
        "everywhere": f"Every segment of a bag of '{name}' tells its class: a stain, a site or a "
        "batch, not something to point at.",
        "unknown": f"No segment is typical of '{name}', nor of any other class.",
    }[presence]


def _mean(values: "np.typing.NDArray[np.float64]") -> float:
    return float(np.mean(values)) if len(values) else float("nan")
