"""The rows of an uploaded table as they are written, before columns have roles."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from foveate.errors import FoveateError

__all__ = ["is_number", "table_rows"]

BATCH = 200  # rows of a Parquet file that are read at a time


def table_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Rows of a table by column, values as they are.

    Args:
        path: The file.
    """
    match path.suffix.lower():
        case ".csv" | ".tsv":
            import csv

            with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
                delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
                yield from csv.DictReader(file, delimiter=delimiter, restkey="(more cells)")
        case ".jsonl":
            import json

            with path.open(encoding="utf-8", errors="replace") as file:
                yield from (json.loads(line) for line in file if line.strip())
        case ".parquet":
            from pyarrow import ArrowException, parquet

            try:
                for batch in parquet.ParquetFile(path).iter_batches(BATCH):
                    yield from batch.to_pylist()
            except ArrowException as error:
                raise FoveateError(f"cannot be read: {error}") from None


def is_number(text: str) -> bool:
    """Whether a cell holds a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
