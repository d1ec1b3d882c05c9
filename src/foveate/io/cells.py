"""Cells of a user's table as numbers, names and flags; what is none is named with its row."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foveate.errors import FoveateError
from foveate.io.rows import where

__all__ = ["Floats", "Table", "coded", "flags", "floats", "name_of", "names", "single"]

Floats = NDArray[np.float64]
Place = Callable[[int], str]
LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Table:
    """Columns of some files, one below the other, and where each row stands.

    Args:
        files: The files.
        file: Which of them a row is in, shape (N,).
        line: Its line there, shape (N,).
        values: Columns as they came.
        numbers: Columns of numbers, (N, k) each; k is 1 but for cells that hold lists.
    """

    files: tuple[Path, ...]
    file: NDArray[np.int64]
    line: NDArray[np.int64]
    values: dict[str, list[Any]]
    numbers: dict[str, Floats]

    def __len__(self) -> int:
        return len(self.line)

    def place(self, row: int, column: str | None = None) -> str:
        """File, line and column of a cell."""
        at = where(self.files[self.file[row]], int(self.line[row]))
        return at if column is None else f"{at}, column '{column}'"


def floats(cells: Sequence[Any], place: Place) -> Floats:
    """Cells as numbers, (n, k): texts of numbers, numbers, or lists of as many numbers each.

    Example:
        >>> floats(["1.5", "2e3"], "line {}".format).tolist()
        [[1.5], [2000.0]]
        >>> floats(["1", None], "line {}".format)
        Traceback (most recent call last):
        foveate.errors.FoveateError: line 1: is missing
    """
    if isinstance(cells[0], list):
        return _vectors(cells, place)
    try:
        found = np.fromiter(map(float, cells), np.float64, len(cells))
    except (TypeError, ValueError, OverflowError):
        found = None
    if found is None or "_" in "".join(cell for cell in cells if isinstance(cell, str)):
        for row, cell in enumerate(cells):
            _number(cell, place, row)
    assert found is not None  # every cell is a number
    return found[:, None]


def _number(cell: Any, place: Place, row: int) -> float:
    if cell is None:
        raise FoveateError(f"{place(row)}: is missing")
    try:
        if isinstance(cell, str) and "_" in cell:  # Python's float takes 1_000 for a number
            raise ValueError
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        raise FoveateError(f"{place(row)}: must be a number, got {cell!r}") from None


def _vectors(cells: Sequence[Any], place: Place) -> Floats:
    width = len(cells[0])
    try:
        return np.array(cells, np.float64).reshape(len(cells), width)
    except (TypeError, ValueError):
        for row, cell in enumerate(cells):
            if not isinstance(cell, list) or len(cell) != width:
                got = len(cell) if isinstance(cell, list) else repr(cell)
                rule = f"must hold {width} numbers as the first row does"
                raise FoveateError(f"{place(row)}: {rule}, got {got}") from None
            for value in cell:
                _number(value, place, row)
        raise


def single(x: NDArray[Any], place: Callable[[int, int], str]) -> NDArray[np.float32]:
    """Numbers in single precision, or an error that names the first that is not finite.

    Args:
        x: Numbers, shape (N, d). Each is rounded to the nearest of 32 bits.
        place: From row and column to the place of a cell.

    Example:
        >>> single(np.array([[1.0, np.nan]]), "row {}, column {}".format)
        Traceback (most recent call last):
        foveate.errors.FoveateError: row 0, column 1: must be finite, got nan
    """
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = np.require(x, np.float32, ["C", "W"])
    good = np.isfinite(rounded)
    if good.all():
        return rounded
    bad = ~good
    row, column = (int(at) for at in np.unravel_index(bad.argmax(), bad.shape))
    value, all_bad = float(x[row, column]), int(bad.sum())
    rule = "be finite" if not np.isfinite(value) else f"be at most {LARGEST:.4g} in size"
    more = f" (the first of {all_bad:,} such cells)" if all_bad > 1 else ""
    raise FoveateError(f"{place(row, column)}: must {rule}, got {value}{more}")


def coded(cells: Sequence[Any], place: Place) -> tuple[NDArray[np.int64], list[Any]]:
    """Numbers for the values of cells in order of first sight, and the values."""
    number: dict[Any, int] = {}
    try:
        codes = [number.setdefault(cell, len(number)) for cell in cells]
    except TypeError:
        odd = next(row for row, cell in enumerate(cells) if isinstance(cell, list | dict))
        raise FoveateError(f"{place(odd)}: must be one value, got {cells[odd]!r}") from None
    return np.array(codes, np.int64), list(number)


def names(cells: Sequence[Any], place: Place) -> tuple[NDArray[np.int64], list[str]]:
    """Numbers for the names in cells, none of which may be missing, and the names.

    Example:
        >>> codes, found = names(["b", 1, "1", 1.0], str)
        >>> codes.tolist(), found
        ([0, 1, 1, 1], ['b', '1'])
    """
    codes, values = coded(cells, place)
    called = [name_of(value) for value in values]
    if None in called:
        absent = [code for code, name in enumerate(called) if name is None]
        raise FoveateError(f"{place(int(np.isin(codes, absent).argmax()))}: is missing")
    number = {name: k for k, name in enumerate(dict.fromkeys(called))}
    return np.array([number[name] for name in called])[codes], [str(name) for name in number]


def name_of(value: Any) -> str | None:
    """A cell as a name: whole numbers without a point; None where it is empty.

    Example:
        >>> [name_of(value) for value in (" a ", 2.0, True, "", float("nan"))]
        ['a', '2', 'true', None, None]
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    if isinstance(value, float | np.floating) and float(value).is_integer():
        value = int(value)
    return str(value).strip() or None


def flags(cells: Sequence[Any], place: Place) -> NDArray[np.int8]:
    """Relevance as it came: 1 relevant, 0 not, −1 unknown, shape (n,).

    Whole numbers above 0 are relevant, as in labels of segments that name a class.

    Example:
        >>> flags(["1", "", None, 0, True, "2"], "line {}".format).tolist()
        [1, -1, -1, 0, 1, 1]
        >>> flags(["0.5"], "line {}".format)
        Traceback (most recent call last):
        foveate.errors.FoveateError: line 0: relevance must be a whole number from 0 on (0 for no, \
1 for yes) or empty, got '0.5'
    """
    codes, values = coded(cells, place)
    found = [_flag(value) for value in values]
    if None in found:
        odd = int((codes == found.index(None)).argmax())
        rule = "a whole number from 0 on (0 for no, 1 for yes) or empty"
        raise FoveateError(f"{place(odd)}: relevance must be {rule}, got {cells[odd]!r}")
    return np.array(found, np.int8)[codes]


def _flag(value: Any) -> int | None:
    name = name_of(value)
    if name is None:
        return -1
    if name.lower() in ("true", "false"):
        return int(name.lower() == "true")
    try:
        number = float(name)
    except ValueError:
        return None
    return int(number > 0) if number.is_integer() and number >= 0 and "_" not in name else None
