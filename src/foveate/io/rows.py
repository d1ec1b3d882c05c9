"""Rows of a user's file, read one by one: CSV, JSON lines, Parquet, or plain lines.

Every error names the file and the line, counted from 1 as an editor does; Parquet has rows.
"""

import csv
import gzip
import json
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from foveate.errors import FoveateError

__all__ = ["Header", "Row", "column_names", "delimiter", "is_hidden", "lines", "rows", "where"]

Row = tuple[int, list[Any]]
"""Number of the line a row begins on, and its values."""
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


class Header(NamedTuple):
    """Where the column names of a CSV file come from.

    Args:
        present: Whether line 1 holds the names.
        names: Names of the first columns where it does not; the others are c3, c4, ….
    """

    present: bool = True
    names: tuple[str, ...] = ()

    def of(self, path: Path, cells: Sequence[str]) -> list[str]:
        """The names of the columns, from the cells of line 1."""
        if self.present:
            return [cell.strip() for cell in cells]
        if len(self.names) > len(cells):
            raise FoveateError(
                f"{path}: --columns names {len(self.names)} columns, the file has {len(cells)}"
            )
        return [*self.names, *(f"c{k}" for k in range(len(self.names) + 1, len(cells) + 1))]


def is_hidden(path: Path) -> bool:
    """Whether a file is hidden, as those of macOS beside others, or a lock of Excel."""
    return path.name.startswith((".", "~$"))


def where(path: Path, number: int) -> str:
    """File and line of a row, for messages."""
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
        got = f"got the byte 0x{raw[error.start]:02x}: save the file as UTF-8"
        raise FoveateError(f"{path}, line {number}: must be UTF-8, {got}") from None


def column_names(
    path: Path,
    header: Header = Header(),  # noqa: B008
    *,
    pairs: bool = False,
) -> tuple[str, ...]:
    """Names of the columns of a table; for JSON lines, every key that any of them has.

    Args:
        path: The table.
        header: Where the names come from in CSV.
        pairs: Whether languages within a column "translation" are columns.
    """
    form = _form(path)
    if form != "csv" and header != Header():
        raise FoveateError(
            f"{path} has names for its columns: --columns and --no-header are for CSV"
        )
    if form == "csv":
        names = _csv_names(path, header)
    else:
        names = (_jsonl_names if form == "jsonl" else _parquet_names)(path, pairs)
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        advice = "" if twice[0] else ": name them, or leave out what separates empty cells"
        raise FoveateError(f"{path} has two columns '{twice[0]}'{advice}")
    return tuple(names)


def rows(
    path: Path,
    columns: Sequence[str],
    header: Header = Header(),  # noqa: B008
    *,
    pairs: bool = False,
) -> Iterator[Row]:
    """Line number and values of ``columns`` of every row; None where a value is missing.

    Args:
        path: The table.
        columns: Names of columns.
        header: Where the names come from in CSV.
        pairs: Whether languages within a column "translation" are columns.
    """
    form = _form(path)
    if form == "csv":
        source = _csv_rows(path, columns, header)
    else:
        source = (_jsonl_rows if form == "jsonl" else _parquet_rows)(path, columns, pairs)
    number = None
    for number, values in source:
        yield number, values
    if number is None:
        raise FoveateError(f"{path} has no rows")


def _form(path: Path) -> str:
    plain = path.with_suffix("") if path.suffix == ".gz" else path
    if plain.suffix.lower() not in TABLES:
        raise FoveateError(f"{path}: a table must end in {', '.join(TABLES)}")
    return TABLES[plain.suffix.lower()]


def _csv_names(path: Path, header: Header) -> list[str]:
    cells = next(_csv(path))[1]
    if len(cells) == 1 and "|" in cells[0]:
        raise FoveateError(
            f"{path}, line 1: cells must be separated by commas, semicolons or tabs, got '|'"
        )
    if header.present and cells and all(_is_value(cell) for cell in cells):
        raise FoveateError(
            f"{path}, line 1: must name the columns, got {', '.join(cells[:3])}: if the file has "
            "no line of names, give --columns bag,label,… or --no-header (columns c1, c2, …)"
        )
    return header.of(path, cells)


