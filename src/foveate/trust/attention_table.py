"""Attention from a table: a verdict without the model.

Columns (CSV, Parquet, JSON lines) or arrays (NPZ) are ``bag``, ``segment`` (its place in the bag,
from 0) and ``attention``, before or after normalisation; optionally ``p_CLASS``, the predicted
probabilities of the bag, and ``segment_p_CLASS``, those of the segment alone.
"""

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from foveate.attention.maps import softmax
from foveate.bags.bag import Bag
from foveate.errors import FoveateError
from foveate.io.cells import name_of
from foveate.io.rows import column_names, rows, where
from foveate.records.record import load_arrays
from foveate.trust.segment_evidence import masks
from foveate.trust.subject import Reading, Subject
from foveate.types import Array

__all__ = ["AttentionTable", "read_attention"]

NEEDED = ("bag", "segment", "attention")
NOT_DONE = (
    "Not done, since it needs the model read again: removal, transplant and repetition of "
    "segments, uniform attention, and whether segments see each other before attention."
)


class AttentionTable(Subject):
    """Attention that a model of any framework gave, one row of numbers for each bag.

    Args:
        alpha: Attention, shape (n, m), zero where there is no segment.
        s: What attention grows with, shape (n, m).
        p: Predicted class probabilities, shape (n, C); nan where not known.
        segment_p: Those of single segments, shape (n, m, C); nan where not known.
        notes: What was recognised, a sentence each.
    """

    size = 1
    rereadable = False

    def __init__(
        self, alpha: Array, s: Array, p: Array, segment_p: Array, notes: tuple[str, ...] = ()
    ) -> None:
        self.alpha, self.s, self.p, self.segment_p, self.notes = alpha, s, p, segment_p, notes

    def look(self, bags: Sequence[Bag]) -> Reading:
        if len(bags) != 1 or bags[0].shape != self.alpha.shape:
            raise FoveateError(f"the table has attention for bags of shape {self.alpha.shape}")
        p = self.p[None]
        even = np.full(p.shape, np.nan)
        return Reading(self.s[None], self.alpha[None], p, p, even, self.segment_p[None])

    def reread(self, bags: Sequence[Bag], keep: Array) -> Array:
        raise FoveateError("attention from a table cannot be read again")

    def taken(self, rows: Array) -> "AttentionTable":
        parts = (self.alpha[rows], self.s[rows], self.p[rows], self.segment_p[rows])
        return AttentionTable(*parts, self.notes)


class _Cells(NamedTuple):
    """Columns of a table, and where its rows are."""

    values: dict[str, list[Any]]
    lines: list[int]
    path: Path

    def location(self, row: int) -> str:
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


def read_attention(
    path: Path, ids: Sequence[str], bag: Bag, classes: Sequence[str]
) -> AttentionTable:
    r"""Attention from a file, for bags with names.

    Args:
        path: CSV, TSV, JSON lines, Parquet or NPZ; see the module.
        ids: Names of the bags.
        bag: The bags.
        classes: Names of the classes.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> text = "bag,segment,attention\na,0,0.25\na,1,0.75\nb,0,0.5\nb,1,0.5\n"
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder) / "attention.csv"
        ...     _ = path.write_text(text)
        ...     bag = Bag(torch.zeros(2, 2, 3), torch.tensor([0, 1]))
        ...     table = read_attention(path, ["a", "b"], bag, ["no", "yes"])
        >>> table.alpha.tolist()
        [[0.25, 0.75], [0.5, 0.5]]
    """
    cells = _npz(path) if path.suffix == ".npz" else _table(path, classes)
    rows_of, places = _where_rows_go(cells, ids, bag)
    there = masks([bag])[0]
    attention = np.full(bag.shape, np.nan)
    attention[rows_of, places] = cells.numbers("attention")
    missing = there & np.isnan(attention)
    if missing.any():
        i, j = (int(part[0]) for part in np.nonzero(missing))
        raise FoveateError(f"{path} has no attention for segment {j} of bag '{ids[i]}'")
    weights = _are_weights(path, attention, there, ids)
    filled = torch.from_numpy(np.where(there, attention, 0.0))
    alpha = filled.numpy() if weights else softmax(filled, torch.from_numpy(there)).numpy()
    s = np.where(there, np.log(np.maximum(alpha, 1e-300)), 0.0) if weights else filled.numpy()
    p = _bag_probabilities(cells, rows_of, len(bag), classes)
    each = _segment_probabilities(cells, rows_of, places, bag.shape, classes)
    return AttentionTable(alpha, s, p, each, _notes(weights, p, each))


