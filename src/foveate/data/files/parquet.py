"""Folders of Parquet files in the layout of the Hugging Face hub, read into banks."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from foveate.data.files.bank import Bank, integer_labels, must_be_classes
from foveate.data.files.cache import cached, fingerprint
from foveate.errors import FoveateError
from foveate.io.image_decoding import decode_image

__all__ = [
    "columns_of",
    "count_rows",
    "decoded_images",
    "label_names",
    "read_column",
    "read_parquet",
    "read_rows",
    "split_files",
]

IMAGE_COLUMNS = ("image", "img")
STAND_FOR_TEST = ("test", "validation", "valid", "val")
SPLIT = re.compile(r"(train|test|validation|valid|val)(?![a-zA-Z])")


def split_files(path: Path) -> dict[str, tuple[Path, ...]]:
    """The Parquet files of ``train`` and ``test``, or of ``all`` where there is no such split.

    A file belongs to the split that its name, or its subfolder's name, begins with;
    ``validation`` replaces a missing ``test``.

    Args:
        path: A folder, searched with all its subfolders, or one file.
    """
    files = [path] if path.is_file() else sorted(path.rglob("*.parquet"))
    if not files:
        raise FoveateError(f"{path} is neither a folder of Parquet files nor an NPZ file")
    splits: dict[str, list[Path]] = {}
    for file in files:
        inner = (
            file.parent.name if file.parent != path else ""
        )  # the name of the set itself is no split
        match = SPLIT.match(file.name) or SPLIT.match(inner)
        splits.setdefault(match[1] if match else "", []).append(file)
    test = next((splits[name] for name in STAND_FOR_TEST if name in splits), None)
    if "train" in splits and test:
        chosen = {"train": splits["train"], "test": test}
    else:
        chosen = {"all": splits.get("train") or test or files}
    for part in chosen.values():
        folders = sorted({str(file.parent) for file in part})
        if len(folders) > 1:
            raise FoveateError(
                f"{path} holds several data sets: choose one, {' or '.join(folders)}"
            )
    return {name: tuple(part) for name, part in chosen.items()}


def read_parquet(files: Sequence[Path], label: str | None = None) -> Bank:
    """Images and labels of some Parquet files; read once in a process, decoded once on a machine.

    Args:
        files: Files with a column ``image`` or ``img``, struct{bytes, path}, and one of labels.
        label: Name of the column of labels, ``label`` by default.
    """
    return _read(tuple(files), label or "label", fingerprint(files))


def read_column(files: Sequence[Path], column: str) -> NDArray[np.int64]:
    """A column of integers, shape (N,)."""
    parts = []
    for file in files:
        table = _open(file)
        if column not in columns_of(file):
            raise FoveateError(
                f"{file} has no label column '{column}'; --label chooses one of its columns: "
                f"{', '.join(columns_of(file))}"
            )
        with _readable(file):
            values = table.read(columns=[column]).column(0).to_numpy()
        where = f"{file}, column '{column}'"
        parts.append(integer_labels(values, where))
        must_be_classes(parts[-1], label_names(file, column), where)
    return np.concatenate(parts)


def read_rows(file: Path, columns: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of a file as Python objects, for columns of lists and structs.

    Args:
        file: The file.
        columns: Columns to read, all of which must be there.
    """
    if missing := [column for column in columns if column not in columns_of(file)]:
        raise FoveateError(
            f"{file} has no column '{missing[0]}'; its columns are {', '.join(columns_of(file))}"
        )
    with _readable(file):
        rows: list[dict[str, Any]] = _open(file).read(columns=list(columns)).to_pylist()
    return rows


def decoded_images(files: Sequence[Path], start: int = 0) -> Iterator[NDArray[np.uint8]]:
    """The images of some files in order, of any sizes, from row ``start`` of them all on.

    Returns:
        One image after another, (H, W) if grey and (H, W, 3) if coloured.
    """
    for file in files:
        rows = count_rows(file)
        if start < rows:
            yield from _decoded(file, _image_column(file), start)
        start = max(0, start - rows)


