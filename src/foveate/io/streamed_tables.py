"""Parquet tables that do not fit into memory, read in batches of rows.

Rows one after another that agree in bag, label, group, split and weight are kept as one, so that
what remains in memory is a row or so per bag. Features go to a file that is mapped.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from foveate.bags.mapped import BLOCK, BankWriter, map_bank
from foveate.errors import FoveateError
from foveate.io.cells import Table, flags
from foveate.io.collection import Collection
from foveate.io.columnar import ReadTable, table_files, unused_columns
from foveate.io.columns import Columns, Roles, roles
from foveate.io.number_columns import LeftOut
from foveate.io.parquet import is_list, is_numeric, number_rows, whole_parquet
from foveate.io.rows import column_names, where
from foveate.io.streamed import cache_file, fits_memory, without_missing
from foveate.io.tables import TableBags, place_kind
from foveate.types import Array, PartProgress

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

    Features are columns of lists of numbers, or those that are named. Arguments are those of
    :func:`~foveate.io.tables.read_tables`.
    """
    by_split = table_files(path)
    files = [file for part in by_split.values() for file in part]
    if any(file.suffix.lower() != ".parquet" for file in files) or fits_memory(_numbers(files)):
        return None
    names = column_names(files[0], columns.header_line)
    chosen = roles(files[0], names, columns, labelled)
    if chosen.text is not None:
        return None
    left_out = unused_columns(names, chosen, columns)
    chosen, no_features = _features(files[0], chosen, {*(columns.segment or ()), *features})
    reader = _Reader(files, chosen)
    runs = reader.runs(report)
    how = dict.fromkeys(chosen.segment, "numbers")
    split = None
    if any(by_split):
        sides = [side or "" for side, part in by_split.items() for _ in part]
        split = [sides[file] for file in runs.table.file]
    read = ReadTable(runs.table, chosen, how, left_out | no_features)
    bags = TableBags(read, columns, split, str(path), features)
    start, lengths = _places_in_bank(bags.codes, runs.counts)
    bank = cache_file(path, files, repr(chosen))
    if not bank.exists():
        reader.convert(bank, np.repeat(start - _first(runs.counts), runs.counts), report)
    return bags.collect(
        map_bank(bank).split(lengths),
        classes,
        relevance=_relevance(runs, start, lengths),
        places=_in_bags(runs.places, runs.counts, start, lengths),
        columns=_names(runs.table, chosen.segment),
        kind=place_kind(columns.places),
    )


def _numbers(files: Sequence[Path]) -> int:
    """How many numbers the columns of numbers and of their lists hold, by the files' metadata."""
    total = 0
    for file in files:
        with whole_parquet(file) as opened:
            metadata = opened.metadata
        for group in range(metadata.num_row_groups):
            parts = [metadata.row_group(group).column(k) for k in range(metadata.num_columns)]
            kinds = ("FLOAT", "DOUBLE", "INT32", "INT64")
            total += sum(part.num_values for part in parts if part.physical_type in kinds)
    return total


def _features(file: Path, chosen: Roles, named: set[str]) -> tuple[Roles, dict[str, LeftOut]]:
    """The roles with the columns that are features, and why others are not."""
    with whole_parquet(file) as opened:
        schema = opened.schema_arrow
    left_out = {}
    too_large = "in a table larger than memory"
    for name in chosen.segment:
        kind = schema.field(name).type
        of_numbers = is_numeric(kind) or (is_list(kind) and is_numeric(kind.value_type))
        if name in named and not of_numbers:
            raise FoveateError(
                f"{file}, column '{name}': must hold numbers or lists of them {too_large}, got "
                f"{kind}"
            )
        if not of_numbers:
            left_out[name] = LeftOut(f"{kind}, {too_large}")
        elif name not in named and not is_list(kind):
            left_out[name] = LeftOut(
                "not a list, in a table larger than memory: --segment names it"
            )
    segment = tuple(name for name in chosen.segment if name not in left_out)
    return chosen._replace(segment=segment), left_out


@dataclass(frozen=True)
class _Runs:
    """Rows one after another that describe the same bag, each run as its first row.

    Args:
        table: The first rows.
        counts: Rows of each run, shape (R,).
        relevance: Relevance of every row, −1 where unknown, shape (N,); None without a column.
        places: Coordinates of every row, shape (N, k); None without columns.
    """

    table: Table
    counts: Array
    relevance: Array | None
    places: Array | None


