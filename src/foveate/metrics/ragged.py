"""Concatenated rows of different lengths: row r is ``values[start[r]:start[r + 1]]``."""

from collections.abc import Iterator

import numpy as np

from foveate.errors import FoveateError
from foveate.types import Array

__all__ = ["check_numbers", "equal_length_groups", "maxima", "padded", "top"]


CELLS = 1 << 16  # values of rows processed together: few enough for the cache


def check_numbers(*arrays: Array) -> None:
    """Raise if a value is nan, which cannot be ordered."""
    for values in arrays:
        if (is_nan := np.isnan(values)).any():
            raise FoveateError(f"value {int(is_nan.argmax())} is not a number")


def maxima(values: Array, start: Array) -> tuple[Array, Array]:
    """Positions of all values that are the largest of their row, and of the first in each row.

    Args:
        values: Concatenated rows, shape (N,).
        start: Where each row begins, and N at the end, shape (R + 1,).

    Returns:
        Positions (K,) with K ≥ R, and (R,).
    """
    check_numbers(values)
    peak = np.maximum.reduceat(values, start[:-1])
    positions = np.flatnonzero(values == np.repeat(peak, np.diff(start)))
    return positions, positions[np.searchsorted(positions, start[:-1])]


def top(values: Array, start: Array) -> Array:
    """The position of each row's largest value, the first of several, shape (R,).

    Example:
        >>> top(np.array([1.0, 3.0, 3.0, 7.0]), np.array([0, 3, 4]))
        array([1, 0])
    """
    return maxima(values, start)[1] - start[:-1]


def equal_length_groups(lengths: Array, rows: Array, cells: int = CELLS) -> Iterator[Array]:
    """``rows`` in groups of similar length, longest first, of at most ``cells`` padded values.

    Example:
        >>> [g.tolist() for g in equal_length_groups(np.array([1, 3, 2]), np.arange(3), cells=4)]
        [[1], [2, 0]]
    """
    order = rows[np.argsort(-lengths[rows], kind="stable")]
    first = 0
    while first < len(order):
        count = max(1, cells // int(lengths[order[first]]))
        yield order[first : first + count]
        first += count


def padded(values: Array, start: Array, rows: Array) -> Array:
    """A group of rows, longest first, as a matrix filled up with nan, which sorts last."""
    lengths = np.diff(start)[rows]
    real = np.arange(lengths[0]) < lengths[:, None]
    matrix = np.full(real.shape, np.nan)
    begin = np.cumsum(lengths) - lengths
    matrix[real] = values[np.arange(lengths.sum()) + np.repeat(start[rows] - begin, lengths)]
    return matrix
