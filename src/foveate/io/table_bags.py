"""The rows of a table by bag: labels, groups, splits, places and relevance."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from foveate.errors import FoveateError
from foveate.io.cells import Table, flags, floats, names, optional_names, single
from foveate.io.collection import Collection, Kind, collect, numbered
from foveate.io.columnar import ReadTable
from foveate.io.columns import Columns, header_hint
from foveate.io.group_suspects import suspected_groups
from foveate.io.label_sets import label_sets, list_text
from foveate.io.number_columns import LeftOut
from foveate.io.problem import Problem
from foveate.types import FloatArray

__all__ = ["TableBags", "place_kind", "stacked_columns"]

Codes = NDArray[np.int64]
INDEX = re.compile(r"|Unnamed: 0(\.\d+)?|__index_level_\d+__")  # as pandas stores its index
MIXED = 0.1  # share of numbers in a column of texts that is worth a warning
MOST_ROLES = 12  # columns whose role a message names


def place_kind(places: Sequence[str]) -> Kind:
    """Segments with one coordinate, or a start and an end, lie in time."""
    in_time = len(places) == 1 or [name.lower() for name in places] == ["start", "end"]
    return "series" if in_time else "features"


class TableBags:
    """The rows of each bag, and the columns that describe whole bags."""

    def __init__(
        self,
        read: ReadTable,
        columns: Columns,
        split: Sequence[str] | None,
        source: str,
        features: Sequence[str] = (),
    ) -> None:
        self.read, self.columns, self.source = read, columns, source
        self.table, self.chosen = read.table, read.roles
        self.problems: list[Problem] = []
        self.codes, self.ids = self._coded(split)
        self.order = np.argsort(self.codes, kind="stable")  # rows, bag after bag
        self.length = np.bincount(self.codes, minlength=len(self.ids))
        self.start = np.cumsum(self.length) - self.length
        self.first = self.order[self.start]
        self.labels = self._labels()
        self.label_sets = label_sets(self.chosen.labels, self._list_cells, self._of_bag)
        self.groups = self._of_bag(self.chosen.group) if self.chosen.group else None
        self.split = self._of_bag(self.chosen.split) if self.chosen.split else None
        self.weights = self._weights()
        if split is not None and self.split is None:
            self.split = [split[row] for row in self.first]
        self._leave_out_index(features)
        self._leave_out_groups(features)
        self._warn_of_left_out()
        self._check_segment()

    def where(self, bag: int) -> str:
        return self.table.location(int(self.first[bag]))

    def collect(
        self, segments: Sequence[Tensor], classes: Sequence[str] | None, **parts: Any
    ) -> Collection:
        collected = collect(
            segments,
            self.ids,
            self.where,
            source=self.source,
            labels=self.labels,
            classes=classes,
            groups=self.groups,
            split=self.split,
            roles=self.read.column_roles(self.columns),
            problems=self.problems,
            **parts,
        )
        if self.weights is not None:
            bag = replace(collected.bag, weight=torch.tensor(self.weights))
            collected = replace(collected, bag=bag)
        if self.label_sets is None:
            return collected
        names, held = self.label_sets
        return replace(collected, labels=torch.from_numpy(held), label_names=names)

    def _list_cells(self, column: str) -> None:
        """Replace the lists of a column by texts, which can be compared."""
        location = lambda row: self.table.location(row, column)  # noqa: E731
        cells = self.table.values[column]
        self.table.values[column] = [
            list_text(cell, row, location) for row, cell in enumerate(cells)
        ]

    def numbers_of_rows(self, columns: Iterable[str]) -> Iterator[tuple[str, FloatArray]]:
        """Columns of numbers, one row for each of the table; those with fractions may be missing.

        Args:
            columns: Their names.
        """
        return ((name, self.table.numbers[name]) for name in columns)

    def bags_of_rows(self) -> Codes:
        """The bag of every row of the table, shape (N,)."""
        return self.codes

    def _leave_out_index(self, features: Sequence[str]) -> None:
        """The index of a pandas table, whole numbers without a name, is no feature."""
        named = {*(self.columns.segment or ()), *features}
        unnamed = [n for n in self.chosen.segment if INDEX.fullmatch(n) and n not in named]
        for name, values in self.numbers_of_rows(unnamed):
            if np.isnan(values).any() or (values != np.floor(values)).any():
                continue
            counted = values[0] + np.arange(len(values))[:, None]
            of_row = np.array_equal(values, counted)
            reason = "the number of the row" if of_row else "an index as pandas stores it"
            self.read.left_out[name] = LeftOut(reason)
            segment = tuple(other for other in self.chosen.segment if other != name)
            self.chosen = self.chosen._replace(segment=segment)
        self.read = replace(self.read, roles=self.chosen)

    def _leave_out_groups(self, features: Sequence[str]) -> None:
        """Columns that look like groups are no features unless they are named."""
        named = {*(self.columns.segment or ()), *features}
        open_columns = [name for name in self.chosen.segment if name not in named]
        candidates = self.numbers_of_rows(open_columns)
        if self.chosen.group is None:
            left_out = self.read.left_out.items()
            texts = ((n, out.codes) for n, out in left_out if out.codes is not None)
            candidates = chain(candidates, texts)
        y = None if self.labels is None else numbered([str(label) for label in self.labels])[0]
        rows = self.bags_of_rows()
        suspects = suspected_groups(candidates, rows, None if y is None else y.numpy())
        for name, shared in suspects.items():
            kind = "whole numbers" if name in open_columns else "texts"
            if shared:
                reason = f"suspected group: {kind}, one per bag and shared by bags"
                what = (
                    f"{kind}, one per bag and shared by bags: a suspected group, left out; --group "
                    f"{name} keeps bags that share it in one part, --segment names the features"
                )
            elif name not in open_columns:
                continue
            else:
                reason = "suspected name of the bag: whole numbers, another in every bag"
                what = f"{reason}, left out; --segment names the features"
            self.read.left_out[name] = LeftOut(reason)
            self._warn(name, what, "suspected-group" if shared else "suspected-name")
        segment = tuple(n for n in self.chosen.segment if n not in suspects)
        self.chosen = self.chosen._replace(segment=segment)
        self.read = replace(self.read, roles=self.chosen)

    def _warn_of_left_out(self) -> None:
        """Columns of texts that hold many numbers, and those named like a role."""
        by_name = self.columns.segment is None and self.chosen.text is None
        for name, out in self.read.left_out.items():
            if out.numbers >= MIXED * len(self.bags_of_rows()):
                what = f"left out: {out.reason}; write numbers in one way, or leave cells empty"
                self._warn(name, what, "mixed-column")
            elif by_name and self.chosen.other_column(name) and name not in self.columns.ignore:
                what = f"left out: {out.reason}; --segment names it as a feature"
                self._warn(name, what, "role-taken")

    def _warn(self, column: str, what: str, name: str) -> None:
        self.problems.append(Problem("warning", f"column '{column}'", what, name))

    def _check_segment(self) -> None:
        if self.chosen.segment or self.chosen.text is not None:
            return
        roles = self.read.column_roles(self.columns)
        listed = "; ".join(f"{r.name}: {r.role}, {r.reason}" for r in roles[:MOST_ROLES])
        raise FoveateError(
            f"{self.table.files[0]} has no column of numbers, and none called 'text', to make "
            f"segments of; --segment or --text names columns. Its columns are {listed}"
        )

    def parts(self, rows: NDArray[Any]) -> list[Tensor]:
        """Values of every row, divided into bags."""
        return list(torch.from_numpy(rows[self.order]).split(self.length.tolist()))

    def _coded(self, split: Sequence[str] | None) -> tuple[Codes, list[str]]:
        if self.chosen.bag is None:
            if self.chosen.text is None:
                listed = [role.name for role in self.read.column_roles(self.columns)]
                raise FoveateError(
                    f"{self.table.files[0]} has no column 'bag' that says which rows belong "
                    f"together; --bag names it. Its columns are {', '.join(listed[:MOST_ROLES])}"
                    f"{header_hint(listed)}"
                )
            return np.arange(len(self.table)), self._lines()
        cells = self.table.values[self.chosen.bag]
        codes, called = names(cells, lambda row: self.table.location(row, self.chosen.bag))
        if split is None:
            return codes, called
        pairs: dict[tuple[str, int], int] = {}
        both = [pairs.setdefault(pair, len(pairs)) for pair in zip(split, codes, strict=True)]
        return np.array(both), [called[code] for _, code in pairs]

    def _lines(self) -> list[str]:
        """Names for bags that have none: their lines, and their files where there are several."""
        lines = self.table.line.tolist()
        if len(self.table.files) == 1:
            return [str(line) for line in lines]
        files = [path.name for path in self.table.files]
        return [f"{files[k]}:{line}" for k, line in zip(self.table.file, lines, strict=True)]

    def _labels(self) -> list[str | None] | None:
        """The label of each bag, None where it is missing in all its rows."""
        if self.chosen.label is None:
            return None
        labels = self._of_bag(self.chosen.label, missing=True)
        return [label or None for label in labels] if any(labels) else None

    def _weights(self) -> list[float] | None:
        """The weight of each bag, above 0; None without such a column."""
        column = self.chosen.weight
        if column is None:
            return None
        texts = self._of_bag(column)
        location = lambda bag: self.table.location(int(self.first[bag]), column)  # noqa: E731
        values: list[float] = floats(texts, location)[:, 0].tolist()
        for bag, value in enumerate(values):
            if not 0 < value < float("inf"):
                raise FoveateError(
                    f"{location(bag)}: a weight must be above 0 and finite, got {value}"
                )
        return values

    def _of_bag(self, column: str, *, missing: bool = False) -> list[str]:
        """The value of a column that all rows of a bag must share; "" if it may be missing."""
        location = lambda row: self.table.location(row, column)  # noqa: E731
        cells = self.table.values[column]
        absent = lambda cell: not self.columns.is_label(cell)  # noqa: E731
        codes, present = (
            optional_names(cells, location, absent) if missing else names(cells, location)
        )
        of_first = codes[self.first]
        odd = codes != of_first[self.codes]
        values = [*present, ""]  # code −1 is the last
        if odd.any():
            row = int(odd.argmax())
            bag = int(self.codes[row])
            got, before = values[codes[row]], values[of_first[bag]]
            at = self.where(bag).rpartition(", ")[2]
            raise FoveateError(
                f"{location(row)}: must be one for all rows of bag '{self.ids[bag]}', got "
                f"{_escaped_name(got)} after {_escaped_name(before)} in {at}"
            )
        return [values[code] for code in of_first]

    def relevance(self) -> list[Tensor | None] | None:
        """Relevant rows of each bag; None for a bag with an empty cell."""
        column = self.chosen.relevance
        if column is None:
            return None
        known = flags(self.table.values[column], lambda row: self.table.location(row, column))
        return [None if bool((part < 0).any()) else part > 0 for part in self.parts(known)]

    def places(self) -> list[Tensor] | None:
        """Coordinates of the rows of each bag."""
        return (
            self.parts(stacked_columns(self.table, self.chosen.places)[0])
            if self.chosen.places
            else None
        )


def stacked_columns(
    table: Table, columns: Sequence[str], *, allow_missing: bool = False
) -> tuple[NDArray[np.float32], list[str]]:
    """Columns side by side, (N, d), and a name for each number."""
    parts = [table.numbers[name] for name in columns]
    called, owner = [], []
    for name, part in zip(columns, parts, strict=True):
        wide = part.shape[1]
        called += [name] if wide == 1 else [f"{name}[{k}]" for k in range(wide)]
        owner += [name] * wide
    x = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
    location = lambda row, column: table.location(row, owner[column])  # noqa: E731
    return single(x, location, allow_missing=allow_missing), called


def _escaped_name(name: str) -> str:
    return f"'{name}'" if name else "a missing value"
