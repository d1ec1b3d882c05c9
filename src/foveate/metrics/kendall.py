"""Kendall's τ-b for many rows of different lengths at once, see :mod:`foveate.metrics.ragged`."""

import numpy as np

from foveate.metrics.ragged import check_numbers, equal_length_groups, padded
from foveate.types import Array

__all__ = ["kendall"]


def kendall(u: Array, v: Array, start: Array) -> Array:
    r"""Kendall's τ-b of each row, nan where u or v is constant.

    .. math:: \tau_b = \frac{P - Q}{\sqrt{(n_0 - n_u)(n_0 - n_v)}}

    over the :math:`n_0 = L(L-1)/2` pairs of positions: P in like order, Q in opposite order,
    :math:`n_u, n_v` tied. [snell21] Tables 2 and 3

    Args:
        u: Rows of the first quantity, shape (N,).
        v: Rows of the second, shape (N,).
        start: Where each row begins, and N at the end, shape (R + 1,).

    Returns:
        Shape (R,).
    """
    check_numbers(u, v)
    lengths = np.diff(start)
    tau = np.empty(len(lengths))
    for rows in equal_length_groups(lengths, np.arange(len(lengths))):
        tau[rows] = _tau_b(padded(u, start, rows), padded(v, start, rows), lengths[rows])
    return tau


def _is_new(ordered: Array) -> Array:
    """Where a value occurs for the first time in a sorted row."""
    first = np.ones(ordered.shape, bool)
    np.not_equal(ordered[:, 1:], ordered[:, :-1], out=first[:, 1:])
    return first


def _run_start(is_new: Array) -> Array:
    """Where the run of equal values around each position of a sorted row begins."""
    return np.maximum.accumulate(np.where(is_new, np.arange(is_new.shape[1]), 0), 1)


def _tau_b(u: Array, v: Array, lengths: Array) -> Array:
    """τ-b of padded rows: sorted by u and then by v, a pair in opposite order is an inversion."""
    rank_u, tied_u = _dense_ranks(u)
    rank_v, tied_v = _dense_ranks(v)
    width = u.shape[1]
    key = np.sort(rank_u * width + rank_v, 1)
    tied_both = _tied(_is_new(key))
    ordered = np.where(np.arange(width) < lengths[:, None], key % width, width)
    pairs = lengths * (lengths - 1) // 2
    excess = pairs - tied_u - tied_v + tied_both - 2 * _inversions(ordered)
    scale = np.sqrt((pairs - tied_u).astype(float)) * np.sqrt((pairs - tied_v).astype(float))
    return np.divide(excess, scale, out=np.full(len(lengths), np.nan), where=scale > 0)


def _dense_ranks(values: Array) -> tuple[Array, Array]:
    """Ranks 0, 1, … of padded rows, equal for equal values, and the number of tied pairs."""
    order = np.argsort(values, 1)
    is_new = _is_new(np.take_along_axis(values, order, 1))
    ranks = np.empty(values.shape, int)
    np.put_along_axis(ranks, order, np.cumsum(is_new, 1) - 1, 1)
    return ranks, _tied(is_new)


def _tied(is_new: Array) -> Array:
    """Pairs of equal values in sorted rows: each value with those before it in its run."""
    return (np.arange(is_new.shape[1]) - _run_start(is_new)).sum(1)


def _inversions(ranks: Array) -> Array:
    """Pairs of positions i < j with ranks[i] > ranks[j], for each row.

    All pairs at a distance are compared at once, rows side by side in small integers: for
    texts of a thousand words this is quicker than sorting, and needs no more memory than the ranks.
    """
    width = ranks.shape[1]
    small: type = np.int16 if width < 1 << 15 else np.int32
    down: Array = np.ascontiguousarray(ranks.T.astype(small))
    inversions = np.zeros(down.shape, np.int64)
    for lag in range(1, width, 255):  # a byte counts up to 255, and adds fastest
        part = np.zeros(down.shape, np.uint8)
        for distance in range(lag, min(lag + 255, width)):
            part[distance:] += (down[:-distance] > down[distance:]).view(np.uint8)
        inversions += part
    return inversions.sum(0)
