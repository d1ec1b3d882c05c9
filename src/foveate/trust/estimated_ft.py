"""Question (b): does the model look at the evidence? Estimated FT by the auditor, and chance."""

from dataclasses import dataclass

import numpy as np

from foveate.trust.auditor import Audit
from foveate.types import Array

__all__ = ["INTERVAL_HELD", "EstimatedFT", "estimate_ft", "top_evidence"]

INTERVAL_HELD = 1.0  # of identifiable cases of both later confirmations: FT is in it

SYSTEMATIC = 0.04  # error of the estimate that more bags do not lower; from the design sets
LABELLED = 0.15  # the same where bags are matched by their other labels
SHIFTED = 0.2  # what each unit of log shift adds to it


@dataclass(frozen=True)
class EstimatedFT:
    """Estimated FT of one class.

    Args:
        members: Of each model, shape (S,).
        estimate: Mean over models; nan without bags.
        low: Lower end of its interval: both auditors' estimates, widened.
        high: Upper end, which also allows for evidence that the auditor does not see clearly.
        clear: Mean over bags of the largest probability of being evidence in the bag.
        chance: The FT that a random segment would have.
        disagreement: Largest difference between the two auditors, over models.
        bags: Bags that it rests on.
    """

    members: tuple[float, ...]
    estimate: float
    low: float
    high: float
    clear: float
    chance: float
    disagreement: float
    bags: int


def top_evidence(audit: Audit, top: Array, a: Array | None = None, *, first: bool = False) -> Array:
    """Probability that each model's top segment is evidence, shape (S, k).

    Args:
        audit: What the auditor knows.
        top: The most attended segment of each audited bag, shape (S, k).
        a: In place of ``audit.a``, shape (K, k, m).
        first: Whether all models were shown the first set of bags.
    """
    values = audit.a if a is None else a
    values = values[:1] if first else values
    whole = np.broadcast_to(values, (len(top), *values.shape[1:]))
    return np.take_along_axis(whole, top[..., None], -1)[..., 0]


def estimate_ft(audit: Audit, top: Array, c: int, a: Array | None = None) -> EstimatedFT:
    """How often models look at the evidence of class c.

    Args:
        audit: What the auditor knows.
        top: The most attended segment of each audited bag, shape (S, k).
        c: Which class.
        a: In place of ``audit.a``, where one kind of evidence is meant, shape (K, k, m).
    """
    of = np.broadcast_to(audit.y == c, top.shape)
    if not of.any():
        nan = float("nan")
        return EstimatedFT((nan,) * len(top), nan, nan, nan, nan, nan, nan, 0)
    values = top_evidence(audit, top, a)
    members = np.array([values[i, of[i]].mean() for i in range(len(top))])
    opinions = [members]
    if a is None:
        for v in range(len(audit.opinions)):
            seen = top_evidence(audit, top, audit.opinion(v))
            opinions.append(np.array([seen[i, of[i]].mean() for i in range(len(top))]))
    means = [part.mean() for part in opinions]
    half = _half_width(values[of], int(of[0].sum()), float(audit.shift[c]), audit.matched)
    clear = float(audit.e.max(-1)[audit.y == c].mean())
    lengths = np.maximum(audit.mask.sum(-1), 1)
    chance = ((audit.a if a is None else a).sum(-1) / lengths)[audit.y == c]
    return EstimatedFT(
        tuple(members.tolist()),
        float(members.mean()),
        float(max(0.0, min(means) - half)),
        float(min(1.0, max(means) + half + 1 - clear)),
        clear,
        float(chance.mean()),
        float(np.ptp(np.stack(opinions), axis=0).max()),
        int(of[0].sum()),
    )


def _half_width(values: Array, bags: int, shift: float, matched: bool) -> float:
    """Sampling over bags and what the auditor's model of the bags may be wrong by."""
    share = (values.mean() * bags + 2) / (bags + 4)
    sampling = 1.96 * np.sqrt(share * (1 - share) / (bags + 4))
    systematic = (LABELLED if matched else SYSTEMATIC) + SHIFTED * max(0.0, float(np.log(shift)))
    return float(np.hypot(sampling, systematic))
