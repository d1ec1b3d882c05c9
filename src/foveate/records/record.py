"""Record: the measurements of a training or a closed-form flow; files of arrays; checkpoints.

A checkpoint holds tensors and JSON in one safetensors file. Every file is written atomically and
carries a checksum.
"""

import json
import os
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from foveate.errors import FoveateError
from foveate.records.checksums import (
    advice,
    seal_npz,
    seal_safetensors,
    verify_npz,
    verify_safetensors,
)
from foveate.records.locking import lock_temporary, remove_abandoned
from foveate.types import Array

if TYPE_CHECKING:
    from torch import Tensor

__all__ = [
    "UMASK",
    "Array",
    "Record",
    "load_arrays",
    "load_checkpoint",
    "save_arrays",
    "save_checkpoint",
    "sync_folder",
    "write_atomically",
]


@dataclass(frozen=True)
class Record:
    """Arrays over time, arrays at the end, and what they mean.

    Args:
        t: Times of measurement (epochs, or the time of a flow), shape (T,).
        values: Quantities over time, each of shape (T, S, …), S members (seeds).
        final: Quantities at the end, each of shape (S, …).
        meta: What was run, in words and numbers that JSON can hold.
        trained: The trained models while they are in memory; not saved here.

    Example:
        >>> accuracy = np.array([[0.3, 0.4], [0.9, 0.8]])  # two times, two seeds
        >>> record = Record(np.arange(2), {"accuracy": accuracy})
        >>> record.last("accuracy").tolist()
        [0.9, 0.8]
    """

    t: Array
    values: Mapping[str, Array]
    final: Mapping[str, Array] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)
    trained: Any = field(default=None, repr=False, compare=False)

    def last(self, name: str) -> Array:
        """The last measurement of ``name``, one row per member."""
        if name not in self.values:
            raise FoveateError(f"the record has no '{name}'; it has {', '.join(self.values)}")
        return self.values[name][-1]

    def save(self, path: Path) -> None:
        """Write as NPZ, atomically."""
        arrays = {"t": self.t, "meta": np.frombuffer(json.dumps(self.meta).encode(), np.uint8)}
        arrays |= {f"values/{name}": value for name, value in self.values.items()}
        arrays |= {f"final/{name}": value for name, value in self.final.items()}
        save_arrays(path, arrays)

    @classmethod
    def load(cls, path: Path) -> "Record":
        """Read what :meth:`save` wrote; never a pickle."""
        if not path.exists():
            raise FoveateError(f"there is no record at {path}")
        arrays = load_arrays(path)
        parts: dict[str, dict[str, Array]] = {"values": {}, "final": {}}
        try:
            meta = dict(json.loads(arrays.pop("meta").tobytes()))
            t = arrays.pop("t")
            for name, value in arrays.items():
                part, _, key = name.partition("/")
                parts[part][key] = value
        except (ValueError, TypeError, KeyError) as error:
            raise FoveateError(f"{path} is not a complete record: {error}") from None
        return cls(t, parts["values"], parts["final"], meta)


def save_arrays(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write named arrays as NPZ with a checksum, atomically."""
    buffer = BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    write_atomically(path, seal_npz(buffer.getvalue()))


def load_arrays(path: Path) -> dict[str, Array]:
    """Read what :func:`save_arrays` wrote and verify its checksum; never a pickle."""
    try:
        content = path.read_bytes()
        verify_npz(path, content)
        if not zipfile.is_zipfile(BytesIO(content)):
            raise ValueError("it is not a complete NPZ file")
        with np.load(BytesIO(content), allow_pickle=False) as data:
            return {name: data[name] for name in data.files}
    except FoveateError:
        raise
    except (
        Exception
    ) as error:  # damage can surface anywhere: zip, zlib, NumPy's header, a huge shape
        message = " ".join(str(error).split())
        if "Object arrays" in message:
            what = "it holds a pickle (an array of Python objects), which is never loaded"
            raise FoveateError(f"{path} must hold plain numbers and texts: {what}") from None
        raise FoveateError(f"{path} is damaged: {message}{advice(path)}") from None


def sync_folder(folder: Path) -> None:
    """Write the entries of a folder to disk, so that a renamed file survives a power failure."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # a folder that may be written but not read, or a system without such handles
        return
    try:
        os.fsync(handle)
    except OSError:  # a file system that cannot sync folders
        pass
    finally:
        os.close(handle)


def _umask() -> int:
    """The process's umask; reading it means setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


UMASK = _umask()  # once, before there are threads that would see it changed


def write_atomically(path: Path, content: bytes | Callable[[IO[bytes]], object]) -> None:
    """Write a temporary file beside ``path``, then rename it.

    A kill at any moment leaves the old file or the new one, never a part of either. Temporary
    files that killed writes of the same path left are removed.

    Args:
        path: The file.
        content: Its bytes, or a function that writes them to an open file.
    """
    path = Path(path)
    remove_abandoned(path)
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise FoveateError(f"cannot write in {path.parent}: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            lock_temporary(file.fileno())
            if isinstance(content, bytes):
                file.write(content)
            else:
                content(file)
            file.flush()
            os.fsync(file.fileno())
            os.chmod(name, 0o666 & ~UMASK)
            os.replace(name, path)
        sync_folder(path.parent)
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise FoveateError(f"cannot write {path}: {error.strerror}") from None
        raise


META = "meta.json"  # stored as a tensor of bytes, so that one atomic write covers all


def save_checkpoint(path: Path, tensors: "dict[str, Tensor]", meta: dict[str, Any]) -> None:
    """Write ``tensors`` and ``meta`` (which JSON can hold) to ``path``."""
    import torch
    from safetensors.torch import save

    text = torch.frombuffer(bytearray(json.dumps(meta).encode()), dtype=torch.uint8)
    stored = {k: v.detach().contiguous().clone() for k, v in tensors.items()} | {META: text}
    write_atomically(path, seal_safetensors(save(stored)))


def load_checkpoint(path: Path) -> "tuple[dict[str, Tensor], dict[str, Any]]":
    """Read what :func:`save_checkpoint` wrote, and verify its checksum."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        content = path.read_bytes()
        verify_safetensors(path, content)
        tensors = load(content)
        meta = dict(json.loads(tensors.pop(META).numpy().tobytes()))
    except FileNotFoundError:
        raise FoveateError(f"there is no file {path}") from None
    except FoveateError:
        raise
    except (SafetensorError, KeyError, TypeError, ValueError, OSError) as error:
        raise FoveateError(f"{path} is damaged: {error}{advice(path)}") from None
    return tensors, meta
