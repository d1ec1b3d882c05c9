"""How well scores find the relevant segments, bag by bag.

Arrays carry any leading axes; the last ones are bags ``n`` and segments ``m``. Every measure gives
one number a bag (nan where a bag cannot have one), so that intervals over bags or groups, and
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
    "average_precision",
    "best_k",
    "froc",
    "marked",
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

    Unlike FT a tie is not lost but shared, and any relevant segment will do. Bags without a
    relevant segment have nan.

    Example:
        >>> pointing_game(np.array([[2.0, 2.0, 1.0]]), np.array([[True, False, False]]))
        array([0.5])
    """
    there = _there(s, mask)
    shown = np.where(there, s, -np.inf)
    top = (shown == shown.max(-1, keepdims=True)) & there
    return _where((z & there).any(-1), (top & z).sum(-1) / np.maximum(top.sum(-1), 1))


def segment_auroc(s: Array, z: Array, mask: Array | None = None) -> Array:
    r"""Chance that a relevant segment scores above another of its bag, ties counting half.

    With average ranks, :math:`(\sum_{j \in z} r_j - R(R+1)/2) / (R (m - R))`, shape (…, n).
    """
    there = _there(s, mask)
    yes, no = (z & there).sum(-1), (~z & there).sum(-1)
    above = (ranks(s, there) * (z & there)).sum(-1) - yes * (yes + 1) / 2
    return _where((yes > 0) & (no > 0), above / np.maximum(yes * no, 1))


def average_precision(s: Array, z: Array, mask: Array | None = None) -> Array:
    """Mean, over relevant segments, of the precision at their own score, shape (…, n).

    Equal scores enter together, so the order within a tie does not matter.
    """
    there = _there(s, mask)
    order = from_the_top(s, s, there)
    value = np.take_along_axis(np.where(there, s, -np.inf), order, -1)
    hit = np.take_along_axis(z & there, order, -1)
    place = np.arange(s.shape[-1])
    last = np.ones(s.shape, bool)
    last[..., :-1] = value[..., :-1] != value[..., 1:]
    end = np.minimum.accumulate(np.where(last, place, place[-1])[..., ::-1], -1)[..., ::-1]
    precision = np.take_along_axis(hit.cumsum(-1), end, -1) / (end + 1)
    count = hit.sum(-1)
    return _where(count > 0, (precision * hit).sum(-1) / np.maximum(count, 1))


def froc(
    s: Array, z: Array, mask: Array | None = None, rates: Sequence[float] = FALSE_POSITIVES
) -> Array:
    """Share of a bag's relevant segments found, averaged over false positives per bag, (…, n).

    For each rate the threshold is the lowest that leaves at most so many other segments a bag, on
    average over the bags that have segments; scores must mean the same in every bag (give s rather
    than α). The mean over bags weighs bags alike, however many relevant segments they have.

    Args:
        s: Scores, shape (…, n, m).
        z: Relevance, boolean, shape (…, n, m).
        mask: True where a segment exists, shape (…, n, m).
        rates: False positives per bag.
    """
    there = _there(s, mask)
    n, m = s.shape[-2:]
    wrong = np.where(there & ~z, s, -np.inf).reshape(*s.shape[:-2], n * m)
    falling = -np.sort(-wrong, -1)
    bags = there.any(-1).sum(-1)
    allowed = np.floor(np.asarray(rates) * bags[..., None]).astype(int)
    # What scores strictly above the first one too many is found.
    edge = np.take_along_axis(falling, np.minimum(allowed, n * m - 1), -1)
    found = (s[..., None] > edge[..., None, None, :]) & (z & there)[..., None]
    count = (z & there).sum(-1)
    return _where(count > 0, found.sum(-2).mean(-1) / np.maximum(count, 1))


def marked(alpha: Array, threshold: float, mask: Array | None = None) -> Array:
    """Segments with attention of at least ``threshold``, boolean, shape (…, n, m)."""
    return (alpha >= threshold) & _there(alpha, mask)


def top_k(alpha: Array, k: Array | int, mask: Array | None = None) -> Array:
    """The k segments of each bag with the most attention, boolean, shape (…, n, m).

    Args:
        alpha: Shape (…, n, m).
        k: How many, one number or one per bag (…, n).
        mask: True where a segment exists.
    """
    there = _there(alpha, mask)
    order = from_the_top(alpha, alpha, there)
    first = np.arange(alpha.shape[-1]) < np.asarray(k)[..., None]
    chosen = np.zeros(alpha.shape, bool)
    np.put_along_axis(chosen, order, np.broadcast_to(first, alpha.shape), -1)
    return chosen & there


def overlap(chosen: Array, z: Array, mask: Array | None = None) -> Overlap:
    """F1 and IoU of chosen and relevant segments (ERASER's token measures); nan without z."""
    there = _there(chosen, mask)
    both = (chosen & z & there).sum(-1)
    either = ((chosen | z) & there).sum(-1)
    some = (z & there).any(-1)
    f1 = 2 * both / np.maximum(both + either, 1)
    return Overlap(_where(some, f1), _where(some, both / np.maximum(either, 1)))


def best_k(alpha: Array, z: Array, mask: Array | None = None) -> int:
    """The one number of top segments that gives the highest mean F1 over all bags, the least such.

    It is chosen with z in sight, so F1 at it is what the attention could reach, not a forecast.
    """
    there = _there(alpha, mask)
    order = from_the_top(alpha, alpha, there)
    hits = np.take_along_axis(z & there, order, -1).cumsum(-1)
    lengths = there.sum(-1, keepdims=True)
    taken = np.minimum(np.arange(1, alpha.shape[-1] + 1), lengths)
    count = (z & there).sum(-1, keepdims=True)
    f1 = 2 * hits / (taken + count)
    some = np.broadcast_to(count[..., 0] > 0, f1.shape[:-1])
    return 1 + int(f1[some].mean(0).argmax()) if some.any() else 1


def pooled(measure: Any, s: Array, z: Array, mask: Array | None = None) -> float:
    """``segment_auroc`` or ``average_precision`` over the segments of all bags together."""
    there = _there(s, mask)
    return float(measure(s[there][None], z[there][None])[0])


def over_bags(values: Array, group: Array | None = None, *, draws: int = 2000) -> Interval:
    """The mean over bags that have a value, with an interval by bootstrap over bags or groups.

    Args:
        values: One number a bag, nan where there is none, shape (n,).
        group: Which bags belong together, shape (n,); whole groups are drawn. None: bags are drawn.
        draws: Resamples.
    """
    there = ~np.isnan(values)
    if not there.any():
        return Interval(float("nan"), None, None)
    alone = np.arange(len(values)) if group is None else group
    _, which = np.unique(alone[there], return_inverse=True)
    total, count = np.bincount(which, values[there]), np.bincount(which)
    mean = float(total.sum() / count.sum())
    if len(count) < 2:
        return Interval(mean, None, None)
    picks = np.random.default_rng(0).integers(len(count), size=(draws, len(count)))
    low, high = np.quantile(total[picks].sum(1) / count[picks].sum(1), [0.025, 0.975])
    return Interval(mean, float(low), float(high))


def _there(values: Array, mask: Array | None) -> Array:
    return np.ones(values.shape, bool) if mask is None else np.broadcast_to(mask, values.shape)


def _where(some: Any, values: Any) -> Array:
    return np.where(some, values, np.nan)