def _is_value(cell: str) -> bool:
    """Whether a cell is a number, as in a first line that holds data."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _csv_rows(path: Path, columns: Sequence[str], header: Header) -> Iterator[Row]:
    table = _csv(path)
    begin, cells = next(table)
    names = header.of(path, cells)
    position = {name: index for index, name in enumerate(names)}
    indices = [position[name] for name in columns]
    if not header.present:
        table = chain([(begin, cells)], table)
    empty = None
    for number, values in table:
        if not values:  # ignored at the end of the file
            empty = empty or number
            continue
        if empty is not None:
            raise FoveateError(f"{path}, line {empty}: is empty: remove the line")
        if len(values) != len(names):
            short = f"must have {len(names)} columns as line 1 has, got {len(values)}"
            raise FoveateError(f"{path}, line {number}: {short}")
        yield number, [values[index] or None for index in indices]


def delimiter(path: Path) -> str:
    """The character that separates the cells of a CSV file, by its first line."""
    return max("\t;,", key=next(lines(path), "").count)


def _csv(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Records of a CSV file with the line each begins on; line 1 decides the delimiter."""
    first = next(lines(path), "").strip()
    if not first or first.lower().startswith("sep="):
        what = f"is '{first}': remove the line" if first else "is empty"
        raise FoveateError(f"{path}, line 1: must name the columns, {what}")
    mark = delimiter(path)
    text = (line + "\n" for line in lines(path))
    if mark == "\t":  # with tabs, quotes are ordinary characters
        reader = csv.reader(text, delimiter=mark, quoting=csv.QUOTE_NONE)
    else:
        reader = csv.reader(text, delimiter=mark, strict=True)
    begin = 1
    try:
        for values in reader:
            yield begin, values
            begin = reader.line_num + 1
    except csv.Error as error:
        reason = str(error).split(" - ")[0]  # what follows is advice to programmers
        raise FoveateError(f"{path}, line {begin}: not CSV ({reason})") from None


def _jsonl_names(path: Path, pairs: bool) -> list[str]:
    state = path.stat()
    return list(_keys(path, pairs, state.st_size, state.st_mtime_ns))


@lru_cache(maxsize=32)
def _keys(path: Path, pairs: bool, _size: int, _changed: int) -> tuple[str, ...]:
    """Keys in the order they turn up: one that few lines have, as known relevance, is not lost."""
    return tuple(dict.fromkeys(key for _, value in _objects(path, pairs) for key in value))


def _jsonl_rows(path: Path, columns: Sequence[str], pairs: bool) -> Iterator[Row]:
    for number, value in _objects(path, pairs):
        yield number, [value.get(name) for name in columns]


def _objects(path: Path, pairs: bool) -> Iterator[tuple[int, dict[str, Any]]]:
    empty = None
    for number, line in enumerate(lines(path), 1):
        if not line.strip():  # ignored at the end of the file
            empty = empty or number
            continue
        if empty is not None:
            raise FoveateError(f"{path}, line {empty}: is empty: remove the line")
        value = _parsed(line, f"{path}, line {number}")
        if not isinstance(value, dict):
            raise FoveateError(
                f"{path}, line {number}: must be one object with named values per line, got a "
                f"{'list' if isinstance(value, list) else 'single value'}"
            )
        inner = value.get(NESTED) if pairs else None
        yield number, inner if isinstance(inner, dict) else value


def _parsed(line: str, location: str) -> Any:
    """The value of a line of JSON, whose texts can be written as UTF-8."""
    try:
        value = json.loads(line, object_pairs_hook=_object)
        if "\\u" in line:
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start])
        raise FoveateError(
            f"{location}: {half} is half of a character, without the other"
        ) from None
    except (ValueError, RecursionError) as error:
        array = "; write one object per line, not an array" if line.startswith("[") else ""
        raise FoveateError(f"{location}: not JSON ({error}){array}") from None
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, whose keys must differ."""
    value = dict(pairs)
    if len(value) < len(pairs):
        twice = next(
            name for name, count in Counter(name for name, _ in pairs).items() if count > 1
        )
        raise ValueError(f"two values '{twice}'")
    return value


def _parquet_names(path: Path, pairs: bool) -> list[str]:
    names = _leaves(_parquet(path), pairs)
    return [name.removeprefix(f"{NESTED}.") for name in names] if pairs else names


def _parquet_rows(path: Path, columns: Sequence[str], pairs: bool) -> Iterator[Row]:
    import pyarrow as pa

    file, number = _parquet(path), 0
    leaves = _leaves(file, pairs)
    chosen = [leaf for name in columns for leaf in leaves if leaf in (name, f"{NESTED}.{name}")]
    try:
        for batch in file.iter_batches(batch_size=8192, columns=chosen):
            table = pa.Table.from_batches([batch])
            table = table.flatten() if pairs else table
            for values in zip(*(table.column(leaf).to_pylist() for leaf in chosen), strict=True):
                number += 1
                yield number, list(values)
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise FoveateError(f"{path} is damaged: {' '.join(str(error).split())}") from None


def _leaves(file: Any, pairs: bool) -> list[str]:
    """Names of a Parquet file's columns, and of the languages within its pairs."""
    names = []
    for field in file.schema_arrow:
        nested = pairs and field.name == NESTED and hasattr(field.type, "names")
        inside = field.type if nested else ()
        names += [f"{NESTED}.{child.name}" for child in inside] or [field.name]
    return names


def _parquet(path: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(path, page_checksum_verification=True)
    except FileNotFoundError:
        raise FoveateError(f"there is no file {path}") from None
    except (OSError, pa.ArrowException, UnicodeDecodeError):
        raise FoveateError(f"{path} is not a complete Parquet file") from None
