"""How well scores locate the relevant segments, bag by bag.

Arrays carry any leading axes; the last ones are bags ``n`` and segments ``m``. Every measure gives
one number per bag (nan where a bag cannot have one), so that intervals over bags or groups, and
values of a class, are means over some of the bags. FT, attention on z and SAIF are in
:mod:`foveate.metrics.focus`.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from foveate.metrics.intervals import Interval
from foveate.metrics.ranks import from_the_top, ranks
from foveate.types import Array

__all__ = [
    "FALSE_POSITIVES",
    "Overlap",
    "above_threshold",
    "average_precision",
    "best_k",
    "froc",
    "over_bags",
    "overlap",
    "pointing_game",
    "pooled",
    "segment_auroc",
    "top_k",
]


FALSE_POSITIVES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # per bag: the rates of CAMELYON16


class Overlap(NamedTuple):
    """F1 and intersection over union of marked and relevant segments, each shape (…, n)."""

    f1: Array
    iou: Array


def pointing_game(s: Array, z: Array, mask: Array | None = None) -> Array:
    """Whether the top segment is relevant; of several tops, the share that is, shape (…, n).

    Unlike FT, ties count by their share, and any relevant segment counts. Bags without a
    relevant segment have nan.

    Example:
        >>> pointing_game(np.array([[2.0, 2.0, 1.0]]), np.array([[True, False, False]]))
        array([0.5])
    """
    valid = _valid(s, mask)
    masked = np.where(valid, s, -np.inf)
    top = (masked == masked.max(-1, keepdims=True)) & valid
    return _nan_unless((z & valid).any(-1), (top & z).sum(-1) / np.maximum(top.sum(-1), 1))


def segment_auroc(s: Array, z: Array, mask: Array | None = None) -> Array:
    r"""Probability that a relevant segment scores above another of its bag, ties counting half.

    With average ranks, :math:`(\sum_{j \in z} r_j - R(R+1)/2) / (R (m - R))`, shape (…, n).
    """
    valid = _valid(s, mask)
    n_relevant, n_irrelevant = (z & valid).sum(-1), (~z & valid).sum(-1)
    above = (ranks(s, valid) * (z & valid)).sum(-1) - n_relevant * (n_relevant + 1) / 2
    return _nan_unless(
        (n_relevant > 0) & (n_irrelevant > 0), above / np.maximum(n_relevant * n_irrelevant, 1)
    )


def average_precision(s: Array, z: Array, mask: Array | None = None) -> Array:
    """Mean, over relevant segments, of the precision at their score, shape (…, n).

    Equal scores are added together, so the order within a tie does not matter.
    """
    valid = _valid(s, mask)
    order = from_the_top(s, s, valid)
    value = np.take_along_axis(np.where(valid, s, -np.inf), order, -1)
    hit = np.take_along_axis(z & valid, order, -1)
    position = np.arange(s.shape[-1])
    last = np.ones(s.shape, bool)
    last[..., :-1] = value[..., :-1] != value[..., 1:]
    end = np.minimum.accumulate(np.where(last, position, position[-1])[..., ::-1], -1)[..., ::-1]
    precision = np.take_along_axis(hit.cumsum(-1), end, -1) / (end + 1)
    count = hit.sum(-1)
    return _nan_unless(count > 0, (precision * hit).sum(-1) / np.maximum(count, 1))


def froc(
    s: Array, z: Array, mask: Array | None = None, rates: Sequence[float] = FALSE_POSITIVES
) -> Array:
    """Share of a bag's relevant segments detected, averaged over false positives per bag, (…, n).

    For each rate the threshold is the lowest with at most so many irrelevant segments per bag, on
    average over the bags that have segments; scores must mean the same in every bag (give s rather
    than α). The mean weighs bags equally, however many relevant segments they have.

    Args:
        s: Scores, shape (…, n, m).
        z: Relevance, boolean, shape (…, n, m).
        mask: True where a segment exists, shape (…, n, m).
        rates: False positives per bag.
    """
    valid = _valid(s, mask)
    n, m = s.shape[-2:]
    wrong = np.where(valid & ~z, s, -np.inf).reshape(*s.shape[:-2], n * m)
    falling = -np.sort(-wrong, -1)
    bags = valid.any(-1).sum(-1)
    allowed = np.floor(np.asarray(rates) * bags[..., None]).astype(int)
    # Detected: scores strictly above the first false positive that is one too many.
    edge = np.take_along_axis(falling, np.minimum(allowed, n * m - 1), -1)
    detected = (s[..., None] > edge[..., None, None, :]) & (z & valid)[..., None]
    count = (z & valid).sum(-1)
    return _nan_unless(count > 0, detected.sum(-2).mean(-1) / np.maximum(count, 1))


def above_threshold(alpha: Array, threshold: float, mask: Array | None = None) -> Array:
    """Segments with attention of at least ``threshold``, boolean, shape (…, n, m)."""
    return (alpha >= threshold) & _valid(alpha, mask)


def top_k(alpha: Array, k: Array | int, mask: Array | None = None) -> Array:
    """The k segments of each bag with the most attention, boolean, shape (…, n, m).

    Args:
        alpha: Shape (…, n, m).
        k: How many, one number or one per bag (…, n).
        mask: True where a segment exists.
    """
    valid = _valid(alpha, mask)
    order = from_the_top(alpha, alpha, valid)
    first = np.arange(alpha.shape[-1]) < np.asarray(k)[..., None]
    chosen = np.zeros(alpha.shape, bool)
    np.put_along_axis(chosen, order, np.broadcast_to(first, alpha.shape), -1)
    return chosen & valid


def overlap(chosen: Array, z: Array, mask: Array | None = None) -> Overlap:
    """F1 and IoU of chosen and relevant segments (ERASER's token measures); nan without z."""
    valid = _valid(chosen, mask)
    intersection = (chosen & z & valid).sum(-1)
    union = ((chosen | z) & valid).sum(-1)
    has_relevant = (z & valid).any(-1)
    f1 = 2 * intersection / np.maximum(intersection + union, 1)
    return Overlap(
        _nan_unless(has_relevant, f1),
        _nan_unless(has_relevant, intersection / np.maximum(union, 1)),
    )


def best_k(alpha: Array, z: Array, mask: Array | None = None) -> int:
    """The one number of top segments that gives the highest mean F1 over all bags, the least such.

    It is chosen by z itself, so F1 at this k is an upper bound, not an estimate.
    """
    valid = _valid(alpha, mask)
    order = from_the_top(alpha, alpha, valid)
    hits = np.take_along_axis(z & valid, order, -1).cumsum(-1)
    lengths = valid.sum(-1, keepdims=True)
    selected = np.minimum(np.arange(1, alpha.shape[-1] + 1), lengths)
    count = (z & valid).sum(-1, keepdims=True)
    f1 = 2 * hits / (selected + count)
    has_relevant = np.broadcast_to(count[..., 0] > 0, f1.shape[:-1])
    return 1 + int(f1[has_relevant].mean(0).argmax()) if has_relevant.any() else 1


def pooled(measure: Any, s: Array, z: Array, mask: Array | None = None) -> float:
    """``segment_auroc`` or ``average_precision`` over the segments of all bags together."""
    valid = _valid(s, mask)
    return float(measure(s[valid][None], z[valid][None])[0])


def over_bags(values: Array, group: Array | None = None, *, draws: int = 2000) -> Interval:
    """The mean over bags that have a value, with an interval by bootstrap over bags or groups.

    Args:
        values: One number per bag, nan where there is none, shape (n,).
        group: Which bags belong together, shape (n,); groups are drawn. None: bags are drawn.
        draws: Resamples.
    """
    valid = ~np.isnan(values)
    if not valid.any():
        return Interval(float("nan"), None, None)
    unit = np.arange(len(values)) if group is None else group
    _, inverse = np.unique(unit[valid], return_inverse=True)
    total, count = np.bincount(inverse, values[valid]), np.bincount(inverse)
    mean = float(total.sum() / count.sum())
    if len(count) < 2:
        return Interval(mean, None, None)
    picks = np.random.default_rng(0).integers(len(count), size=(draws, len(count)))
    low, high = np.quantile(total[picks].sum(1) / count[picks].sum(1), [0.025, 0.975])
    return Interval(mean, float(low), float(high))


def _valid(values: Array, mask: Array | None) -> Array:
    return np.ones(values.shape, bool) if mask is None else np.broadcast_to(mask, values.shape)


def _nan_unless(has_relevant: Any, values: Any) -> Array:
    return np.where(has_relevant, values, np.nan)
