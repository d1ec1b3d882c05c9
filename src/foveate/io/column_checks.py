"""Columns of numbers that look wrong: constant, revealing the label, or of extreme scale."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from foveate.bags.mapped import BLOCK, note_read

__all__ = ["Suspect", "suspects"]

MIN_RELATIVE_SPREAD = (
    1e-4  # spread over size below which few of the seven digits of 32 bits are left
)
LARGE = 1e6
CHANCE = 1e-4  # probability of classes separating by chance, over all columns
MIN_ROWS = 10  # rows below which a row number proves nothing
MIN_ROWS_OF_BAG = 3  # of the longest bag

Numbers = NDArray[np.float32]


class Suspect(NamedTuple):
    """Columns with one fault; an error if no model should be fitted to them."""

    columns: NDArray[np.int64]
    error: bool
    what: str
    name: str


def suspects(x: Numbers, lengths: NDArray[np.int64], y: NDArray[np.int64] | None) -> list[Suspect]:
    """Faults of columns, from their least and largest values in bags and in classes.

    Args:
        x: All segments, bag after bag, shape (N, d), NaN where missing.
        lengths: Segments of each bag, shape (n,).
        y: Labels, −1 where unknown, shape (n,); None without labels.
    """
    low, high = _extremes_of_bags(x, lengths)
    least, most = _extremes(low, high)
    constant = least == most
    size = np.maximum(np.abs(least), np.abs(most))
    fine = ~constant & (most - least < MIN_RELATIVE_SPREAD * size)
    checks = [
        (constant, False, "one number throughout: nothing can be learnt from it", "constant"),
        (_row_number(x, least, most), False, "the number of the row, by its looks", "row-number"),
        (
            _row_of_bag(x, lengths, least, most),
            False,
            "the number of the row in its bag, by its looks",
            "row-number-in-bag",
        ),
        (size > LARGE, False, f"numbers above {LARGE:,.0f} in size", "large-numbers"),
        (
            fine,
            False,
            f"a spread below {MIN_RELATIVE_SPREAD:g} of the size: 32 bits keep few of the digits",
            "small-spread",
        ),
    ]
    of_bag = ((low == high) | np.isnan(low)).all(0) & ~constant
    if y is not None and of_bag.any() and (lengths > 1).any():
        copies, apart = _given_away(low[y >= 0], y[y >= 0], of_bag)
        what = "the label under another name: one number per class"
        checks.insert(1, (copies, True, what, "label-copy"))
        what = "label given away: one number per bag, and those of the classes do not overlap"
        checks.insert(2, (apart & ~copies, False, what, "label-given-away"))
    return [
        Suspect(np.flatnonzero(which), error, what, name)
        for which, error, what, name in checks
        if which.any()
    ]


def _extremes_of_bags(x: Numbers, lengths: NDArray[np.int64]) -> tuple[Numbers, Numbers]:
    """Least and largest value of each column in each bag, (n, d) each, a few bags at a time."""
    rows, low, high = torch.from_numpy(x), [], []
    stop = np.cumsum(lengths)
    block = (stop - 1) // max(1, BLOCK // max(1, x.shape[1]))  # in which the last segment lies
    for bags in np.split(np.arange(len(lengths)), np.flatnonzero(np.diff(block)) + 1):
        first = stop[bags[0]] - lengths[bags[0]]
        part, start = x[first : stop[bags[-1]]], stop[bags] - lengths[bags] - first
        low.append(np.fmin.reduceat(part, start))
        high.append(np.fmax.reduceat(part, start))
        note_read(rows, len(part))
    return np.concatenate(low), np.concatenate(high)


def _extremes(low: Numbers, high: Numbers) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Least and largest value of each column, NaN ignored."""
    least, most = np.fmin.reduce(low, axis=0), np.fmax.reduce(high, axis=0)
    return least.astype(np.float64), most.astype(np.float64)


def _row_number(
    x: Numbers, least: NDArray[np.float64], most: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Columns that hold consecutive whole numbers, one per row, in any order."""
    n = len(x)
    which = (most - least == n - 1) & (n >= MIN_ROWS)
    for column in np.flatnonzero(which):
        ranked = np.sort(x[:, column].astype(np.float64))
        which[column] = bool((np.diff(ranked) == 1).all())
    return which


def _row_of_bag(
    x: Numbers,
    lengths: NDArray[np.int64],
    least: NDArray[np.float64],
    most: NDArray[np.float64],
) -> NDArray[np.bool_]:
    """Columns that count the rows of every bag from one number on, such as 0, 1, 2, …."""
    longest = int(lengths.max(initial=0))
    which = (most - least == longest - 1) & (longest >= MIN_ROWS_OF_BAG) & (len(x) >= MIN_ROWS)
    position = np.arange(len(x)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    for column in np.flatnonzero(which):
        which[column] = bool((x[:, column] - least[column] == position).all())
    return which


def _given_away(
    values: Numbers, y: NDArray[np.int64], of_bag: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Of columns with one number per bag: copies of the label, and those that separate classes.

    Args:
        values: The number of each bag, shape (n, d).
        y: Labels, shape (n,).
        of_bag: Columns to look at, shape (d,).
    """
    none = np.zeros_like(of_bag)
    counts = np.bincount(y)
    counts = counts[counts > 0]
    if len(counts) < 2:
        return none, none
    order = np.argsort(y, kind="stable")
    start = np.cumsum(counts) - counts
    low, high = (f.reduceat(values[order], start) for f in (np.fmin, np.fmax))  # (C, d)
    by_low = np.argsort(low, axis=0, kind="stable")
    low, high = (np.take_along_axis(part, by_low, 0) for part in (low, high))
    apart = of_bag & (low[1:] > high[:-1]).all(0)
    copies = apart & (low == high).all(0) if counts.min() > 1 else none
    return copies, apart if _chance_of_separation(counts.tolist()) * values.shape[
        1
    ] < CHANCE else none


def _chance_of_separation(counts: Sequence[int]) -> float:
    r"""Probability that classes separate by chance, :math:`C! \prod_c n_c! / n!`.

    Example:
        >>> _chance_of_separation([2, 2])  # two of six ways to order four bags
        0.333...
    """
    log_arrangements = math.lgamma(sum(counts) + 1) - sum(math.lgamma(k + 1) for k in counts)
    return math.exp(math.lgamma(len(counts) + 1) - log_arrangements)
