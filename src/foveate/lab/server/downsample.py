"""Long curves, thinned to what a screen can show without losing a peak."""

import numpy as np

from foveate.errors import FoveateError
from foveate.records.record import Array

__all__ = ["evenly_spaced_rows", "extreme_rows", "time_slice"]


def extreme_rows(y: Array, points: int) -> Array:
    """Rows to draw of a curve: the lowest and the highest of every bucket, and both ends.

    Every extreme stays, and where there are no more than ``points`` rows, every row does.

    Args:
        y: The curve, shape (T,).
        points: How many rows at most, 4 at least.

    Example:
        >>> y = np.zeros(1000); y[500] = 1.0
        >>> rows = extreme_rows(y, 10)
        >>> len(rows) <= 10, 500 in rows, rows[0], rows[-1]
        (True, True, np.int64(0), np.int64(999))
    """
    if points < 4:
        raise FoveateError(f"points must be at least 4, got {points}")
    if len(y) <= points:
        return np.arange(len(y))
    buckets = (points - 2) // 2
    size = -(-len(y) // buckets)
    padded = np.full(buckets * size, np.nan)
    padded[: len(y)] = y
    rows = padded.reshape(buckets, size)
    rows = rows[~np.isnan(rows).all(1)]
    starts = np.flatnonzero(~np.isnan(padded.reshape(buckets, size)).all(1)) * size
    low, high = (starts + pick(rows, 1) for pick in (np.nanargmin, np.nanargmax))
    return np.unique(np.concatenate([[0], low, high, [len(y) - 1]]))


def evenly_spaced_rows(rows: int, most: int) -> Array:
    """Rows spread evenly over all, the first and the last among them; every row if they are few.

    Args:
        rows: How many there are.
        most: How many to keep, 2 at least.

    Example:
        >>> evenly_spaced_rows(5, 9).tolist(), evenly_spaced_rows(101, 3).tolist()
        ([0, 1, 2, 3, 4], [0, 50, 100])
    """
    if rows <= most:
        return np.arange(rows)
    return np.linspace(0, rows - 1, most).round().astype(int)


def time_slice(t: Array, start: float | None, end: float | None) -> slice:
    """The rows from ``start`` to ``end``, and one beyond on either side so that lines reach out.

    Args:
        t: Sorted times, shape (T,).
        start: The first time; None for the beginning.
        end: The last time; None for the end.
    """
    first = 0 if start is None else int(np.searchsorted(t, start, "left")) - 1
    last = len(t) if end is None else int(np.searchsorted(t, end, "right")) + 1
    return slice(max(0, first), max(0, min(len(t), last)))
