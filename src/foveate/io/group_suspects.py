"""Columns that may be groups, such as patients, or names of bags: one value per bag."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from foveate.types import FloatArray

__all__ = ["suspected_groups"]

CHANCE = 0.01  # of a column being constant within all bags although its rows are independent


def suspected_groups(
    columns: Iterable[tuple[str, FloatArray]],
    bags: NDArray[np.int64],
    labels: NDArray[np.int64] | None,
) -> dict[str, bool]:
    """Columns of whole numbers that are constant within bags, and whether bags share them.

    Those that bags share may be groups; those that differ in every bag may be names of bags. A
    column that is one number per class is not among them: it is the label under another name,
    which is an error of its own.

    Args:
        columns: Names, and one number per row, shape (N,) or (N, 1); NaN where missing.
        bags: Bag of each row, 0 … n−1, shape (N,).
        labels: Label of each bag, −1 where unknown, shape (n,); None if there are none.

    Example:
        >>> bags = np.repeat(np.arange(6), 3)
        >>> patient = np.repeat([7.0, 8.0, 9.0], 6)
        >>> columns = {"patient": patient, "x": patient + [0, 1] * 9, "slide": 2.0 * bags}
        >>> suspected_groups(columns.items(), bags, None)
        {'patient': True, 'slide': False}
    """
    if bags.max() + 1 == len(bags):  # with one row per bag every column is constant within bags
        return {}
    _, first = np.unique(bags, return_index=True)
    suspects = {}
    for name, values in columns:
        if values.ndim == 2 and values.shape[1] > 1:
            continue
        column = np.nan_to_num(values.reshape(len(bags)), nan=-np.inf, neginf=np.nan, posinf=np.nan)
        finite = column[np.isfinite(column)]
        of_bag = column[first]
        if (finite != np.floor(finite)).any() or (column != of_bag[bags]).any():
            continue
        several = len(np.unique(of_bag)) > 1
        if several and not _same_as_label(of_bag, labels) and not _by_chance(column, len(of_bag)):
            suspects[name] = len(np.unique(of_bag)) < len(of_bag)
    return suspects


def _by_chance(column: FloatArray, bags: int) -> bool:
    """Whether rows drawn independently could be as constant within bags as these are."""
    counts = np.unique(column, return_counts=True)[1]
    same = float(np.square(counts / len(column)).sum())
    return same ** (len(column) - bags) > CHANCE


def _same_as_label(values: FloatArray, labels: NDArray[np.int64] | None) -> bool:
    """Whether values and labels determine each other."""
    if labels is None:
        return False
    pairs = np.unique(np.stack([values, labels]), axis=1).shape[1]
    return pairs == len(np.unique(values)) == len(np.unique(labels))
