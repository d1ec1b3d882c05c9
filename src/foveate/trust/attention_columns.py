"""Columns of a table of attention, checked: an error names the row and what must hold."""

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from foveate.bags.bag import Bag
from foveate.errors import FoveateError
from foveate.io.cells import name_of
from foveate.io.rows import column_names, rows, where
from foveate.records.record import load_arrays
from foveate.trust.segment_evidence import masks
from foveate.types import Array

__all__ = ["Cells", "bag_and_segment", "bag_probabilities", "read_cells", "segment_probabilities"]

NEEDED = ("bag", "segment", "attention")


class Cells(NamedTuple):
    """Columns of a table by name, the line of every row, and the file."""

    values: dict[str, list[Any]]
    lines: list[int]
    path: Path

    def location(self, row: int) -> str:
        """Where a row is, for errors."""
        return where(self.path, self.lines[row])

    def numbers(self, name: str) -> Array:
        """A column of finite numbers; an error names the first cell that is none."""
        values = np.empty(len(self.lines))
        for row, cell in enumerate(self.values[name]):
            try:
                values[row] = float(cell)
            except (TypeError, ValueError):
                values[row] = np.nan
            if not np.isfinite(values[row]):
                raise FoveateError(
                    f"{self.location(row)}, column '{name}': must be a finite number, got {cell!r}"
                )
        return values


def read_cells(path: Path, classes: Sequence[str]) -> Cells:
    """The columns of a file that hold attention and probabilities.

    Args:
        path: CSV, TSV, JSON lines, Parquet or NPZ.
        classes: Names of the classes.
    """
    return _npz(path) if path.suffix == ".npz" else _table(path, classes)


def _table(path: Path, classes: Sequence[str]) -> Cells:
    if not path.exists():
        raise FoveateError(f"there is no file {path}")
    names = column_names(path)
    _must_have(path, names)
    requested = [name for name in names if name in NEEDED or _is_probability(name, classes)]
    read = list(rows(path, requested))
    columns = {name: [values[k] for _, values in read] for k, name in enumerate(requested)}
    return Cells(columns, [line for line, _ in read], path)


def _has_columns(cells: Cells, prefix: str, classes: Sequence[str]) -> bool:
    """Whether there is a column for every class; some of them alone are an error."""
    missing = [name for name in classes if f"{prefix}{name}" not in cells.values]
    if missing and len(missing) < len(classes):
        present = next(name for name in classes if name not in missing)
        raise FoveateError(
            f"{cells.path} has a column '{prefix}{present}' and none '{prefix}{missing[0]}': give "
            "the probabilities of all classes, or of none"
        )
    return not missing


def _is_probability(name: str, classes: Sequence[str]) -> bool:
    return any(name in (f"p_{c}", f"segment_p_{c}") for c in classes)


def _npz(path: Path) -> Cells:
    if not path.exists():
        raise FoveateError(f"there is no file {path}")
    arrays = load_arrays(path)
    _must_have(path, list(arrays))
    sizes = {name: array.shape for name, array in arrays.items()}
    if len(set(sizes.values())) > 1 or len(sizes["bag"]) != 1:
        listed = ", ".join(f"{name} {shape}" for name, shape in sizes.items())
        raise FoveateError(f"{path}: arrays must be as long as each other, got {listed}")
    values = {name: array.tolist() for name, array in arrays.items()}
    return Cells(values, list(range(len(arrays["bag"]))), path)


def _must_have(path: Path, names: Sequence[str]) -> None:
    for name in NEEDED:
        if name not in names:
            raise FoveateError(f"{path} needs a column '{name}'; it has {', '.join(names)}")


def bag_and_segment(cells: Cells, ids: Sequence[str], bag: Bag) -> tuple[Array, Array]:
    """Bag and segment of every row of the table."""
    location = {name: i for i, name in enumerate(ids)}
    lengths = masks([bag])[0].sum(1)
    bags, segments = np.empty(len(cells.lines), int), cells.numbers("segment")
    seen: dict[tuple[int, int], int] = {}
    for row, cell in enumerate(cells.values["bag"]):
        name = name_of(cell) or ""
        if name not in location:
            near = difflib.get_close_matches(name, ids, n=1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise FoveateError(f"{cells.location(row)}: there is no bag '{name}' in the data{hint}")
        i, j = location[name], segments[row]
        if j != int(j) or not 0 <= j < lengths[i]:
            raise FoveateError(
                f"{cells.location(row)}: bag '{name}' has segments 0 to {lengths[i] - 1}, got {j:g}"
            )
        key = (i, int(j))
        if key in seen:
            raise FoveateError(
                f"{cells.location(row)}: segment {int(j)} of bag '{name}' is also in "
                f"{cells.location(seen[key])}"
            )
        seen[key] = row
        bags[row] = i
    return bags, segments.astype(int)


def bag_probabilities(cells: Cells, bags: Array, n: int, classes: Sequence[str]) -> Array:
    """Predicted probabilities of the bags, shape (n, C); nan where the table has none.

    Args:
        cells: The table.
        bags: The bag of every row.
        n: Number of bags.
        classes: Names of the classes.
    """
    p = np.full((n, len(classes)), np.nan)
    if not _has_columns(cells, "p_", classes):
        return p
    for c, name in enumerate(classes):
        column = cells.numbers(f"p_{name}")
        p[bags, c] = column
        if (bad := np.abs(p[bags, c] - column) > 1e-6).any():
            row = int(np.flatnonzero(bad)[0])
            raise FoveateError(
                f"{cells.location(row)}: p_{name} must be the same in all rows of a bag"
            )
    _must_be_distributions(cells, p, "p_", bags)
    return p


def segment_probabilities(
    cells: Cells, bags: Array, segments: Array, shape: tuple[int, int], classes: Sequence[str]
) -> Array:
    """Probabilities of single segments, shape (n, m, C); nan where the table has none.

    Args:
        cells: The table.
        bags: The bag of every row.
        segments: The segment of every row.
        shape: Number of bags and of segments (n, m).
        classes: Names of the classes.
    """
    segment_p = np.full((*shape, len(classes)), np.nan)
    if not _has_columns(cells, "segment_p_", classes):
        return segment_p
    segment_p[:] = 1 / len(classes)
    for c, name in enumerate(classes):
        segment_p[bags, segments, c] = cells.numbers(f"segment_p_{name}")
    _must_be_distributions(cells, segment_p[bags, segments], "segment_p_", np.arange(len(bags)))
    return segment_p


def _must_be_distributions(cells: Cells, p: Array, prefix: str, bags: Array) -> None:
    bad = (p < 0).any(-1) | (np.abs(p.sum(-1) - 1) > 1e-2)
    if bad.any():
        row = int(np.flatnonzero(bad[bags])[0])
        raise FoveateError(
            f"{cells.location(row)}: {prefix}… must not be negative and sum to one, got "
            f"{p[bags[row]].sum():.3g}"
        )
