"""Columns of a text table as numbers: missing cells, decimal commas, percentages, true and false.

Cells are added in chunks; what a comma means is decided for the whole file once all are read.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from foveate.errors import FoveateError
from foveate.io.cell_forms import (
    DECIMAL,
    THOUSANDS,
    Form,
    form_of,
    quoted_cell,
    without_marks,
)
from foveate.io.cells import is_missing
from foveate.types import FloatArray

__all__ = [
    "MOST_TEXTS",
    "LeftOut",
    "NumberColumn",
    "comma_convention",
    "left_out_texts",
]

Where = Callable[[int], str]
"""From a row number to the file and line, for messages."""
Comma = Literal["decimal", "thousands"]

MOST_TEXTS = 1 << 16  # different texts that are told apart in a column


@dataclass(frozen=True)
class LeftOut:
    """Why a column is no feature.

    Args:
        reason: Why, in words.
        codes: A code per row, where texts can be told apart.
        numbers: How many of its cells are numbers in spite of it.
    """

    reason: str
    codes: FloatArray | None = None
    numbers: int = 0


@dataclass
class NumberColumn:
    """One column of a text table, to be read as numbers if most of its cells are.

    Args:
        name: Its name.
        where: From a row number to its line, for messages.
    """

    name: str
    where: Where
    rows: int = 0
    missing: int = 0
    has_point: bool = False
    parts: list[FloatArray] = field(default_factory=list)
    counts: Counter[Form] = field(default_factory=Counter)
    first: dict[Form, tuple[int, Any]] = field(default_factory=dict)
    marked: list[tuple[int, Form, str]] = field(default_factory=list)
    codes: dict[str, int] = field(default_factory=dict)
    text_codes: list[tuple[int, int]] = field(default_factory=list)

    def add(self, cells: Sequence[Any]) -> None:
        """Read the next cells."""
        values = _plain(cells)
        if values is not None:
            texts = (cell for cell in cells if isinstance(cell, str))
            self.has_point = self.has_point or any("." in text for text in texts)
            self._add_plain(values[:, None], cells)
            return
        if any(isinstance(cell, list) for cell in cells):
            values = self._vectors(cells)
        else:
            values = np.array([self._cell(row, cell) for row, cell in enumerate(cells)])
        self.parts.append(values.reshape(len(cells), -1))
        self.rows += len(cells)

    def add_values(self, values: FloatArray) -> None:
        """Add numbers (n, k) from a file with types, NaN where missing."""
        self._add_plain(values, values.tolist())

    def add_others(self, cells: Sequence[Any], form: Form) -> None:
        """Add cells of a type that is not numeric, None where missing."""
        for row, cell in enumerate(cells):
            if cell is None:
                self.missing += 1
            else:
                self._count(form, row, cell)
                self._code(row, cell)
        self.parts.append(np.full((len(cells), 1), np.nan))
        self.rows += len(cells)

    def _add_plain(self, values: FloatArray, cells: Sequence[Any]) -> None:
        present = ~np.isnan(values)
        rows = np.flatnonzero(present.any(1))
        self.missing += int(present.size - present.sum())
        if len(rows):
            form: Form = "number" if values.shape[1] == 1 else "list"
            self.counts[form] += len(rows)
            self.first.setdefault(form, (self.rows + int(rows[0]), cells[rows[0]]))
        self.parts.append(values)
        self.rows += len(values)

    def location(self, row: int) -> str:
        """File, line and column of a cell."""
        return f"{self.where(row)}, column '{self.name}'"

    def _count(self, form: Form, row: int, cell: Any) -> None:
        self.counts[form] += 1
        self.first.setdefault(form, (self.rows + row, cell))

    def _code(self, row: int, cell: Any) -> None:
        if len(self.codes) < MOST_TEXTS:
            code = self.codes.setdefault(str(cell), len(self.codes))
            self.text_codes.append((self.rows + row, code))

    def _cell(self, row: int, cell: Any) -> float:
        """One cell as a number, NaN if it is missing, marked for later, or no number."""
        if is_missing(cell):
            self.missing += 1
            return np.nan
        form, value = form_of(cell)
        self._count(form, row, cell)
        if form == "number" and isinstance(cell, str):
            self.has_point |= "." in cell
        if form in ("comma", "percent"):
            self.marked.append((self.rows + row, form, without_marks(str(cell))))
        if form in ("text", "time"):
            self._code(row, cell)
        return value

    def _vectors(self, cells: Sequence[Any]) -> FloatArray:
        """Cells that hold lists of as many numbers each, (n, k); a missing cell is all NaN."""
        width = next(len(cell) for cell in cells if isinstance(cell, list))
        values = np.full((len(cells), max(width, 1)), np.nan)
        for row, cell in enumerate(cells):
            if is_missing(cell):
                self.missing += 1
                continue
            if not isinstance(cell, list) or len(cell) != width or not width:
                got = len(cell) if isinstance(cell, list) else repr(cell)
                raise FoveateError(
                    f"{self.location(self.rows + row)}: must hold {width} numbers as the first row "
                    f"does, got {got}"
                )
            self._count("list", row, cell)
            for k, item in enumerate(cell):
                values[row, k] = self._number(row, item)
        return values

    def _number(self, row: int, item: Any) -> float:
        if is_missing(item):
            self.missing += 1
            return np.nan
        form, value = form_of(item)
        if form != "number":
            raise FoveateError(
                f"{self.location(self.rows + row)}: must be a number, got {quoted_cell(item)}"
            )
        return value

    @property
    def numbers(self) -> int:
        """How many cells are numbers in some form."""
        counts = self.counts
        return sum(counts[f] for f in ("number", "comma", "percent", "boolean", "list"))

    def values(
        self, comma: Comma | None, *, required: bool = False
    ) -> tuple[FloatArray, str] | LeftOut:
        """The numbers, (N, k), NaN where missing, and how they were read; or why there are none.

        Args:
            comma: What a comma means in this file.
            required: Whether the user named the column, so that it must hold numbers.
        """
        others = self.counts["text"] + self.counts["time"]
        if not self.numbers and not others:
            if required:
                file = self.where(0).rpartition(", ")[0]
                raise FoveateError(f"{file}, column '{self.name}': every cell is missing")
            return LeftOut("every cell is missing")
        if others:
            form: Form = "time" if self.counts["time"] > self.counts["text"] else "text"
            row, cell = self.first[form]
            if required or self.numbers > others:
                row, cell = min(self.first[f] for f in ("text", "time") if f in self.first)
                raise FoveateError(self._no_number(row, cell, required))
            what = "times or dates" if form == "time" else "texts"
            return left_out_texts(what, cell, self._codes(), self.numbers, self.rows)
        whole = self._joined()
        self._check_mixture(whole)
        how = self._resolve(whole, comma)
        return whole, how

    def _no_number(self, row: int, cell: Any, required: bool) -> str:
        counted = "" if required else f", as {self.numbers:,} cells of this column are"
        advice = "leave the cell empty if the value is unknown"
        return f"{self.location(row)}: must be a number{counted}, got {quoted_cell(cell)}; {advice}"

    def _joined(self) -> FloatArray:
        wide = max(part.shape[1] for part in self.parts)
        start = 0
        for k, part in enumerate(self.parts):
            if part.shape[1] != wide:
                if not np.isnan(part).all():
                    raise FoveateError(
                        f"{self.location(start)}: must hold {wide} numbers as other rows do, got "
                        f"{part.shape[1]}"
                    )
                self.parts[k] = np.full((len(part), wide), np.nan)
            start += len(part)
        return np.concatenate(self.parts)

    def _check_mixture(self, values: FloatArray) -> None:
        """Refuse percentages, or true and false, among other numbers."""
        counts = self.counts
        if 0 < counts["percent"] < self.numbers:
            other = min(self.first[f] for f in ("number", "comma", "boolean") if f in self.first)
            raise FoveateError(
                f"{self.location(other[0])}: must be a percentage, as {counts['percent']:,} cells "
                f"of this column are, got {quoted_cell(other[1])}"
            )
        if 0 < counts["boolean"] < self.numbers:
            odd = ~np.isin(values, (0.0, 1.0)) & ~np.isnan(values)
            row = int(odd.any(1).argmax()) if odd.any() else self.first.get("comma", (-1,))[0]
            if odd.any() or row >= 0:
                raise FoveateError(
                    f"{self.location(row)}: must be true, false, 1 or 0, as {counts['boolean']:,} "
                    "cells of this column are"
                )

    def _resolve(self, values: FloatArray, comma: Comma | None) -> str:
        """Fill in the cells whose meaning depends on the file; say how the column was read."""
        for row, form, text in self.marked:
            bare = text.rstrip("%").strip()
            values[row, 0] = float(_without_commas(bare, comma)) / (100 if form == "percent" else 1)
        how = ["numbers"]
        if self.counts["percent"]:
            how = ["percentages, divided by 100"]
        if self.counts["boolean"]:
            how = ["true and false, read as 1 and 0"]
        if any("," in text for _, _, text in self.marked):
            how.append(f"commas read as {comma} {'point' if comma == 'decimal' else 'marks'}")
        return ", ".join(how)

    def _codes(self) -> FloatArray | None:
        """A code for every row by its text, NaN where there is none; None if texts are too many."""
        if len(self.codes) >= MOST_TEXTS or self.numbers:
            return None
        codes = np.full(self.rows, np.nan)
        rows, values = zip(*self.text_codes, strict=True)
        codes[list(rows)] = values
        return codes


def comma_convention(columns: Sequence[NumberColumn], undecided: bool = False) -> Comma | None:
    """What commas in numbers mean in a file, which must be consistent; None if there are none.

    Args:
        columns: All columns of the file that may hold numbers.
        undecided: Whether "1,234" alone may be 1.234, as where semicolons or tabs separate cells.
    """
    cells = [(c, row, t.rstrip("%").strip()) for c in columns for row, _, t in c.marked if "," in t]
    if not cells:
        return None
    decimal = next((cell for cell in cells if not THOUSANDS.fullmatch(cell[2])), None)
    thousands = next((cell for cell in cells if not DECIMAL.fullmatch(cell[2])), None)
    point = next((column for column in columns if column.has_point), None)
    if decimal is None and (thousands or point is not None or not undecided):
        return "thousands"
    column, row, text = decimal or cells[0]
    if decimal is None:
        raise FoveateError(
            f"{column.location(row)}: '{text}' may mean {text.replace(',', '')} or "
            f"{text.replace(',', '.')}, and nothing in the file decides: write it without a comma"
        )
    if thousands is not None:
        other, at, seen = thousands
        raise FoveateError(
            f"{column.location(row)}: '{text}' has a decimal comma, but '{seen}' in "
            f"{other.location(at)} has commas between thousands: write all numbers in one way"
        )
    if point is not None:
        raise FoveateError(
            f"{column.location(row)}: '{text}' has a decimal comma, but column '{point.name}' has "
            "decimal points: write all numbers in one way"
        )
    return "decimal"


def _without_commas(text: str, comma: Comma | None) -> str:
    if comma == "decimal":
        return text.replace(".", "").replace(",", ".")
    return text.replace(",", "")


def _plain(cells: Sequence[Any]) -> FloatArray | None:
    """Cells as Python reads numbers, (n,); None if any is none."""
    try:
        values = np.fromiter(map(float, cells), np.float64, len(cells))
    except (TypeError, ValueError, OverflowError):
        return None
    if any("_" in cell for cell in cells if isinstance(cell, str)):
        return None  # Python reads 1_000 as a number
    return values


def left_out_texts(
    what: str, example: Any, codes: FloatArray | None, numbers: int, rows: int
) -> LeftOut:
    """Why a column of texts is no feature.

    Args:
        what: Texts, or times or dates.
        example: One of them.
        codes: A code per row.
        numbers: Cells that are numbers.
        rows: All cells.
    """
    among = f" ({numbers:,} of {rows:,} cells are numbers)" if numbers else ""
    return LeftOut(f"{what}, such as {quoted_cell(example)}{among}", codes, numbers)
