"""Columns of a user's tables, read by what they are: CSV, TSV, JSON lines, Parquet."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from foveate.errors import FoveateError
from foveate.io.cells import Floats, Table, floats
from foveate.io.columns import Columns, Roles, roles
from foveate.io.parquet import numeric_by_type, read_parquet_columns
from foveate.io.rows import column_names, rows, where
from foveate.types import PartProgress

__all__ = ["SUFFIXES", "is_table", "read_columns", "split_of", "table_files"]

SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet")
SPLITS = ("train", "validation", "valid", "val", "dev", "test")
CHUNK = 8192  # rows turned into numbers at a time
PEEK = 1000  # rows in which a column must show whether it holds numbers


def is_table(path: Path) -> bool:
    """Whether a file is a table, by its ending; it may be packed with gzip."""
    name = path.name.lower().removesuffix(".gz")
    return name.endswith(SUFFIXES)


def split_of(path: Path) -> str | None:
    """The split that a file's name begins with.

    Example:
        >>> split_of(Path("train-00000-of-00002.parquet")), split_of(Path("training.csv"))
        ('train', None)
    """
    stem = path.name.lower()
    found = next((split for split in SPLITS if stem.startswith(split)), None)
    return found if found and not stem[len(found) : len(found) + 1].isalpha() else None


def table_files(path: Path) -> dict[str | None, list[Path]]:
    """The tables at a path, by split; None for the only table of a folder, or a single file."""
    if path.is_file():
        return {None: [path]}
    files = sorted(file for file in path.iterdir() if file.is_file() and is_table(file))
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


def read_columns(
    files: Sequence[Path],
    columns: Columns,
    labelled: bool | None,
    report: PartProgress | None = None,
) -> tuple[Table, Roles]:
    """The columns of some files that are needed, one file below the other, and what they are.

    Args:
        files: Tables with the same columns.
        columns: What the user says of them.
        labelled: Whether there must be labels.
        report: Told of the rows read.
    """
    chosen = _chosen(files[0], roles(files[0], column_names(files[0]), columns, labelled))
    for file in files[1:]:
        other = roles(file, column_names(file), columns, labelled)
        if other._replace(segment=()) != chosen._replace(segment=()):
            raise FoveateError(f"{file} must have the columns that {files[0]} has")
        _must_hold(file, chosen.segment, other.segment)
    parts = [_read(file, chosen, report) for file in files]
    return _joined(files, parts), chosen


def _chosen(path: Path, found: Roles) -> Roles:
    """Roles with the segment's columns narrowed to those that hold numbers."""
    numeric = _numeric_in(path)(path, [*found.segment, *found.places])
    for name in found.places:
        if name not in numeric:
            raise FoveateError(f"{path}, column '{name}': places must be numbers")
    segment = tuple(name for name in found.segment if name in numeric)
    if not segment and found.text is None:
        raise FoveateError(
            f"{path} has no column of numbers, and none called 'text', to make segments of; --text "
            f"names a column of texts, its columns are {', '.join(column_names(path))}"
        )
    return found._replace(segment=segment)


def _must_hold(file: Path, wanted: Sequence[str], names: Sequence[str]) -> None:
    for name in wanted:
        if name not in names:
            raise FoveateError(f"{file} has no column '{name}', which the other tables have")


def _read(path: Path, chosen: Roles, report: PartProgress | None) -> Table:
    single = (chosen.bag, chosen.label, chosen.text, chosen.relevance, chosen.group, chosen.split)
    raw = dict.fromkeys(name for name in single if name is not None)
    numeric = dict.fromkeys((*chosen.segment, *chosen.places))
    read = read_parquet_columns if _is_parquet(path) else _read_rows
    return read(path, list(raw), list(numeric), report)


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() == ".parquet"


def _numeric_in(path: Path) -> Callable[[Path, Sequence[str]], set[str]]:
    return numeric_by_type if _is_parquet(path) else _numeric_by_value


def _numeric_by_value(path: Path, candidates: Sequence[str]) -> set[str]:
    """Columns whose first cell that is not empty holds a number, or a list of numbers.

    The first cell decides, so that a slip further down is an error and not a lost column.
    """
    seen: dict[str, Any] = {}
    for _, values in islice(rows(path, candidates), PEEK):
        for name, value in zip(candidates, values, strict=True):
            if value is not None:
                seen.setdefault(name, value)
        if len(seen) == len(set(candidates)):
            break
    return {name for name, value in seen.items() if _is_number(value)}


def _is_number(value: Any) -> bool:
    try:
        return bool(floats([value], str).size)
    except FoveateError:
        return False


def _read_rows(
    path: Path, raw: Sequence[str], numeric: Sequence[str], report: PartProgress | None
) -> Table:
    values: dict[str, list[Any]] = {name: [] for name in raw}
    numbers: dict[str, list[Floats]] = {name: [] for name in numeric}
    lines: list[int] = []
    total = _count_lines(path) if report else 0
    for chunk in _chunks(rows(path, [*raw, *numeric])):
        own, cells = zip(*chunk, strict=True)
        by_column = list(zip(*cells, strict=True))
        for name, column in zip(raw, by_column, strict=False):
            values[name].extend(column)
        for name, column in zip(numeric, by_column[len(raw) :], strict=True):
            place = _placed(path, own, name)
            part = floats(column, place)
            if numbers[name] and part.shape[1] != numbers[name][0].shape[1]:
                wide = numbers[name][0].shape[1]
                raise FoveateError(
                    f"{place(0)}: must hold {wide} numbers as the first row does, got "
                    f"{part.shape[1]}"
                )
            numbers[name].append(part)
        lines.extend(own)
        if report:
            report("rows", len(lines), max(total, len(lines)))
    if report:
        report("rows", len(lines), len(lines))
    line = np.array(lines, np.int64)
    columns = {name: np.concatenate(parts) for name, parts in numbers.items()}
    return Table((path,), np.zeros_like(line), line, values, columns)


def _placed(path: Path, lines: Sequence[int], name: str) -> Callable[[int], str]:
    return lambda row: f"{where(path, lines[row])}, column '{name}'"


def _chunks(source: Iterator[Any]) -> Iterator[list[Any]]:
    while chunk := list(islice(source, CHUNK)):
        yield chunk


def _count_lines(path: Path) -> int:
    """About how many rows there are: lines less the first, where the file is not packed."""
    if path.suffix == ".gz":
        return 0
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b"")) - 1


def _joined(files: Sequence[Path], parts: Sequence[Table]) -> Table:
    if len(parts) == 1:
        return parts[0]
    numbers = {}
    for name, first in parts[0].numbers.items():
        for file, part in zip(files, parts, strict=True):
            if part.numbers[name].shape[1] != first.shape[1]:
                raise FoveateError(
                    f"{file}, column '{name}': must hold {first.shape[1]} numbers as in "
                    f"{files[0]}, got {part.numbers[name].shape[1]}"
                )
        numbers[name] = np.concatenate([part.numbers[name] for part in parts])
    return Table(
        tuple(files),
        np.repeat(np.arange(len(parts)), [len(part) for part in parts]),
        np.concatenate([part.line for part in parts]),
        {name: [v for part in parts for v in part.values[name]] for name in parts[0].values},
        numbers,
    )
