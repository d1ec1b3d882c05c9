"""Evidence by class: what single models show on the bags of each class, in a few numbers."""

import numpy as np

from foveate.trust.segment_evidence import Evidence
from foveate.types import Array

__all__ = ["Marks", "aversion", "marks_of", "separation"]

Marks = dict[str, Array]
"""Numbers by name, each one a member and class, shape (S, C); nan where a class has no bags."""


def marks_of(evidence: Evidence, classes: int, seeds: Array | None = None) -> Marks:
    """The evidence of every class.

    ``bags`` counts them. Means over the bags *of* a class: ``accuracy``, ``top`` (accuracy of the
    top segment alone), ``mixed``, ``even``, ``gap``, ``entropy``, ``peak`` (α of the top segment),
    ``sufficiency``, ``comprehensiveness``, ``drop``, ``deletion`` and ``insertion`` (areas, beyond
    a random order's), ``agreement`` of α with β and its ``chance``, ``correlation``, ``seeds``
    (share of other members with the same top segment). Over the bags of all *other* classes, where
    nothing should speak for this one: ``falsely`` (share whose top segment is read as it),
    ``unattended`` and ``runner_up``, the probability that g gives it there. ``separation`` and
    ``aversion``: see the functions.

    Args:
        evidence: The evidence, a number a bag.
        classes: Number of classes C.
        seeds: Share of other members with the same top segment, shape (S, n).
    """
    numbers = {
        "accuracy": evidence.right,
        "top": evidence.top_right,
        "mixed": evidence.mixed_right,
        "even": evidence.even_right,
        "gap": evidence.gap,
        "entropy": evidence.entropy,
        "peak": evidence.top,
        "sufficiency": evidence.sufficiency,
        "comprehensiveness": evidence.comprehensiveness,
        "drop": evidence.drop,
        "deletion": evidence.deletion(random=True) - evidence.deletion(),
        "insertion": evidence.insertion() - evidence.insertion(random=True),
        "agreement": evidence.agreement,
        "chance": evidence.chance,
        "correlation": evidence.correlation,
    }
    if seeds is not None:
        numbers["seeds"] = seeds
    of = evidence.y[..., None] == np.arange(classes)  # (S, n, C)
    marks = {name: _mean(values[..., None], of) for name, values in numbers.items()}
    predicted = np.where(
        evidence.said_by_top[..., None] < 0,
        np.nan,
        evidence.said_by_top[..., None] == np.arange(classes),
    )
    marks["falsely"] = _mean(predicted, ~of)
    marks["unattended"] = _mean(evidence.unattended, ~of)
    marks["runner_up"] = _mean(evidence.runner_up, ~of)
    members = range(len(evidence.y))
    for name, measure in (("separation", separation), ("aversion", aversion)):
        marks[name] = np.array([[measure(evidence, i, c) for c in range(classes)] for i in members])
    marks["bags"] = of.sum(1).astype(float)
    return marks


def separation(evidence: Evidence, member: int, c: int) -> float:
    r"""Whether the top scores of a class stand out from what other bags leave unattended.

    :math:`2\,\Pr[s_{(1)} > s'_{(2)}] - 1` for a bag of the class and a bag of another one, ties
    counting half. Where the focus finds the evidence of every class, tops stand above runners-up
    (1). Where it passes over the evidence of this class, its tops are the best of the background,
    and so are the runners-up of other bags: 0. Ours; it detects what [pvr22] Sec. 4 describes.

    Args:
        evidence: The evidence.
        member: Which model.
        c: Which class.
    """
    of = evidence.y[member] == c
    return _above(evidence.first[member, of], evidence.second[member, ~of])


def aversion(evidence: Evidence, member: int, c: int) -> float:
    r"""Whether the lowest scores of a class stand out below the lowest of other bags.

    :math:`2\,\Pr[s_{(m)} < s'_{(m)}] - 1`; 1 where the focus ranks the evidence of the class last,
    as in the second error mode, 0 where it is lost among the others. [pvr22] Sec. 4.2
    """
    of = evidence.y[member] == c
    return _above(-evidence.last[member, of], -evidence.last[member, ~of])


def _above(a: Array, b: Array) -> float:
    """2 Pr[a > b] − 1 with ties counting half; nan where one of them is empty."""
    b = np.sort(b[~np.isnan(b)])
    if not len(a) or not len(b):
        return float("nan")
    below = np.searchsorted(b, a, "left") + np.searchsorted(b, a, "right")
    return float(below.mean() / len(b) - 1)


def _mean(values: Array, of: Array) -> Array:
    """Means over the bags of each class, leaving out nan: (S, n, 1 or C), (S, n, C) → (S, C)."""
    chosen = of & ~np.isnan(np.asarray(values, float))
    total = np.where(chosen, values, 0.0).sum(1)
    count = chosen.sum(1)
    return np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0)
