"""Labels of multi-label bags: columns of 0 and 1, or one column of lists."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foveate.errors import FoveateError
from foveate.io.cells import flags, is_missing, name_of
from foveate.io.collection import class_order

__all__ = ["label_sets", "list_text"]

BETWEEN = "\x1f"  # separates the labels of a list once they are read
SEPARATORS = (";", "|", ",")

LabelSets = tuple[tuple[str, ...], NDArray[np.bool_]]


def list_text(cell: Any, row: int, location: Callable[[int], str]) -> str | None:
    r"""The labels of a cell, sorted and joined; None if it has none.

    Args:
        cell: A list of names, or a text with names separated by ";", "|" or ",".
        row: Its row.
        location: From a row to its place, for messages.

    Example:
        >>> list_text("dog; cat", 0, str) == list_text(["cat", "dog"], 0, str) == "cat\x1fdog"
        True
    """
    if isinstance(cell, dict):
        raise FoveateError(f"{location(row)}: must be a list of labels, got {cell!r}")
    if isinstance(cell, str):
        mark = next((sign for sign in SEPARATORS if sign in cell), SEPARATORS[0])
        cell = cell.split(mark)
    parts = cell if isinstance(cell, list | tuple) else [cell]
    names = {name_of(part) for part in parts if not is_missing(part)} - {None}
    return BETWEEN.join(sorted(map(str, names))) or None


def label_sets(
    columns: Sequence[str], list_cells: Callable[[str], None], of_bag: Callable[..., list[str]]
) -> LabelSets | None:
    """Names of the labels, and which bags have them, boolean (n, L); None without columns.

    Args:
        columns: Columns of 0 and 1, one per label, or one column of lists.
        list_cells: Replaces the lists of a column by texts.
        of_bag: From a column to its value in each bag.
    """
    if not columns:
        return None
    if len(columns) > 1:
        held = np.stack([_held(name, of_bag(name)) for name in columns], 1)
        return tuple(columns), held
    list_cells(columns[0])
    texts = of_bag(columns[0], missing=True)
    sets = [set(text.split(BETWEEN)) - {""} for text in texts]
    names = class_order(name for label_set in sets for name in label_set)
    if not names:
        raise FoveateError(f"column '{columns[0]}' names no label")
    return names, np.array([[name in label_set for name in names] for label_set in sets])


def _held(column: str, values: Sequence[str]) -> NDArray[np.bool_]:
    known = flags(values, lambda bag: f"column '{column}', bag number {bag + 1}")
    if (known < 0).any():
        bag = int((known < 0).argmax()) + 1
        raise FoveateError(f"column '{column}', bag number {bag}: must be 0 or 1, is missing")
    return known > 0
