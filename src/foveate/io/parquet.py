"""Columns of Parquet files as numbers, without a Python object for every cell."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np

from foveate.errors import FoveateError
from foveate.io.number_columns import NumberColumn
from foveate.types import FloatArray, PartProgress

__all__ = [
    "add_parquet", "chunk_metadata", "count_numbers", "is_list", "is_numeric", "number_rows",
    "whole_parquet",
]  # fmt: skip

BUFFER = 2**20  # bytes of a column that are read at a time


def add_parquet(
    path: Path,
    raw: Mapping[str, list[Any]],
    numbers: Mapping[str, NumberColumn],
    report: PartProgress | None,
) -> int:
    """Append the columns of a Parquet file to lists of cells and columns of numbers.

    Args:
        path: The file.
        raw: Columns to keep as they are.
        numbers: Columns to read as numbers.
        report: Called with the columns read.

    Returns:
        The number of rows.
    """
    with whole_parquet(path) as file:
        table = file.read(columns=[*raw, *numbers])
    if not len(table):
        raise FoveateError(f"{path} has no rows")
    for name, cells in raw.items():
        cells.extend(_cells(path, table, name))
    for done, column in enumerate(numbers.values(), 1):
        _add(column, path, table)
        if report:
            report("columns", done, len(numbers))
    return len(table)


@contextmanager
def whole_parquet(path: Path) -> Iterator[Any]:
    """A Parquet file, of which rows are read a few pages at a time; damage is named."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(
            path, buffer_size=BUFFER, pre_buffer=False, page_checksum_verification=True
        ) as file:
            yield file
    except (OSError, pa.ArrowException, UnicodeDecodeError):
        raise FoveateError(f"{path} is not a complete Parquet file") from None


def chunk_metadata(file: Any, group: int, column: int) -> Any:
    """Metadata of one column in one row group, read after its first page.

    The reader checks the metadata and names damage; asked directly, pyarrow ends the process.

    Args:
        file: As from :func:`whole_parquet`.
        group: The row group.
        column: The column in the schema of the file, lists divided into their elements.
    """
    name = file.metadata.schema.column(column).path.split(".")[0]
    next(file.iter_batches(1, row_groups=[group], columns=[name]), None)
    return file.metadata.row_group(group).column(column)


def count_numbers(path: Path) -> int:
    """How many numbers the columns of numbers and of lists of them hold, by the metadata."""
    kinds = ("FLOAT", "DOUBLE", "INT32", "INT64")
    total = 0
    with whole_parquet(path) as file:
        columns = [file.metadata.schema.column(k) for k in range(file.metadata.num_columns)]
        for k, column in enumerate(columns):
            if column.physical_type in kinds and not column.max_repetition_level:
                total += file.metadata.num_rows
            elif column.physical_type in kinds:
                groups = range(file.metadata.num_row_groups)
                total += sum(chunk_metadata(file, group, k).num_values for group in groups)
    return total


def _cells(path: Path, table: Any, name: str) -> list[Any]:
    """Cells as Python objects; text that is not UTF-8 is an error that names its row."""
    column = table.column(name)
    try:
        return list(column.to_pylist())
    except UnicodeDecodeError:
        row = next(row for row, cell in enumerate(column) if not _is_utf8(cell))
        raise FoveateError(f"{path}, row {row + 1}, column '{name}': must be UTF-8") from None


def _is_utf8(cell: Any) -> bool:
    try:
        cell.as_py()
    except UnicodeDecodeError:
        return False
    return True


def _add(column: NumberColumn, path: Path, table: Any) -> None:
    """Append one Parquet column by its type."""
    from pyarrow import types

    values = table.column(column.name)
    kind = values.type
    if types.is_dictionary(kind):
        kind = kind.value_type
        values = values.cast(kind)
    if is_numeric(kind):
        column.add_values(_floats(values))
    elif is_list(kind):
        numeric = is_numeric(kind.value_type)
        location = lambda row: column.location(column.rows + row)  # noqa: E731
        column.add_values(_vectors(values, location)) if numeric else column.add_others(
            [None if cell is None else str(cell) for cell in _cells(path, table, column.name)],
            "text",
        )
    elif str(kind) in ("string", "large_string", "string_view"):
        column.add(_cells(path, table, column.name))
    else:
        form: Literal["time", "text"] = "time" if types.is_temporal(kind) else "text"
        cells = _cells(path, table, column.name)
        column.add_others([None if cell is None else str(cell) for cell in cells], form)


def is_list(kind: Any) -> bool:
    """Whether a Parquet column holds lists."""
    from pyarrow import types

    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def is_numeric(kind: Any) -> bool:
    """Whether a Parquet column holds numbers."""
    from pyarrow import types

    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return any(test(kind) for test in tests)


def _floats(column: Any) -> FloatArray:
    """Numbers of a typed column, (N, 1), NaN where null."""
    import pyarrow as pa

    numbers = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return np.asarray(numbers)[:, None]


def number_rows(column: Any, location: Callable[[int], str]) -> FloatArray:
    """The numbers of a column, or of its lists, one row each, NaN where null.

    Args:
        column: Numbers or lists of as many numbers each.
        location: From a row to its place, for messages.
    """
    return _vectors(column, location) if is_list(column.type) else _floats(column)


def _vectors(column: Any, location: Callable[[int], str]) -> FloatArray:
    """Lists of as many numbers each, (N, k); a null list is a row of NaN."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lengths = pc.list_value_length(column).to_numpy(zero_copy_only=False)
    present = np.flatnonzero(~np.isnan(lengths.astype(np.float64)))
    width = int(lengths[present[0]]) if len(present) else 1
    odd = present[lengths[present] != width]
    if len(odd) or not width:
        row = int(odd[0]) if len(odd) else int(present[0])
        raise FoveateError(
            f"{location(row)}: must hold {max(width, 1)} numbers as the "
            f"first row does, got {int(lengths[row])}"
        )
    flat = pc.list_flatten(column).cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    values = np.full((len(lengths), width), np.nan)
    values[present] = np.asarray(flat).reshape(len(present), width)
    return values