def count_rows(file: Path) -> int:
    """How many rows a file has."""
    return int(_open(file).metadata.num_rows)


def columns_of(file: Path) -> list[str]:
    """The names of a file's columns."""
    return list(_open(file).schema_arrow.names)


@lru_cache(maxsize=8)
def _read(files: tuple[Path, ...], label: str, stamp: object) -> Bank:
    columns = tuple(_image_column(file) for file in files)
    y = read_column(files, label)
    if not len(y):
        raise FoveateError(f"{files[0]} holds no images")
    x = cached((stamp, columns), len(y), lambda: _stack(files, columns))
    return Bank(torch.from_numpy(x), torch.from_numpy(y), label_names(files[0], label))


def _open(file: Path) -> Any:
    import pyarrow.parquet as pq

    with _readable(file):
        return pq.ParquetFile(file)


@contextmanager
def _readable(file: Path) -> Iterator[None]:
    """Turn Arrow's errors about a truncated or damaged file into one sentence."""
    import pyarrow as pa

    try:
        yield
    except (OSError, pa.ArrowException):
        raise FoveateError(f"{file} is not a complete Parquet file") from None


def _image_column(file: Path) -> str:
    names = columns_of(file)
    for column in IMAGE_COLUMNS:
        if column in names:
            return column
    raise FoveateError(f"{file} has no column 'image' or 'img'; its columns are {', '.join(names)}")


def label_names(file: Path, label: str) -> tuple[str, ...]:
    """Names of the labels in the hub's metadata."""
    metadata = _open(file).schema_arrow.metadata or {}
    try:
        features = json.loads(metadata[b"huggingface"])["info"]["features"]
        return tuple(str(name) for name in features[label]["names"])
    except (KeyError, ValueError, TypeError):
        return ()


def _stack(files: Sequence[Path], columns: Sequence[str]) -> NDArray[np.uint8]:
    images: list[NDArray[np.uint8]] = []
    for file, column in zip(files, columns, strict=True):
        for row, image in enumerate(_decoded(file, column)):
            if images and image.shape[:2] != images[0].shape[:2]:
                raise FoveateError(
                    f"{file}, row {row}: images must have one size, got {_size(image)} after "
                    f"{_size(images[0])}"
                )
            images.append(image)
    channels = 3 if any(image.ndim == 3 for image in images) else 1
    stack = np.empty((len(images), channels, *images[0].shape[:2]), np.uint8)
    for row, image in enumerate(images):  # a grey image among coloured ones fills all channels
        stack[row] = np.moveaxis(image, -1, 0) if image.ndim == 3 else image
    return stack


def _size(image: NDArray[np.uint8]) -> str:
    return f"{image.shape[0]}×{image.shape[1]}"


def _decoded(file: Path, column: str, start: int = 0) -> Iterator[NDArray[np.uint8]]:
    """Images of a file in order from a row on, (H, W) if grey and (H, W, 3) if coloured.

    One thread: with small images Pillow is bound by the interpreter's lock, and threads add to it.
    """
    from PIL import Image

    Image.init()
    formats = list(Image.ID)
    for row, raw in enumerate(_cells(file, column, start), start):
        try:
            image, form = decode_image(raw, formats)
        except Exception as error:  # Pillow's readers raise many kinds
            raise FoveateError(f"{file}, row {row}: not an image ({error})") from None
        if form != formats[0]:  # trying the last one's format first halves the time
            formats = [form, *Image.ID]
        yield image


def _cells(file: Path, column: str, start: int) -> Iterator[bytes | None]:
    """The image files in a column, from a row on."""
    import pyarrow as pa
    import pyarrow.compute as pc

    table = _open(file)
    kind = table.schema_arrow.field(column).type
    if not (pa.types.is_struct(kind) and kind.get_field_index("bytes") >= 0):
        raise FoveateError(f"{file}, column '{column}': must be a struct with 'bytes', got {kind}")
    with _readable(file):
        for batch in table.iter_batches(batch_size=1024, columns=[column]):
            cells = pc.struct_field(batch.column(0), "bytes")
            yield from cells[start:].to_pylist()
            start = max(0, start - len(cells))
