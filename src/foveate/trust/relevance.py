"""Where relevance is known: how well attention finds it, with intervals over bags or groups."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from foveate.bags.bag import Bag
from foveate.errors import FoveateError
from foveate.metrics.focus import attention_on, focus_true
from foveate.metrics.intervals import Interval
from foveate.metrics.localisation import (
    above_threshold,
    average_precision,
    best_k,
    froc,
    over_bags,
    overlap,
    pointing_game,
    pooled,
    segment_auroc,
    top_k,
)
from foveate.trust.facts import exact_interval
from foveate.trust.segment_evidence import masks
from foveate.trust.subject import Reading
from foveate.trust.summaries import mean_of
from foveate.types import Array

__all__ = [
    "THRESHOLD", "bag_values", "known_bags", "marked_empty", "measured_ft", "summarised",
    "usual_count",
]  # fmt: skip

THRESHOLD = 0.5  # of attention: above it a segment is marked; ERASER's
TAU = 0.8  # [vr23] Sec. 2.4: SAIF asks both scores to be at least so high


def known_bags(bags: Sequence[Bag], known: Any = None) -> Array:
    """Which bags have known relevance and a relevant segment, shape (1 or S, n).

    Args:
        bags: One set for all members, or one each.
        known: Boolean, shape (n,); None where z of every bag is known, if any is.
    """
    n = len(bags[0])
    if any(bag.z is None for bag in bags):
        return np.zeros((len(bags), n), bool)
    relevance_known = np.ones(n, bool) if known is None else np.asarray(known, dtype=bool)
    if relevance_known.shape != (n,):
        raise FoveateError(
            f"known must say yes or no for each of {n} bags, got {relevance_known.shape}"
        )
    mask = masks(bags)
    return (
        np.stack(
            [
                (np.asarray(bag.z) & bag_known).any(1)
                for bag, bag_known in zip(bags, mask, strict=True)
            ]
        )
        & relevance_known
    )


def marked_empty(bags: Sequence[Bag], known: Any, classes: int, least: int) -> list[int]:
    """Classes whose marked bags hold no relevant segment, while those of another class do.

    Args:
        bags: One set for all members, or one each.
        known: Which bags' relevance is known, boolean (n,); None for all, if there is any.
        classes: How many classes there are.
        least: Marked bags that a class needs.

    Example:
        >>> import torch
        >>> z = torch.tensor([[True, False], [False, False]])
        >>> bag = Bag(torch.ones(2, 2, 1), torch.tensor([0, 1]), z)
        >>> marked_empty([bag], None, 2, least=1)
        [1]
    """
    relevant = known_bags(bags, known)
    if not relevant.any():
        return []
    y = np.stack([bag.y.numpy() for bag in bags])
    marked = np.broadcast_to(True if known is None else np.asarray(known, bool), y.shape)
    of_class = [y == c for c in range(classes)]
    return [
        c
        for c, of in enumerate(of_class)
        if (of & marked)[0].sum() >= least and not (of & relevant).any()
    ]


def usual_count(bags: Sequence[Bag], known: Array) -> int:
    """How many relevant segments bags have where that is known (the median), else 1."""
    if not known.any():
        return 1
    counts = [
        (np.asarray(bag.z) & mask)[bag_known].sum(1)
        for bag, mask, bag_known in zip(bags, masks(bags), known, strict=True)
    ]
    return max(1, int(np.median(np.concatenate(counts))))


def bag_values(reading: Reading, bags: Sequence[Bag], known: Array) -> dict[str, Array]:
    """Every measure of localisation, one number a member and bag (S, n), nan where not known.

    ``ft`` and ``saif`` are FT by attention and SAIF; ``f1`` and ``iou`` mark segments with
    attention of at least .5, ``f1_best_k`` and ``iou_best_k`` the best one number of top segments.
    """
    shape = reading.alpha.shape
    mask = np.broadcast_to(masks(bags), shape)
    z = np.broadcast_to(np.stack([np.asarray(bag.z) for bag in bags]), shape) & mask
    y = np.broadcast_to(np.stack([bag.y.numpy() for bag in bags]), shape[:2])
    seen = np.broadcast_to(known, shape[:2])
    a_z = attention_on(reading.alpha, z)
    p_y = np.take_along_axis(reading.p, y[..., None], -1)[..., 0]
    hidden = np.where(seen[..., None], z, False)
    k = [best_k(*(part[i][seen[i]] for part in (reading.alpha, z, mask))) for i in range(shape[0])]
    tops = np.stack([top_k(reading.alpha[i], k[i], mask[i]) for i in range(shape[0])])
    by_threshold = overlap(above_threshold(reading.alpha, THRESHOLD, mask), z, mask)
    by_count = overlap(tops, z, mask)
    values = {
        "ft": focus_true(reading.alpha, z, mask),
        "pointing_game": pointing_game(reading.alpha, z, mask),
        "segment_auroc": segment_auroc(reading.s, z, mask),
        "average_precision": average_precision(reading.s, z, mask),
        "froc": froc(reading.s, hidden, mask & seen[..., None]),
        "relevance_mass": a_z,
        "saif": (a_z >= TAU) & (p_y >= TAU),
        "f1": by_threshold.f1,
        "iou": by_threshold.iou,
        "f1_best_k": by_count.f1,
        "iou_best_k": by_count.iou,
    }
    return {name: np.where(seen, value, np.nan) for name, value in values.items()}


def measured_ft(
    bags: Sequence[Bag], values: dict[str, Array], known: Array, c: int, size: int, least: int
) -> dict[str, Any]:
    """FT of one class where the relevance is known, its exact interval and its chance level.

    Args:
        bags: One set for all members, or one each.
        values: What :func:`bag_values` gave; empty where none is known.
        known: Which bags' relevance is known, shape (1 or S, n).
        c: The class.
        size: Number of members S.
        least: Known bags from which on the worst member counts.

    Returns:
        Facts by the names of :class:`~foveate.trust.facts.ClassFacts`; empty without known bags.
    """
    y = np.stack([bag.y.numpy() for bag in bags])
    of = (y == c) & known
    count = int(of.sum() / len(known))
    if not values or not count:
        return {}
    ft = np.where(np.broadcast_to(of, (size, y.shape[1])), values["ft"], np.nan)
    per_bag = np.nanmean(ft[:, of[0]], 0) if len(of) == 1 else ft[~np.isnan(ft)]
    interval = exact_interval(float(per_bag.mean()) * count, count)
    group = bags[0].group
    if group is not None and len(of) == 1:  # bags of a group are alike: the wider of the two
        spread = over_bags(per_bag, group.numpy()[of[0]])
        ends = [(interval.low, spread.low), (interval.high, spread.high)]
        low, high = ([end for end in pair if end is not None] for pair in ends)
        interval = Interval(interval.mean, min(low), max(high))
    mask = masks(bags)
    z = np.stack([np.asarray(bag.z) for bag in bags]) & mask
    chance = float((z.sum(-1) / np.maximum(mask.sum(-1), 1))[of].mean())
    worst = float(np.nanmin([mean_of(row) for row in ft]))
    numbers: dict[str, Any] = {"measured": interval, "known": count, "measured_chance": chance}
    return numbers | ({"worst": worst} if count >= least else {})


def summarised(
    values: dict[str, Array], reading: Reading, bags: Sequence[Bag], known: Array, classes: int
) -> dict[str, Any]:
    """Means with intervals, whole and by class; AUROC and average precision pooled as well.

    Where members read the same bags, a bag counts once, by its mean over members.
    """
    size, n = reading.alpha.shape[:2]
    shared = len(bags) == 1
    y = np.broadcast_to(np.stack([bag.y.numpy() for bag in bags]), (size, n))
    groups = [bag.group for bag in bags]
    group = (
        np.stack([g.numpy() for g in groups if g is not None]) if groups[0] is not None else None
    )
    labels = y[0] if shared else y.ravel()
    drawn = None if group is None else group[0] if shared else group.ravel()

    numbers: dict[str, Any] = {}
    for name, value in values.items():
        flat = value.mean(0) if shared else value.ravel()
        of_class = [labels == c for c in range(classes)]
        numbers[name] = {
            "all": over_bags(flat, drawn)._asdict(),
            "classes": [
                over_bags(flat[of], None if drawn is None else drawn[of])._asdict()
                for of in of_class
            ],
        }
    mask = np.broadcast_to(masks(bags), reading.s.shape)
    z = np.broadcast_to(np.stack([np.asarray(bag.z) for bag in bags]), reading.s.shape)
    seen = np.broadcast_to(known, (size, n))
    for measure in (segment_auroc, average_precision):
        parts = [
            pooled(measure, reading.s[i][seen[i]], z[i][seen[i]], mask[i][seen[i]])
            for i in range(size)
        ]
        numbers[measure.__name__]["pooled"] = float(np.mean(parts))
    numbers["bags"] = int(seen[0].sum() if shared else seen.sum())
    return numbers