class _Reader:
    """Reads Parquet files of one layout, a batch of rows at a time."""

    def __init__(self, files: Sequence[Path], chosen: Roles) -> None:
        self.files, self.chosen = files, chosen
        self.total = 0
        for path in files:
            with whole_parquet(path) as file:
                self.total += file.metadata.num_rows

    def _batches(self, columns: Sequence[str], width: int = 1) -> Iterator[tuple[int, int, Any]]:
        """The file, the first row in it, and some columns of every batch."""
        for k, file in enumerate(self.files):
            first = 0
            size = max(1, BLOCK // max(1, width))
            with whole_parquet(file) as opened:
                for batch in opened.iter_batches(batch_size=size, columns=list(columns)):
                    yield k, first, batch
                    first += len(batch)

    def _location(self, file: int, first: int, column: str) -> Any:
        return lambda row: f"{where(self.files[file], first + row + 1)}, column '{column}'"

    def runs(self, report: PartProgress | None) -> _Runs:
        """What the rows say of bags, and of each segment but its features."""
        chosen = self.chosen
        keys = [name for name in chosen.cells if name != chosen.relevance]
        wanted = [*keys, *([chosen.relevance] if chosen.relevance else []), *chosen.places]
        runs: list[tuple[Any, ...]] = []
        at: list[tuple[int, int]] = []
        starts: list[int] = []
        known: list[Array] = []
        places: list[Array] = []
        done = 0
        for file, first, batch in self._batches(wanted, 2**6):
            cells = list(zip(*(batch.column(name).to_pylist() for name in keys), strict=True))
            for row, cell in enumerate(cells):
                if not runs or cell != runs[-1] or (row == 0 and first == 0):
                    runs.append(cell)
                    at.append((file, first + row + 1))
                    starts.append(done + row)
            if chosen.relevance:
                column = batch.column(chosen.relevance).to_pylist()
                known.append(flags(column, self._location(file, first, chosen.relevance)))
            if chosen.places:
                places.append(self._rows(batch, chosen.places, file, first))
            done += len(batch)
            if report:
                report("rows", done, self.total)
        table = self._table(keys, runs, at)
        counts = np.diff([*starts, done])
        relevance = np.concatenate(known) if known else None
        return _Runs(table, counts, relevance, np.concatenate(places) if places else None)

    def _table(
        self, keys: Sequence[str], runs: Sequence[tuple[Any, ...]], at: Sequence[tuple[int, int]]
    ) -> Table:
        if not runs:
            raise FoveateError(f"{self.files[0]} has no rows")
        values = {
            name: list(column) for name, column in zip(keys, zip(*runs, strict=True), strict=True)
        }
        file, line = np.array(at).T
        _, _, batch = next(self._batches(self.chosen.segment, BLOCK))
        numbers = {name: self._rows(batch, [name], 0, 0)[:1] for name in self.chosen.segment}
        numbers = {name: np.repeat(row, len(runs), axis=0) for name, row in numbers.items()}
        return Table(tuple(self.files), file, line, values, numbers)

    def _rows(self, batch: Any, columns: Sequence[str], file: int, first: int) -> Array:
        """The numbers of some columns of a batch, side by side, shape (k, d)."""
        parts = [
            number_rows(batch.column(name), self._location(file, first, name)) for name in columns
        ]
        return np.concatenate(parts, axis=1)

    def convert(self, path: Path, moved: Array, report: PartProgress | None) -> None:
        """Write the features of all rows, bag after bag.

        Args:
            path: The file.
            moved: By how many rows each row moves, shape (N,).
            report: Told of the rows written.
        """
        segment = self.chosen.segment
        _, _, batch = next(self._batches(segment, BLOCK))
        width = self._rows(batch, segment, 0, 0).shape[1]
        done = 0
        with BankWriter(path, self.total, torch.zeros(width)) as writer:
            for file, first, batch in self._batches(segment, width):
                x = self._rows(batch, segment, file, first)
                rows = without_missing(x, where(self.files[file], first + 1))
                by = moved[done : done + len(rows)]
                edges = [0, *(np.flatnonzero(np.diff(by)) + 1).tolist(), len(rows)]
                for begin, end in pairwise(edges):
                    writer.write(done + begin + int(by[begin]), rows[begin:end])
                done += len(rows)
                if report:
                    report("segments", done, self.total)


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


def _relevance(runs: _Runs, start: Array, lengths: list[int]) -> list[Tensor | None] | None:
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
