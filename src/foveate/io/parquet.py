"""Columns of Parquet files as numbers, without a Python object for every cell."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from foveate.errors import FoveateError
from foveate.io.cells import Floats, Table
from foveate.io.rows import where
from foveate.types import PartProgress

__all__ = ["numeric_by_type", "read_parquet_columns"]


def numeric_by_type(path: Path, candidates: Sequence[str]) -> set[str]:
    """Columns whose type is a number, or a list of numbers."""
    import pyarrow as pa

    def is_numeric(kind: Any) -> bool:
        types = pa.types
        if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
            return is_numeric(kind.value_type)
        return any(
            test(kind)
            for test in (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
        )

    schema = _parquet(path, None).schema_arrow
    return {name for name in candidates if is_numeric(schema.field(name).type)}


def _parquet(path: Path, columns: Sequence[str] | None) -> Any:
    """A Parquet file, or the columns of it where these are named."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
        return file if columns is None else file.read(columns=list(columns))
    except (OSError, pa.ArrowException):
        raise FoveateError(f"{path} is not a whole Parquet file") from None


def read_parquet_columns(
    path: Path, raw: Sequence[str], numeric: Sequence[str], report: PartProgress | None
) -> Table:
    """Columns of a Parquet file: some as they are, some as numbers.

    Args:
        path: The file.
        raw: Columns to keep as they are.
        numeric: Columns of numbers.
        report: Told of the columns turned into numbers.
    """
    table = _parquet(path, [*raw, *numeric])
    if not len(table):
        raise FoveateError(f"{path} has no rows")
    line = np.arange(1, len(table) + 1)
    values = {name: table.column(name).to_pylist() for name in raw}
    columns = {}
    for done, name in enumerate(numeric, 1):
        columns[name] = _floats(table.column(name), _placed(path, name))
        if report:
            report("columns", done, len(numeric))
    return Table((path,), np.zeros_like(line), line, values, columns)


def _placed(path: Path, name: str) -> Callable[[int], str]:
    return lambda row: f"{where(path, row + 1)}, column '{name}'"


def _floats(column: Any, place: Callable[[int], str]) -> Floats:
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise FoveateError(f"{place(row)}: is missing")
    if not pa.types.is_nested(column.type):
        return np.asarray(column.cast(pa.float64(), safe=False).to_numpy())[:, None]
    lengths = pc.list_value_length(column).to_numpy()
    if (lengths != lengths[0]).any():
        row = int(np.argmax(lengths != lengths[0]))
        raise FoveateError(
            f"{place(row)}: must hold {lengths[0]} numbers as the first row does, got "
            f"{lengths[row]}"
        )
    inner = pc.list_flatten(column)
    if inner.null_count:
        odd = int(np.argmax(inner.is_null().to_numpy(zero_copy_only=False))) // int(lengths[0])
        raise FoveateError(f"{place(odd)}: a number is missing")
    flat = np.asarray(inner.cast(pa.float64(), safe=False).to_numpy())
    return flat.reshape(len(lengths), int(lengths[0]))
