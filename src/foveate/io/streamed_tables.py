"""Bags of Parquet tables that do not fit into memory; features go to a file that is mapped."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from foveate.bags.mapped import map_bank
from foveate.io.cells import Table
from foveate.io.collection import Collection
from foveate.io.columnar import ReadTable, check_same, table_files, unused_columns
from foveate.io.columns import Columns, roles
from foveate.io.memory import fits_memory
from foveate.io.parquet import count_numbers
from foveate.io.rows import column_names
from foveate.io.streamed import converted_file, version_of
from foveate.io.streamed_columns import ColumnReader
from foveate.io.streamed_rows import RowReader, Runs
from foveate.io.table_bags import TableBags, place_kind
from foveate.types import Array, FloatArray, PartProgress

__all__ = ["read_large_tables"]


def read_large_tables(
    path: Path,
    columns: Columns,
    classes: Sequence[str] | None = None,
    labelled: bool | None = None,
    report: PartProgress | None = None,
    features: Sequence[str] = (),
) -> Collection | None:
    """The bags of Parquet tables whose numbers do not fit into memory; None of other tables.

    Arguments are those of :func:`~foveate.io.tables.read_tables`.
    """
    by_split = table_files(path)
    files = [file for part in by_split.values() for file in part]
    if any(file.suffix.lower() != ".parquet" for file in files):
        return None
    if fits_memory(sum(map(count_numbers, files))):
        return None
    names = column_names(files[0], columns.header_line)
    chosen = roles(files[0], names, columns, labelled)
    if chosen.text is not None:
        return None
    check_same(files, columns, labelled, chosen)
    left_out = unused_columns(names, chosen, columns)
    version = version_of(files)
    by_column = ColumnReader(files)
    chosen, no_features = by_column.features(chosen, {*(columns.segment or ()), *features})
    reader = RowReader(files, chosen)
    runs = reader.runs(report)
    how = dict.fromkeys(chosen.segment, "numbers")
    split = None
    if any(by_split):
        sides = [side or "" for side, part in by_split.items() for _ in part]
        split = [sides[file] for file in runs.table.file]
    read = ReadTable(runs.table, chosen, how, left_out | no_features)
    bags = _LargeTableBags(read, columns, split, str(path), features, runs.counts, by_column)
    start, lengths = _places_in_bank(bags.codes, runs.counts)
    moved = np.repeat(start - _first(runs.counts), runs.counts)
    segment = bags.chosen.segment
    convert = lambda bank: reader.convert(bank, segment, moved, report)  # noqa: E731
    bank = converted_file(path, files, convert, version, repr(bags.chosen))
    return bags.collect(
        map_bank(bank).split(lengths),
        classes,
        relevance=_relevance(runs, start, lengths),
        places=_in_bags(runs.places, runs.counts, start, lengths),
        columns=_names(runs.table, segment),
        kind=place_kind(columns.places),
    )


class _LargeTableBags(TableBags):
    """Bags of a table whose rows are runs; what is asked of single rows is read again.

    Args:
        counts: Rows of each run, shape (R,).
        by_column: Reads columns.
    """

    def __init__(
        self,
        read: ReadTable,
        columns: Columns,
        split: Sequence[str] | None,
        source: str,
        features: Sequence[str],
        counts: Array,
        by_column: ColumnReader,
    ) -> None:
        self._counts, self._by_column = counts, by_column
        super().__init__(read, columns, split, source, features)

    def numbers_of_rows(self, columns: Iterable[str]) -> Iterator[tuple[str, FloatArray]]:
        return self._by_column.whole_numbers(columns)

    def bags_of_rows(self) -> NDArray[np.int64]:
        return np.repeat(self.codes, self._counts)


def _first(counts: Array) -> Array:
    """The number of the first row of each run."""
    result: Array = np.cumsum(counts) - counts
    return result


def _places_in_bank(codes: Array, counts: Array) -> tuple[Array, list[int]]:
    """The first row of each run where bags follow each other, and the segments of each bag."""
    order = np.argsort(codes, kind="stable")
    start = np.empty_like(counts)
    start[order] = _first(counts[order])
    lengths = np.bincount(codes, weights=counts).astype(np.int64)
    return start, lengths.tolist()


def _in_bags(
    values: Array | None, counts: Array, start: Array, lengths: list[int]
) -> list[Tensor] | None:
    """Values of every row, bag after bag."""
    if values is None:
        return None
    ordered = np.empty_like(values)
    ordered[np.arange(len(values)) + np.repeat(start - _first(counts), counts)] = values
    dense = ordered.astype(np.float32) if values.dtype.kind == "f" else ordered
    return list(torch.from_numpy(dense).split(lengths))


def _relevance(runs: Runs, start: Array, lengths: list[int]) -> list[Tensor | None] | None:
    parts = _in_bags(runs.relevance, runs.counts, start, lengths)
    if parts is None:
        return None
    return [None if bool((part < 0).any()) else part > 0 for part in parts]


def _names(table: Table, columns: Sequence[str]) -> list[str]:
    """A name for each number of a segment."""
    names: list[str] = []
    for name in columns:
        wide = table.numbers[name].shape[1]
        names += [name] if wide == 1 else [f"{name}[{k}]" for k in range(wide)]
    return names
