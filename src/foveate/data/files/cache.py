"""Decoded images kept on disk, so that a data set is decoded once and not at every start."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foveate.errors import FoveateError
from foveate.records.record import write_atomically
from foveate.records.runs import cache_directory

__all__ = ["cache_directory", "cached", "fingerprint"]

VERSION = 1  # increased when decoding changes, so that older arrays are not read


def fingerprint(files: Sequence[Path]) -> tuple[tuple[str, int, int], ...]:
    """Path, size and time of last change of each file: when these are equal, so is the content."""
    stats = [(file.resolve(), file.stat()) for file in files]
    return tuple((str(path), stat.st_size, stat.st_mtime_ns) for path, stat in stats)


def cached(key: object, rows: int, make: Callable[[], NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """The array stored under ``key``, else what ``make`` returns, stored for the next time.

    A file that cannot be read completely is recomputed; a directory that cannot be written is done
    without.

    Args:
        key: Decides the content; its ``repr`` is hashed.
        rows: Length of the array.
        make: Makes the array, shape (rows, C, H, W).
    """
    name = hashlib.sha256(repr((VERSION, key)).encode()).hexdigest()[:32]
    try:
        path = cache_directory() / "images" / f"{name}.npy"
    except RuntimeError:  # no home directory
        return make()
    if (stored := _read(path, rows)) is not None:
        return stored
    array = make()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, lambda file: np.save(file, array, allow_pickle=False))
    except (OSError, FoveateError):
        pass
    return array


def _read(path: Path, rows: int) -> NDArray[Any] | None:
    try:
        array = np.load(path, allow_pickle=False)
    except Exception:  # absent, or torn, which fails in as many ways as there are bytes
        return None
    valid = isinstance(array, np.ndarray) and array.dtype == np.uint8 and array.ndim == 4
    return array if valid and len(array) == rows else None
