"""One long table of bags, or one per split; a row is a segment, or a text cut into words."""

from collections.abc import Sequence
from pathlib import Path
from sys import intern
from typing import Any

import numpy as np
import torch
from torch import Tensor

from foveate.errors import FoveateError
from foveate.io.cells import Table, flags
from foveate.io.collection import Collection
from foveate.io.columnar import read_columns, table_files
from foveate.io.columns import Columns
from foveate.io.table_bags import TableBags, place_kind, stacked_columns
from foveate.io.tokenisation import words as split_words
from foveate.types import PartProgress

__all__ = ["read_tables"]


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


def _of_numbers(bags: TableBags, classes: Sequence[str] | None) -> Collection:
    impute = bags.columns.missing == "impute"
    x, called = stacked_columns(bags.table, bags.chosen.segment, allow_missing=impute)
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
