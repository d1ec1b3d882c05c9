"""Columns of a user's tables: CSV, TSV, JSON lines, Parquet."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from foveate.errors import FoveateError
from foveate.io.cells import Table
from foveate.io.columns import ColumnRole, Columns, Roles, roles
from foveate.io.number_columns import LeftOut, NumberColumn, comma_convention
from foveate.io.parquet import add_parquet
from foveate.io.rows import Header, column_names, delimiter, is_hidden, rows, where
from foveate.types import PartProgress

__all__ = [
    "SUFFIXES",
    "ReadTable",
    "check_same",
    "is_table",
    "read_columns",
    "split_of",
    "table_files",
    "unused_columns",
]

SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet")
SPLITS = ("train", "validation", "valid", "val", "dev", "test")
CHUNK = 8192  # rows turned into numbers at a time


def is_table(path: Path) -> bool:
    """Whether a file is a table, by its suffix; it may be compressed with gzip."""
    name = path.name.lower().removesuffix(".gz")
    return name.endswith(SUFFIXES)


def split_of(path: Path) -> str | None:
    """The split that a file's name begins with.

    Example:
        >>> split_of(Path("train-00000-of-00002.parquet")), split_of(Path("training.csv"))
        ('train', None)
    """
    stem = path.name.lower()
    split = next((split for split in SPLITS if stem.startswith(split)), None)
    return split if split and not stem[len(split) : len(split) + 1].isalpha() else None


def table_files(path: Path) -> dict[str | None, list[Path]]:
    """The tables at a path, by split; None for the only table of a folder, or a single file."""
    if path.is_file():
        return {None: [path]}
    files = sorted(f for f in path.iterdir() if f.is_file() and is_table(f) and not is_hidden(f))
    if len(files) == 1:
        return {split_of(files[0]): files}
    parts: dict[str | None, list[Path]] = {}
    for file in files:
        if split_of(file) is None:
            listed = ", ".join(other.name for other in files)
            raise FoveateError(
                f"{path} holds several tables ({listed}): choose one, or begin the name of each "
                "with train, validation or test"
            )
        parts.setdefault(split_of(file), []).append(file)
    return parts


@dataclass(frozen=True)
class ReadTable:
    """Columns of some files by role.

    Args:
        table: The cells.
        roles: Column names by role.
        features: How each feature was read.
        left_out: Why each other column is not a feature, with codes of its texts.
    """

    table: Table
    roles: Roles
    features: dict[str, str]
    left_out: dict[str, LeftOut]

    def column_roles(self, columns: Columns) -> tuple[ColumnRole, ...]:
        """The role of every column, with the reason.

        Args:
            columns: The flags of the user.
        """
        listed = []
        for what in ("bag", "label", "text", "relevance", "group", "split", "weight"):
            name = getattr(self.roles, what)
            if name is not None:
                is_requested = columns.named(what) == name
                listed.append(
                    ColumnRole(
                        name, what, f"given by --{what}" if is_requested else "by its usual name"
                    )
                )
        listed += [ColumnRole(name, "label", "given by --labels") for name in self.roles.labels]
        listed += [ColumnRole(name, "place", "given by --places") for name in self.roles.places]
        for name in self.roles.segment:
            absent = int(np.isnan(self.table.numbers[name]).any(1).sum())
            more = f", {absent:,} of {len(self.table):,} missing" if absent else ""
            listed.append(ColumnRole(name, "feature", self.features[name] + more))
        listed += [ColumnRole(name, "left out", why.reason) for name, why in self.left_out.items()]
        return tuple(listed)


def read_columns(
    files: Sequence[Path],
    columns: Columns,
    labelled: bool | None,
    report: PartProgress | None = None,
    features: Sequence[str] = (),
) -> ReadTable:
    """The columns of some files, concatenated, with the role of each.

    Args:
        files: Tables with the same columns.
        columns: The flags of the user.
        labelled: Whether there must be labels.
        report: Called with the rows read.
        features: Columns that must be features whatever they hold, those of a trained model.
    """
    header = columns.header_line
    names = column_names(files[0], header)
    chosen = roles(files[0], names, columns, labelled)
    check_same(files, columns, labelled, chosen)
    table, numbers = _read(files, chosen, header, report)
    marks = any(delimiter(file) in ";\t" for file in files if _is_csv(file))
    comma = comma_convention(list(numbers.values()), marks)
    named = {*(columns.segment or ()), *columns.places, *features}
    how: dict[str, str] = {}
    left_out = unused_columns(names, chosen, columns)
    for name, column in numbers.items():
        values = column.values(comma, required=name in named)
        if isinstance(values, LeftOut):
            left_out[name] = values
        else:
            table.numbers[name], how[name] = values
    segment = tuple(name for name in chosen.segment if name in how)
    return ReadTable(table, chosen._replace(segment=segment), how, left_out)


def unused_columns(names: Sequence[str], chosen: Roles, columns: Columns) -> dict[str, LeftOut]:
    """Columns that have no role."""
    used = {*chosen.cells, *chosen.places, *chosen.segment}
    return {name: LeftOut(_unused(name, chosen, columns)) for name in names if name not in used}


def _unused(name: str, chosen: Roles, columns: Columns) -> str:
    if name in columns.ignore:
        return "given by --ignore"
    if columns.segment is not None:
        return "not among --segment"
    if chosen.text is not None:
        return "segments are texts"
    other = chosen.other_column(name)
    return f"the {other[0]} is column '{other[1]}'" if other else "labels are not read"


def check_same(
    files: Sequence[Path], columns: Columns, labelled: bool | None, chosen: Roles
) -> None:
    """Raise for a table without the columns of the first.

    Args:
        files: Tables.
        columns: The flags of the user.
        labelled: Whether there must be labels.
        chosen: The roles of the first table.
    """
    for file in files[1:]:
        of_file = roles(file, column_names(file, columns.header_line), columns, labelled)
        if of_file._replace(segment=()) != chosen._replace(segment=()):
            raise FoveateError(f"{file} must have the columns that {files[0]} has")
        for name in sorted({*chosen.segment} ^ {*of_file.segment}):
            lacks, has = (files[0], file) if name in of_file.segment else (file, files[0])
            raise FoveateError(f"{lacks} has no column '{name}', which {has} has")


def _read(
    files: Sequence[Path], chosen: Roles, header: Header, report: PartProgress | None
) -> tuple[Table, dict[str, NumberColumn]]:
    """Cells of the columns with a role, and the columns that may hold numbers."""
    raw: dict[str, list[Any]] = {name: [] for name in chosen.cells}
    of_file: list[int] = []
    lines: list[int] = []

    def location(row: int) -> str:
        return where(files[of_file[row]], lines[row])

    numbers = {
        n: NumberColumn(n, location) for n in dict.fromkeys((*chosen.segment, *chosen.places))
    }
    for k, file in enumerate(files):
        if file.suffix.lower() == ".parquet":
            _extend_parquet(file, k, of_file, lines)
            add_parquet(file, raw, numbers, report)
        else:
            _add_rows(file, k, header, raw, numbers, (of_file, lines), report)
    table = Table(tuple(files), np.array(of_file), np.array(lines), raw, {})
    return table, numbers


def _extend_parquet(file: Path, k: int, of_file: list[int], lines: list[int]) -> None:
    """File and row numbers, which errors need while cells are read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        n = pq.ParquetFile(file).metadata.num_rows
    except (OSError, pa.ArrowException):
        raise FoveateError(f"{file} is not a complete Parquet file") from None
    of_file.extend([k] * n)
    lines.extend(range(1, n + 1))


