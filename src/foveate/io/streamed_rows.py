"""Rows of Parquet tables that do not fit into memory, in batches.

Rows one after another that agree in bag, label, group, split and weight are kept as one, so that
what remains in memory is a row or so per bag.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from foveate.bags.mapped import BLOCK, BankWriter
from foveate.errors import FoveateError
from foveate.io.cells import Table, flags, single
from foveate.io.columns import Roles
from foveate.io.parquet import number_rows, whole_parquet
from foveate.io.rows import where
from foveate.io.streamed import MISSING
from foveate.types import Array, PartProgress

__all__ = ["RowReader", "Runs"]


@dataclass(frozen=True)
class Runs:
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


class RowReader:
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

    def _location(self, file: int, first: int, column: str) -> Callable[[int], str]:
        return lambda row: f"{where(self.files[file], first + row + 1)}, column '{column}'"

    def runs(self, report: PartProgress | None) -> Runs:
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
        return Runs(table, counts, relevance, np.concatenate(places) if places else None)

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
        for name in self.chosen.segment:
            if batch.column(name).null_count:  # the first list says how many numbers there are
                raise FoveateError(f"{self._location(0, 0, name)(0)}: {MISSING}")
        numbers = {name: self._rows(batch, [name], 0, 0)[:1] for name in self.chosen.segment}
        numbers = {name: np.repeat(row, len(runs), axis=0) for name, row in numbers.items()}
        return Table(tuple(self.files), file, line, values, numbers)

    def _rows(self, batch: Any, columns: Sequence[str], file: int, first: int) -> Array:
        """The numbers of some columns of a batch, side by side, shape (k, d)."""
        parts = [
            number_rows(batch.column(name), self._location(file, first, name)) for name in columns
        ]
        return np.concatenate(parts, axis=1)

    def convert(
        self, path: Path, segment: Sequence[str], moved: Array, report: PartProgress | None
    ) -> None:
        """Write the features of all rows, bag after bag.

        Args:
            path: The file.
            segment: The columns.
            moved: By how many rows each row moves, shape (N,).
            report: Told of the rows written.
        """
        _, _, batch = next(self._batches(segment, BLOCK))
        owner = [n for n in segment for _ in range(self._rows(batch, [n], 0, 0).shape[1])]
        width = len(owner)
        done = 0
        with BankWriter(path, self.total, torch.zeros(width)) as writer:
            for file, first, batch in self._batches(segment, width):
                x = self._rows(batch, segment, file, first)
                rows = self._whole(x, owner, file, first)
                by = moved[done : done + len(rows)]
                edges = [0, *(np.flatnonzero(np.diff(by)) + 1).tolist(), len(rows)]
                for begin, end in pairwise(edges):
                    writer.write(done + begin + int(by[begin]), rows[begin:end])
                done += len(rows)
                if report:
                    report("segments", done, self.total)

    def _whole(self, x: Array, owner: Sequence[str], file: int, first: int) -> Tensor:
        """Rows in single precision; none may lack a number."""

        def location(row: int, number: int) -> str:
            return self._location(file, first, owner[number])(row)

        if x.shape[1] != len(owner):
            what = f"columns {', '.join(dict.fromkeys(owner))}"
            raise FoveateError(
                f"{where(self.files[file], first + 1)}, {what}: must hold {len(owner)} numbers as "
                f"the first row does, got {x.shape[1]}"
            )
        if (absent := np.isnan(x)).any():
            at = np.unravel_index(absent.argmax(), absent.shape)
            raise FoveateError(f"{location(*map(int, at))}: {MISSING}")
        return torch.from_numpy(single(x, location))
