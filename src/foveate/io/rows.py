"""Rows of a user's file, read one by one: CSV, JSON lines, Parquet, or plain lines.

Every error names the file and the line, counted from 1 as an editor does; Parquet has rows.
"""

import csv
import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from foveate.errors import FoveateError

__all__ = ["Row", "column_names", "lines", "rows", "where"]

Row = tuple[int, list[Any]]
"""The line a row begins on, and its values."""
TABLES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
}
BOM = b"\xef\xbb\xbf"  # what some editors begin UTF-8 with
NESTED = "translation"  # the hub's pairs are one column that holds both languages


def where(path: Path, number: int) -> str:
    """The place of a row, for messages."""
    return f"{path}, {'row' if path.suffix == '.parquet' else 'line'} {number}"


def lines(path: Path) -> Iterator[str]:
    """Lines of a text file without their ends; a file ending in .gz is unpacked on the way."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                yield _decoded(path, number, raw.removeprefix(BOM) if number == 1 else raw)
    except FileNotFoundError:
        raise FoveateError(f"there is no file {path}") from None
    except (OSError, EOFError, zlib.error) as error:
        raise FoveateError(f"{path} cannot be read: {error}") from None


def _decoded(path: Path, number: int, raw: bytes) -> str:
    try:
        return raw.decode().rstrip("\r\n")
    except UnicodeDecodeError as error:
        byte = raw[error.start]
        raise FoveateError(
            f"{path}, line {number}: must be UTF-8, got the byte 0x{byte:02x}"
        ) from None


def column_names(path: Path) -> tuple[str, ...]:
    """Names of the columns of a table; for JSON lines, every key that any of them has."""
    names = {"csv": _csv_names, "jsonl": _jsonl_names, "parquet": _parquet_names}[_form(path)](path)
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise FoveateError(f"{path} has two columns '{twice}'")
    return tuple(names)


def rows(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    """Line number and values of ``columns`` of every row; None where a value is missing."""
    read = {"csv": _csv_rows, "jsonl": _jsonl_rows, "parquet": _parquet_rows}[_form(path)]
    number = None
    for number, values in read(path, columns):
        yield number, values
    if number is None:
        raise FoveateError(f"{path} has no rows")


def _form(path: Path) -> str:
    plain = path.with_suffix("") if path.suffix == ".gz" else path
    if plain.suffix.lower() not in TABLES:
        raise FoveateError(f"{path}: a table must end in {', '.join(TABLES)}")
    return TABLES[plain.suffix.lower()]


def _csv_names(path: Path) -> list[str]:
    return next(_csv(path))[1]


def _csv_rows(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    table = _csv(path)
    names = next(table)[1]
    places = [names.index(name) for name in columns]
    for number, values in table:
        if len(values) != len(names):
            short = f"must have {len(names)} columns as line 1 has, got {len(values)}"
            raise FoveateError(f"{path}, line {number}: {short if values else 'is empty'}")
        yield number, [values[place] or None for place in places]


def _csv(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Records of a CSV file with the line each begins on; what parts them is read off line 1."""
    head = next(lines(path), "")
    if not head.strip():
        raise FoveateError(f"{path}, line 1: must name the columns, is empty")
    delimiter = max("\t;,", key=head.count)
    text = (line + "\n" for line in lines(path))
    if delimiter == "\t":  # where tabs part, quotes are signs like others
        reader = csv.reader(text, delimiter=delimiter, quoting=csv.QUOTE_NONE)
    else:
        reader = csv.reader(text, delimiter=delimiter, strict=True)
    begin = 1
    try:
        for values in reader:
            yield begin, values
            begin = reader.line_num + 1
    except csv.Error as error:
        raise FoveateError(f"{path}, line {begin}: not CSV ({error})") from None


def _jsonl_names(path: Path) -> list[str]:
    state = path.stat()
    return list(_keys(path, state.st_size, state.st_mtime_ns))


@lru_cache(maxsize=32)
def _keys(path: Path, _size: int, _changed: int) -> tuple[str, ...]:
    """Keys in the order they turn up: one that few lines have, as known relevance, is not lost."""
    return tuple(dict.fromkeys(key for _, value in _objects(path) for key in value))


def _jsonl_rows(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    for number, value in _objects(path):
        yield number, [value.get(name) for name in columns]


def _objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(lines(path), 1):
        if not line.strip():
            raise FoveateError(f"{path}, line {number}: is empty")
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise FoveateError(f"{path}, line {number}: not JSON ({error})") from None
        if not isinstance(value, dict):
            raise FoveateError(f"{path}, line {number}: must be an object with named values")
        inner = value.get(NESTED)
        yield number, inner if isinstance(inner, dict) else value


def _parquet_names(path: Path) -> list[str]:
    return [name.removeprefix(f"{NESTED}.") for name in _leaves(_parquet(path))]


def _parquet_rows(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    import pyarrow as pa

    file, number = _parquet(path), 0
    leaves = _leaves(file)
    chosen = [leaf for name in columns for leaf in leaves if leaf in (name, f"{NESTED}.{name}")]
    try:
        for batch in file.iter_batches(batch_size=8192, columns=chosen):
            table = pa.Table.from_batches([batch]).flatten()
            for values in zip(*(table.column(leaf).to_pylist() for leaf in chosen), strict=True):
                number += 1
                yield number, list(values)
    except (OSError, pa.ArrowException) as error:
        raise FoveateError(f"{path} is damaged: {' '.join(str(error).split())}") from None


def _leaves(file: Any) -> list[str]:
    """Names of a Parquet file's columns, and of the languages within its pairs."""
    names = []
    for field in file.schema_arrow:
        inside = field.type if field.name == NESTED and hasattr(field.type, "names") else ()
        names += [f"{NESTED}.{child.name}" for child in inside] or [field.name]
    return names


def _parquet(path: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(path)
    except FileNotFoundError:
        raise FoveateError(f"there is no file {path}") from None
    except (OSError, pa.ArrowException):
        raise FoveateError(f"{path} is not a whole Parquet file") from None
