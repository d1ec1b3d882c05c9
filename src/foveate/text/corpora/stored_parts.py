"""The parts of a stored data set (train, validation, test), read from Parquet or JSON lines."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foveate.errors import FoveateError
from foveate.text.corpora.encoding import Raw

__all__ = ["folder", "has_part", "read_part", "read_texts"]

ENDINGS = ("-*.parquet", ".parquet", ".jsonl")
ALSO_CALLED = {"validation": ("val", "valid", "dev")}


def folder(name: str) -> Path:
    """The folder ``$FOVEATE_DATA/<name>`` of a data set that the hub does not have."""
    root = os.environ.get("FOVEATE_DATA")
    if root and (path := Path(root) / name).is_dir():
        return path
    raise FoveateError(
        f"the files of '{name}' are not here: set FOVEATE_DATA to a folder that holds {name}/ "
        "with its Parquet files"
    )


def has_part(path: Path, part: str) -> bool:
    """Whether a data set has files of a part."""
    return bool(_files(path, part))


def read_part(path: Path, part: str, *columns: str) -> list[Any]:
    """Columns of a part, as Arrow arrays.

    Args:
        path: Folder of the data set, searched with its subfolders.
        part: ``train``, ``validation`` or ``test``: what the names of its files begin with.
        columns: Their names.
    """
    import pyarrow as pa

    tables = [table for file in _files(path, part) if (table := _table(file, columns))]
    if not tables:
        named = " and ".join(columns)
        raise FoveateError(f"{path} has no {part} file with the columns {named}")
    table = pa.concat_tables(tables)
    return [table.column(name).combine_chunks() for name in columns]


def read_texts(path: Path, part: str, text: str = "text", label: str = "label") -> Raw:
    """Texts of a part and their labels."""
    texts, labels = read_part(path, part, text, label)
    return Raw(texts.to_pylist(), _as_integers(labels))


def _files(path: Path, part: str) -> list[Path]:
    for name in (part, *ALSO_CALLED.get(part, ())):
        for ending in ENDINGS:
            if files := sorted(path.rglob(f"{name}{ending}")):
                return files
    return []


def _table(file: Path, columns: tuple[str, ...]) -> Any:
    """The columns of a file, or None if it has not all of them."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyarrow import json

    try:
        if file.suffix == ".parquet":
            names = pq.read_schema(file).names
            return pq.read_table(file, columns=[*columns]) if {*columns} <= {*names} else None
        table = json.read_json(file)
        return table.select([*columns]) if {*columns} <= {*table.column_names} else None
    except (OSError, pa.ArrowException) as error:
        raise FoveateError(f"{file} cannot be read: {' '.join(str(error).split())}") from None


def _as_integers(labels: Any) -> NDArray[np.int64]:
    return np.asarray(labels.to_numpy(zero_copy_only=False)).astype(np.int64)