def _add_rows(
    file: Path,
    k: int,
    header: Header,
    raw: dict[str, list[Any]],
    numbers: dict[str, NumberColumn],
    rows_read: tuple[list[int], list[int]],
    report: PartProgress | None,
) -> None:
    """Append the rows of a text table."""
    of_file, lines = rows_read
    total, before = _count_lines(file) if report else 0, len(lines)
    for chunk in _chunks(rows(file, [*raw, *numbers], header)):
        begin, cells = zip(*chunk, strict=True)
        lines.extend(begin)
        of_file.extend([k] * len(begin))
        by_column = list(zip(*cells, strict=True))
        for values, column in zip(raw.values(), by_column, strict=False):
            values.extend(column)
        for number, column in zip(numbers.values(), by_column[len(raw) :], strict=True):
            number.add(column)
        if report:
            report("rows", len(lines) - before, max(total, len(lines) - before))


def _chunks(source: Iterator[Any]) -> Iterator[list[Any]]:
    while chunk := list(islice(source, CHUNK)):
        yield chunk


def _is_csv(file: Path) -> bool:
    return file.name.lower().removesuffix(".gz").endswith((".csv", ".tsv"))


def _count_lines(path: Path) -> int:
    """About how many rows there are: lines less the first, where the file is not compressed."""
    if path.suffix == ".gz":
        return 0
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b"")) - 1
