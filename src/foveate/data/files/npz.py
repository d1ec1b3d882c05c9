"""NPZ files with segments ``X`` and labels ``y``, read into banks."""

import zipfile
import zlib
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from foveate.data.files.bank import Bank, integer_labels
from foveate.data.files.cache import fingerprint
from foveate.errors import FoveateError

__all__ = ["read_npz"]


def read_npz(path: Path, label: str | None = None) -> Bank:
    """An NPZ file with arrays ``X`` (N, …) and ``y`` (N,); never a pickle.

    Bytes in X are images, (N, H, W) or with channels first or last; other numbers are features
    and become floats.

    Args:
        path: The file.
        label: Name of the array of labels, ``y`` by default.
    """
    return _read(path, label or "y", fingerprint([path]))


@lru_cache(maxsize=4)
def _read(path: Path, label: str, stamp: object) -> Bank:
    x, y = _arrays(path, "X", label)
    if x.ndim < 1 or y.ndim != 1 or len(x) != len(y):
        raise FoveateError(
            f"{path}: X and {label} must have one row per image, got shapes {x.shape} and {y.shape}"
        )
    if not len(y):
        raise FoveateError(f"{path} holds no images")
    labels = integer_labels(y, f"{path}, array '{label}'")
    return Bank(torch.from_numpy(_segments(x, path)), torch.from_numpy(labels))


def _arrays(path: Path, *names: str) -> list[NDArray[Any]]:
    message = f"{path} is neither a folder of Parquet files nor a whole NPZ file of plain numbers"
    if not zipfile.is_zipfile(path):
        raise FoveateError(message)
    try:
        with np.load(path, allow_pickle=False) as file:
            for name in names:
                if name not in file.files:
                    raise FoveateError(
                        f"{path} has no array '{name}': it holds {', '.join(file.files)}"
                        f"{'' if name == 'X' else '; --label chooses the labels'}"
                    )
            return [file[name] for name in names]
    except FoveateError:
        raise
    except (OSError, ValueError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error):
        raise FoveateError(message) from None


def _segments(x: NDArray[Any], path: Path) -> NDArray[Any]:
    x = x[:, None] if x.ndim == 1 else x
    if x.dtype == np.uint8:
        return _channels_first(x)
    if x.dtype.kind not in "biuf":
        raise FoveateError(f"{path}: X must hold numbers, got {x.dtype}")
    with np.errstate(
        over="ignore"
    ):  # numbers too large for a float become infinite and are reported below
        x = x.astype(np.float32)
    finite = np.isfinite(x.reshape(len(x), -1)).all(1)
    if not finite.all():
        row = int(np.argmin(finite))
        raise FoveateError(f"{path}, array 'X', row {row}: must be finite, holds NaN or infinity")
    return x


def _channels_first(x: NDArray[np.uint8]) -> NDArray[np.uint8]:
    if x.ndim == 3:
        return x[:, None]
    if x.ndim == 4 and x.shape[-1] in (1, 3) and x.shape[1] not in (1, 3):
        return np.ascontiguousarray(np.moveaxis(x, -1, 1))
    return x
