"""One long table of bags, or one per split: rows are segments, or whole texts to be cut."""

from collections.abc import Sequence
from pathlib import Path
from sys import intern
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from foveate.errors import FoveateError
from foveate.io.cells import Table, flags, names, single
from foveate.io.collection import Collection, Kind, collect
from foveate.io.columnar import read_columns, table_files
from foveate.io.columns import Columns, Roles
from foveate.io.tokenisation import words as split_words
from foveate.types import PartProgress

__all__ = ["place_kind", "read_tables"]

Codes = NDArray[np.int64]


def read_tables(
    path: Path,
    columns: Columns,
    classes: Sequence[str] | None = None,
    labelled: bool | None = None,
    report: PartProgress | None = None,
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
        report: Told of the rows read.
    """
    by_split = table_files(path)
    files = [file for part in by_split.values() for file in part]
    try:
        table, chosen = read_columns(files, columns, labelled, report)
    except FoveateError as error:
        if columns.segment is not None or not str(error).endswith(": is missing"):
            raise
        hint = "if this column is no part of a segment, name those that are (--segment a,b)"
        raise FoveateError(f"{error}; {hint}, or say what it is (--relevance, --group)") from None
    split = None
    if any(by_split):
        sides = [side or "" for side, part in by_split.items() for _ in part]
        split = [sides[file] for file in table.file]
    bags = _Bags(table, chosen, split, str(path))
    if chosen.text is None:
        return _of_numbers(bags, classes)
    if columns.tokens or (columns.tokens is None and len(bags.ids) == len(table)):
        return _of_words(bags, classes)
    return _of_sentences(bags, classes)


def place_kind(places: Sequence[str]) -> Kind:
    """Segments with one coordinate, or a start and an end, lie in time."""
    in_time = len(places) == 1 or [name.lower() for name in places] == ["start", "end"]
    return "series" if in_time else "features"


class _Bags:
    """Which rows make a bag, and what they say of it."""

    def __init__(
        self, table: Table, chosen: Roles, split: Sequence[str] | None, source: str
    ) -> None:
        self.table, self.chosen, self.source = table, chosen, source
        self.codes, self.ids = self._coded(split)
        self.order = np.argsort(self.codes, kind="stable")  # rows, bag after bag
        self.length = np.bincount(self.codes, minlength=len(self.ids))
        self.start = np.cumsum(self.length) - self.length
        self.first = self.order[self.start]
        self.labels = self._of_bag(chosen.label) if self._labelled() else None
        self.groups = self._of_bag(chosen.group) if chosen.group else None
        self.split = self._of_bag(chosen.split) if chosen.split else None
        if split is not None and self.split is None:
            self.split = [split[row] for row in self.first]

    def where(self, bag: int) -> str:
        return self.table.place(int(self.first[bag]))

    def collect(
        self, segments: Sequence[Tensor], classes: Sequence[str] | None, **own: Any
    ) -> Collection:
        return collect(
            segments,
            self.ids,
            self.where,
            source=self.source,
            labels=self.labels,
            classes=classes,
            groups=self.groups,
            split=self.split,
            **own,
        )

    def parts(self, rows: NDArray[Any]) -> list[Tensor]:
        """What is known of every row, bag after bag."""
        return list(torch.from_numpy(rows[self.order]).split(self.length.tolist()))

    def _coded(self, split: Sequence[str] | None) -> tuple[Codes, list[str]]:
        if self.chosen.bag is None:
            if self.chosen.text is None:
                raise FoveateError(
                    f"{self.table.files[0]} has no column 'bag' that says which rows belong "
                    "together; --bag names it"
                )
            return np.arange(len(self.table)), self._lines()
        cells = self.table.values[self.chosen.bag]
        codes, called = names(cells, lambda row: self.table.place(row, self.chosen.bag))
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

    def _labelled(self) -> bool:
        """A column of labels that is empty throughout says that there are none."""
        return self.chosen.label is not None and any(
            cell is not None for cell in self.table.values[self.chosen.label]
        )

    def _of_bag(self, column: str | None) -> list[str]:
        """What all rows of a bag must say alike."""
        assert column is not None
        place = lambda row: self.table.place(row, column)  # noqa: E731
        codes, called = names(self.table.values[column], place)
        of_first = codes[self.first]
        odd = codes != of_first[self.codes]
        if odd.any():
            row = int(odd.argmax())
            bag = int(self.codes[row])
            one, other = called[codes[row]], called[of_first[bag]]
            at = self.where(bag).rpartition(", ")[2]
            raise FoveateError(
                f"{place(row)}: must be one for all rows of bag '{self.ids[bag]}', got '{one}' "
                f"after '{other}' in {at}"
            )
        return [called[code] for code in of_first]

    def relevance(self) -> list[Tensor | None] | None:
        """Relevant rows of each bag; None for a bag with an empty cell."""
        column = self.chosen.relevance
        if column is None:
            return None
        found = flags(self.table.values[column], lambda row: self.table.place(row, column))
        return [None if bool((part < 0).any()) else part > 0 for part in self.parts(found)]

    def places(self) -> list[Tensor] | None:
        """Coordinates of the rows of each bag."""
        return (
            self.parts(_stacked(self.table, self.chosen.places)[0]) if self.chosen.places else None
        )


def _stacked(table: Table, columns: Sequence[str]) -> tuple[NDArray[np.float32], list[str]]:
    """Columns side by side, (N, d), and a name for each number."""
    parts = [table.numbers[name] for name in columns]
    called, owner = [], []
    for name, part in zip(columns, parts, strict=True):
        wide = part.shape[1]
        called += [name] if wide == 1 else [f"{name}[{k}]" for k in range(wide)]
        owner += [name] * wide
    x = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
    return single(x, lambda row, column: table.place(row, owner[column])), called


def _of_numbers(bags: _Bags, classes: Sequence[str] | None) -> Collection:
    x, called = _stacked(bags.table, bags.chosen.segment)
    kind = place_kind(bags.chosen.places)
    return bags.collect(
        bags.parts(x),
        classes,
        relevance=bags.relevance(),
        places=bags.places(),
        columns=called,
        kind=kind,
    )


def _of_sentences(bags: _Bags, classes: Sequence[str] | None) -> Collection:
    table, column = bags.table, str(bags.chosen.text)
    texts = table.values[column]
    for row, text in enumerate(texts):
        if not isinstance(text, str) or not text.strip():
            empty = text is None or isinstance(text, str)
            fault = "the text is empty" if empty else f"must be a text, got {text!r}"
            raise FoveateError(f"{table.place(row, column)}: {fault}")
    return bags.collect(
        bags.parts(np.zeros((len(table), 1), np.int64)),
        classes,
        relevance=bags.relevance(),
        places=bags.places(),
        kind="text",
        words=[texts[row] for row in bags.order],
    )


def _of_words(bags: _Bags, classes: Sequence[str] | None) -> Collection:
    if len(bags.ids) != len(bags.table):
        row = int(bags.order[bags.start[int(np.argmax(bags.length > 1))] + 1])
        raise FoveateError(
            f"{bags.table.place(row)}: texts are cut into words where every bag has one row, but "
            f"bag '{bags.ids[bags.codes[row]]}' has more"
        )
    tokens = [_tokens(bags.table, str(bags.chosen.text), int(row)) for row in bags.order]
    return bags.collect(
        [torch.zeros(len(found), 1, dtype=torch.long) for found in tokens],
        classes,
        relevance=_of_tokens(bags, tokens),
        kind="text",
        words=[intern(word) for found in tokens for word in found],
    )


def _tokens(table: Table, column: str, row: int) -> list[str]:
    """Words of a text by the rule of :func:`~foveate.io.tokenisation.words`; a list is kept."""
    text = table.values[column][row]
    if isinstance(text, list) and all(isinstance(word, str) for word in text):
        found = text
    elif text is None or isinstance(text, str):
        found = split_words(text or "")
    else:
        raise FoveateError(f"{table.place(row, column)}: must be a text, got {text!r}")
    if not found:
        raise FoveateError(f"{table.place(row, column)}: the text is empty")
    return found


def _of_tokens(bags: _Bags, tokens: Sequence[Sequence[str]]) -> list[Tensor | None] | None:
    """Relevance of the words of each bag."""
    column = bags.chosen.relevance
    if column is None:
        return None
    cells = bags.table.values[column]
    return [
        _marks(cells[row], len(words), bags.table.place(row, column))
        for row, words in zip(bags.order.tolist(), tokens, strict=True)
    ]


def _marks(cell: Any, words: int, place: str) -> Tensor | None:
    """A list of numbers in a cell, or numbers that spaces or commas part; None if it is empty."""
    given = cell.replace(",", " ").split() if isinstance(cell, str) else cell
    if given is None or given == []:
        return None
    given = given if isinstance(given, list) else [given]
    if len(given) != words:
        raise FoveateError(f"{place}: must mark the {words} words of the text, got {len(given)}")
    found = torch.from_numpy(flags(given, lambda _: place))
    return None if bool((found < 0).any()) else found > 0
