"""Cells of a user's table as numbers, names and flags; errors name the row and column."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foveate.errors import FoveateError
from foveate.io.rows import where
from foveate.types import FloatArray

__all__ = [
    "MISSING",
    "Table",
    "coded",
    "flags",
    "floats",
    "is_missing",
    "name_of",
    "names",
    "optional_names",
    "single",
]

LocationOfRow = Callable[[int], str]
LARGEST = float(np.finfo(np.float32).max)
MISSING = frozenset({"", "nan", "na", "n/a", "?", "none", "null"})
"""Texts, in any case, that stand for a missing value in labels and numbers."""


def is_missing(cell: Any) -> bool:
    """Whether a cell of a label or a number holds no value.

    Example:
        >>> [is_missing(cell) for cell in (None, " N/A", "?", float("nan"), "no", 0)]
        [True, True, True, True, False, False]
    """
    if isinstance(cell, bytes):
        cell = cell.decode(errors="backslashreplace")
    if isinstance(cell, str):
        return cell.strip().lower() in MISSING
    return cell is None or (isinstance(cell, float | np.floating) and math.isnan(cell))


@dataclass(frozen=True)
class Table:
    """Columns of some files, concatenated, with the file and line of each row.

    Args:
        files: The files.
        file: Index of each row's file, shape (N,).
        line: Line of each row in its file, shape (N,).
        values: Columns as they were read.
        numbers: Columns of numbers, (N, k) each, NaN where missing; k is 1 unless cells hold
            lists.
    """

    files: tuple[Path, ...]
    file: NDArray[np.int64]
    line: NDArray[np.int64]
    values: dict[str, list[Any]]
    numbers: dict[str, FloatArray]

    def __len__(self) -> int:
        return len(self.line)

    def location(self, row: int, column: str | None = None) -> str:
        """File, line and column of a cell."""
        at = where(self.files[self.file[row]], int(self.line[row]))
        return at if column is None else f"{at}, column '{column}'"


def floats(cells: Sequence[Any], location: LocationOfRow) -> FloatArray:
    """Cells as numbers, (n, 1): numbers, or texts of numbers.

    Example:
        >>> floats(["1.5", "2e3"], "line {}".format).tolist()
        [[1.5], [2000.0]]
        >>> floats(["1", None], "line {}".format)
        Traceback (most recent call last):
        foveate.errors.FoveateError: line 1: is missing
    """
    return np.array([[_number(cell, location, row)] for row, cell in enumerate(cells)])


def _number(cell: Any, location: LocationOfRow, row: int) -> float:
    if cell is None:
        raise FoveateError(f"{location(row)}: is missing")
    try:
        if isinstance(cell, str) and "_" in cell:  # Python's float takes 1_000 for a number
            raise ValueError
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        raise FoveateError(f"{location(row)}: must be a number, got {cell!r}") from None


def single(
    x: NDArray[Any], location: Callable[[int, int], str], *, allow_missing: bool = False
) -> NDArray[np.float32]:
    """Numbers in single precision; an error names the first that is missing, infinite or too large.

    Args:
        x: Numbers, shape (N, d). Each is rounded to the nearest of 32 bits.
        location: From row and column to the place of a cell.
        allow_missing: Whether NaN may stay.

    Example:
        >>> single(np.array([[1.0, np.inf]]), "row {}, column {}".format)
        Traceback (most recent call last):
        foveate.errors.FoveateError: row 0, column 1: must be finite, got inf
    """
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = np.require(x, np.float32, ["C", "W"])
    bad = ~np.isfinite(rounded)
    if allow_missing:
        bad &= ~np.isnan(x) if x.dtype.kind == "f" else True
    if not bad.any():
        return rounded
    row, column = (int(at) for at in np.unravel_index(bad.argmax(), bad.shape))
    value, all_bad = float(x[row, column]), int(bad.sum())
    more = f" (the first of {all_bad:,} such cells)" if all_bad > 1 else ""
    if math.isnan(value):
        raise FoveateError(f"{location(row, column)}: is missing{more}")
    rule = "be finite" if not np.isfinite(value) else f"be at most {LARGEST:.4g} in size"
    raise FoveateError(f"{location(row, column)}: must {rule}, got {value}{more}")


def coded(cells: Sequence[Any], location: LocationOfRow) -> tuple[NDArray[np.int64], list[Any]]:
    """Codes of the values of cells, in order of first occurrence, and the values."""
    number: dict[Any, int] = {}
    if any(cell is True or cell is False for cell in cells):  # which equal 1 and 0 otherwise
        cells = [name_of(cell) if isinstance(cell, bool) else cell for cell in cells]
    try:
        codes = [number.setdefault(cell, len(number)) for cell in cells]
    except TypeError:
        odd = next(row for row, cell in enumerate(cells) if isinstance(cell, list | dict))
        raise FoveateError(f"{location(odd)}: must be one value, got {cells[odd]!r}") from None
    return np.array(codes, np.int64), list(number)


def names(cells: Sequence[Any], location: LocationOfRow) -> tuple[NDArray[np.int64], list[str]]:
    """Codes of the names in cells, and the names; a missing name is an error.

    Example:
        >>> codes, listed = names(["b", 1, "1", 1.0], str)
        >>> codes.tolist(), listed
        ([0, 1, 1, 1], ['b', '1'])
    """
    codes, listed = optional_names(cells, location, lambda cell: name_of(cell) is None)
    if (codes < 0).any():
        raise FoveateError(f"{location(int((codes < 0).argmax()))}: is missing")
    return codes, listed


def optional_names(
    cells: Sequence[Any], location: LocationOfRow, absent: Callable[[Any], bool] = is_missing
) -> tuple[NDArray[np.int64], list[str]]:
    """Codes of the names in cells, −1 where missing, and the names.

    Example:
        >>> codes, listed = optional_names(["b", "NA", 1], str)
        >>> codes.tolist(), listed
        ([0, -1, 1], ['b', '1'])
    """
    codes, values = coded(cells, location)
    called = [None if absent(value) else name_of(value) for value in values]
    number = {name: k for k, name in enumerate(dict.fromkeys(n for n in called if n is not None))}
    of_value = np.array([-1 if n is None else number[n] for n in called], np.int64)
    return of_value[codes], list(number)


def name_of(value: Any) -> str | None:
    r"""A cell as a name: whole numbers without a point; None where it is empty.

    Example:
        >>> [name_of(value) for value in (" a ", 2.0, True, "", float("nan"), b"a")]
        ['a', '2', 'true', None, None, 'a']
        >>> name_of("\ud800")
        '\\ud800'
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    if isinstance(value, float | np.floating) and float(value).is_integer():
        value = int(value)
    if isinstance(value, bytes):
        value = value.decode(errors="backslashreplace")
    text = str(value).strip()
    if not text.isascii():  # half of a character cannot be written to a file
        text = text.encode(errors="backslashreplace").decode()
    return text or None


def flags(cells: Sequence[Any], location: LocationOfRow) -> NDArray[np.int8]:
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
    codes, values = coded(cells, location)
    known = [_flag(value) for value in values]
    if None in known:
        odd = int((codes == known.index(None)).argmax())
        rule = "a whole number from 0 on (0 for no, 1 for yes) or empty"
        raise FoveateError(f"{location(odd)}: relevance must be {rule}, got {cells[odd]!r}")
    return np.array(known, np.int8)[codes]


def _flag(value: Any) -> int | None:
    name = name_of(value)
    if name is None or is_missing(value):
        return -1
    if name.lower() in ("true", "false"):
        return int(name.lower() == "true")
    try:
        number = float(name)
    except ValueError:
        return None
    return int(number > 0) if number.is_integer() and number >= 0 and "_" not in name else None
