"""One long table of bags, or one per split; a row is a segment, or a text cut into words."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from sys import intern
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from foveate.errors import FoveateError
from foveate.io.cells import Table, flags, floats, names, optional_names, single
from foveate.io.collection import Collection, Kind, collect, numbered
from foveate.io.columnar import ReadTable, read_columns, table_files
from foveate.io.columns import Columns, header_hint
from foveate.io.group_suspects import suspected_groups
from foveate.io.label_sets import label_sets, list_text
from foveate.io.number_columns import LeftOut
from foveate.io.problem import Problem
from foveate.io.tokenisation import words as split_words
from foveate.types import FloatArray, PartProgress

__all__ = ["TableBags", "place_kind", "read_tables"]

Codes = NDArray[np.int64]
INDEX = re.compile(r"|Unnamed: 0(\.\d+)?|__index_level_\d+__")  # as pandas stores its index
MIXED = 0.1  # share of numbers in a column of texts that is worth a warning
MOST_ROLES = 12  # columns whose role a message names


def read_tables(
    path: Path,
    columns: Columns,
    classes: Sequence[str] | None = None,
    labelled: bool | None = None,
    report: PartProgress | None = None,
    features: Sequence[str] = (),
) -> Collection:
    """The bags of a table, or of a folder with a table for each split.

    A row is a segment; its numbers, or its text, are those of the columns that are named, else all
    columns of numbers. A table of texts with one row per bag has words as segments. Numbers are
    read exactly and then rounded to the nearest of 32 bits. Bags come in the order of their first
    rows; a bag of the same name in another split is another bag.

    Args:
        path: A file or a folder.
        columns: Which column is what.
        classes: The classes there may be, in order.
        labelled: Whether there must be labels; False leaves them out.
        report: Called with the rows read.
        features: Columns that must be features whatever they hold, those of a trained model.
    """
    by_split = table_files(path)
    files = [file for part in by_split.values() for file in part]
    read = read_columns(files, columns, labelled, report, features)
    table = read.table
    split = None
    if any(by_split):
        sides = [side or "" for side, part in by_split.items() for _ in part]
        split = [sides[file] for file in table.file]
    bags = TableBags(read, columns, split, str(path), features)
    if bags.chosen.text is None:
        return _of_numbers(bags, classes)
    if columns.tokens or (columns.tokens is None and len(bags.ids) == len(table)):
        return _of_words(bags, classes)
    return _of_sentences(bags, classes)


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
        self._warn_of_mixtures()
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
        for name in suspects:
            kind = "whole numbers" if name in open_columns else "texts"
            reason = f"suspected group: {kind}, one per bag and shared by bags"
            self.read.left_out[name] = LeftOut(reason)
            what = (
                f"{kind}, one per bag and shared by bags: a suspected group, left out; --group "
                f"{name} keeps bags that share it in one part, --segment names the features"
            )
            self.problems.append(Problem("warning", f"column '{name}'", what, "suspected-group"))
        segment = tuple(name for name in self.chosen.segment if name not in suspects)
        self.chosen = self.chosen._replace(segment=segment)
        self.read = replace(self.read, roles=self.chosen)

    def _warn_of_mixtures(self) -> None:
        """Columns of texts that hold many numbers."""
        for name, out in self.read.left_out.items():
            if out.numbers >= MIXED * len(self.bags_of_rows()):
                what = f"left out: {out.reason}; write numbers in one way, or leave cells empty"
                self.problems.append(Problem("warning", f"column '{name}'", what, "mixed-column"))

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
                    f"together; --bag names it{header_hint(listed)}"
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
            self.parts(_stacked(self.table, self.chosen.places)[0]) if self.chosen.places else None
        )


def _stacked(
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


def _of_numbers(bags: TableBags, classes: Sequence[str] | None) -> Collection:
    impute = bags.columns.missing == "impute"
    x, called = _stacked(bags.table, bags.chosen.segment, allow_missing=impute)
    kind = place_kind(bags.chosen.places)
    return bags.collect(
        bags.parts(x),
        classes,
        relevance=bags.relevance(),
        places=bags.places(),
        columns=called,
        kind=kind,
    )


def _of_sentences(bags: TableBags, classes: Sequence[str] | None) -> Collection:
    table, column = bags.table, str(bags.chosen.text)
    texts = table.values[column]
    for row, text in enumerate(texts):
        if not isinstance(text, str) or not text.strip():
            empty = text is None or isinstance(text, str)
            fault = "the text is empty" if empty else f"must be a text, got {text!r}"
            raise FoveateError(f"{table.location(row, column)}: {fault}")
    return bags.collect(
        bags.parts(np.zeros((len(table), 1), np.int64)),
        classes,
        relevance=bags.relevance(),
        places=bags.places(),
        kind="text",
        words=[texts[row] for row in bags.order],
    )


def _of_words(bags: TableBags, classes: Sequence[str] | None) -> Collection:
    if len(bags.ids) != len(bags.table):
        row = int(bags.order[bags.start[int(np.argmax(bags.length > 1))] + 1])
        raise FoveateError(
            f"{bags.table.location(row)}: texts are cut into words where every bag has one row, "
            f"but bag '{bags.ids[bags.codes[row]]}' has more"
        )
    tokens = [_tokens(bags.table, str(bags.chosen.text), int(row)) for row in bags.order]
    return bags.collect(
        [torch.zeros(len(words), 1, dtype=torch.long) for words in tokens],
        classes,
        relevance=_of_tokens(bags, tokens),
        kind="text",
        words=[intern(word) for words in tokens for word in words],
    )


def _tokens(table: Table, column: str, row: int) -> list[str]:
    """Words of a text by the rule of :func:`~foveate.io.tokenisation.words`; a list is kept."""
    text = table.values[column][row]
    if isinstance(text, list) and all(isinstance(word, str) for word in text):
        tokens = text
    elif text is None or isinstance(text, str):
        tokens = split_words(text or "")
    else:
        raise FoveateError(f"{table.location(row, column)}: must be a text, got {text!r}")
    if not tokens:
        raise FoveateError(f"{table.location(row, column)}: the text is empty")
    return tokens


def _of_tokens(bags: TableBags, tokens: Sequence[Sequence[str]]) -> list[Tensor | None] | None:
    """Relevance of the words of each bag."""
    column = bags.chosen.relevance
    if column is None:
        return None
    cells = bags.table.values[column]
    return [
        _marks(cells[row], len(words), bags.table.location(row, column))
        for row, words in zip(bags.order.tolist(), tokens, strict=True)
    ]


def _marks(cell: Any, words: int, location: str) -> Tensor | None:
    """Relevance of words: a list, or numbers separated by spaces or commas; None if empty."""
    tokens = cell.replace(",", " ").split() if isinstance(cell, str) else cell
    if tokens is None or tokens == []:
        return None
    tokens = tokens if isinstance(tokens, list) else [tokens]
    if len(tokens) != words:
        raise FoveateError(
            f"{location}: must mark the {words} words of the text, got {len(tokens)}"
        )
    known = torch.from_numpy(flags(tokens, lambda _: location))
    return None if bool((known < 0).any()) else known > 0