def _notes(weights: bool, p: Array, each: Array) -> tuple[str, ...]:
    kind = (
        "Attention is given as weights that sum to one in every bag."
        if weights
        else "Attention is given as scores, before normalisation; the softmax of them is read."
    )
    notes = [kind, NOT_DONE]
    if np.isnan(p).any():
        notes.append(
            "Not known, since the table has no columns p_CLASS: how accurate the model is."
        )
    if np.isnan(each).any():
        notes.append("Not known, without columns segment_p_CLASS: what it says of single segments.")
    return tuple(notes)


def _table(path: Path, classes: Sequence[str]) -> _Cells:
    if not path.exists():
        raise FoveateError(f"there is no file {path}")
    names = column_names(path)
    _must_have(path, names)
    requested = [name for name in names if name in NEEDED or _is_probability(name, classes)]
    read = list(rows(path, requested))
    columns = {name: [values[k] for _, values in read] for k, name in enumerate(requested)}
    return _Cells(columns, [line for line, _ in read], path)


def _is_probability(name: str, classes: Sequence[str]) -> bool:
    return any(name in (f"p_{c}", f"segment_p_{c}") for c in classes)


def _npz(path: Path) -> _Cells:
    if not path.exists():
        raise FoveateError(f"there is no file {path}")
    arrays = load_arrays(path)
    _must_have(path, list(arrays))
    sizes = {name: array.shape for name, array in arrays.items()}
    if len(set(sizes.values())) > 1 or len(sizes["bag"]) != 1:
        listed = ", ".join(f"{name} {shape}" for name, shape in sizes.items())
        raise FoveateError(f"{path}: arrays must be as long as each other, got {listed}")
    values = {name: array.tolist() for name, array in arrays.items()}
    return _Cells(values, list(range(len(arrays["bag"]))), path)


def _must_have(path: Path, names: Sequence[str]) -> None:
    for name in NEEDED:
        if name not in names:
            raise FoveateError(f"{path} needs a column '{name}'; it has {', '.join(names)}")


def _where_rows_go(cells: _Cells, ids: Sequence[str], bag: Bag) -> tuple[Array, Array]:
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


def _are_weights(path: Path, attention: Array, there: Array, ids: Sequence[str]) -> bool:
    """Whether attention is normalised: not negative, and summing to one in every bag.

    Where most bags sum to one, those that do not are mistakes.
    """
    inside = np.where(there, attention, 0.0)
    total = inside.sum(1)
    off = np.abs(total - 1) > 1e-2
    if not off.any() and not (inside < 0).any():
        return True
    if off.mean() < 0.5:
        i = int(np.flatnonzero(off | (inside < 0).any(1))[0])
        if (inside[i] < 0).any():
            raise FoveateError(f"{path}: attention of bag '{ids[i]}' must not be negative")
        raise FoveateError(
            f"{path}: attention of bag '{ids[i]}' must sum to one as in other bags, got "
            f"{total[i]:.3g}"
        )
    return False


def _bag_probabilities(cells: _Cells, bags: Array, n: int, classes: Sequence[str]) -> Array:
    p = np.full((n, len(classes)), np.nan)
    if not all(f"p_{name}" in cells.values for name in classes):
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


def _segment_probabilities(
    cells: _Cells, bags: Array, places: Array, shape: tuple[int, int], classes: Sequence[str]
) -> Array:
    each = np.full((*shape, len(classes)), np.nan)
    if not all(f"segment_p_{name}" in cells.values for name in classes):
        return each
    each[:] = 1 / len(classes)
    for c, name in enumerate(classes):
        each[bags, places, c] = cells.numbers(f"segment_p_{name}")
    _must_be_distributions(cells, each[bags, places], "segment_p_", np.arange(len(bags)))
    return each


def _must_be_distributions(cells: _Cells, p: Array, prefix: str, bags: Array) -> None:
    bad = (p < 0).any(-1) | (np.abs(p.sum(-1) - 1) > 1e-2)
    if bad.any():
        row = int(np.flatnonzero(bad[bags])[0])
        raise FoveateError(
            f"{cells.location(row)}: {prefix}… must not be negative and sum to one, got "
            f"{p[bags[row]].sum():.3g}"
        )
