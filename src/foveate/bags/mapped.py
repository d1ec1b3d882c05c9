"""Banks of segments in NPY files that are mapped into memory: bags larger than memory.

A mapped bank is a tensor like any other: pages are read from the file where the tensor is used.
:func:`note_read` bounds how many of them stay in this process, :func:`prefetch` asks the system to
read the rows of the next step while the current one is computed.
"""

import ctypes
import math
import mmap
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self
from weakref import WeakValueDictionary

import numpy as np
import torch
from torch import Tensor

from foveate.bags.segments import rows_at
from foveate.errors import FoveateError

__all__ = [
    "BankWriter",
    "consecutive",
    "file_of",
    "is_mapped",
    "map_bank",
    "mapped_copy",
    "note_read",
    "prefetch",
    "row_blocks",
    "row_parts",
    "sampled_rows",
]

RESIDENT = 2**27  # bytes of a mapped file that are read before its pages are released
AROUND = 2**16  # bytes that the system maps into memory with a byte that is read
BLOCK = 2**22  # numbers of the rows that are processed at a time
ROWS = 2**16  # and at most so many of them at an index
MAX_RUNS = 4096  # runs of consecutive rows of a prefetch: more would cost more than they save


class _MappedFile(mmap.mmap):
    """A file in memory, with its path, its address and the bytes read since the last release."""

    path: Path
    address: int
    read_bytes: int


_MAPPED: "WeakValueDictionary[int, _MappedFile]" = WeakValueDictionary()


def _mapping_of(x: Tensor) -> _MappedFile | None:
    if not _MAPPED or x.device.type != "cpu":
        return None
    address = x.data_ptr()
    for mapping in list(_MAPPED.values()):
        if mapping.address <= address < mapping.address + len(mapping):
            return mapping
    return None


def is_mapped(x: Tensor) -> bool:
    """Whether a tensor lies in a file that :func:`map_bank` mapped."""
    return _mapping_of(x) is not None


def file_of(x: Tensor) -> Path | None:
    """The file that a tensor lies in; None if it is in memory, or its file has no name."""
    mapping = _mapping_of(x)
    return mapping.path if mapping is not None and mapping.path.exists() else None


def map_bank(path: Path) -> Tensor:
    """The array of an NPY file as a tensor that is read where it is used.

    Args:
        path: The file, of :class:`BankWriter` or another one in C order.
    """
    try:
        with path.open("rb") as file:
            shape, dtype, offset = _header(path, file)
            mapping = _MappedFile(file.fileno(), 0, access=mmap.ACCESS_COPY)
    except (OSError, ValueError) as error:
        raise FoveateError(f"{path} is not a whole .npy file: {error}") from None
    count = math.prod(shape)
    if len(mapping) != offset + count * dtype.itemsize:
        raise FoveateError(f"{path} is not a whole .npy file: its size does not fit its header")
    mapping.path, mapping.read_bytes = path, 0
    mapping.address = ctypes.addressof(ctypes.c_char.from_buffer(mapping))
    _MAPPED[mapping.address] = mapping
    of_torch = torch.from_numpy(np.empty(0, dtype)).dtype
    return torch.frombuffer(mapping, dtype=of_torch, count=count, offset=offset).view(shape)


def _header(path: Path, file: BinaryIO) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Shape, number type and offset of the array in an NPY file."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0
    read = read if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, in_columns, dtype = read(file)
    if in_columns or dtype.hasobject:
        raise FoveateError(f"{path} must hold plain numbers in C order")
    return shape, dtype, file.tell()


def note_read(bank: Tensor, rows: int) -> None:
    """Count rows of a bank as read; once they are too many, release the pages of its file.

    Released pages stay in the cache of the system while there is room, and are read again where
    they are used. Nothing happens for a bank in memory.

    Args:
        bank: The bank, shape (N, *).
        rows: How many of its rows were read.
    """
    mapping = _mapping_of(bank)
    if mapping is None:
        return
    mapping.read_bytes += rows * bank[:1].numel() * bank.element_size()
    if mapping.read_bytes >= RESIDENT and hasattr(mmap, "MADV_DONTNEED"):
        mapping.madvise(mmap.MADV_DONTNEED)
        mapping.read_bytes = 0


def sampled_rows(bank: Tensor, index: Tensor) -> Tensor:
    """Rows of a bank far from each other, as a copy in memory.

    Reading a row of a mapped file maps what surrounds it too: a sample of all rows would map the
    whole file, so that its pages are released meanwhile.

    Args:
        bank: The bank, shape (N, *).
        index: Rows, shape (k,).
    """
    if not is_mapped(bank):
        return bank[index]
    step = max(1, AROUND // (bank[:1].numel() * bank.element_size()))
    sample = bank.new_empty(len(index), *bank.shape[1:])
    count = max(1, RESIDENT // AROUND)
    for rows, part in zip(sample.split(count), index.split(count), strict=True):
        torch.index_select(bank, 0, part, out=rows)
        note_read(bank, len(part) * step)
    return sample


def prefetch(bank: Tensor, index: Tensor) -> None:
    """Ask the system to read rows of a mapped bank ahead; nothing for a bank in memory.

    Args:
        bank: The bank, shape (N, *).
        index: Rows that will be read, of any shape.
    """
    mapping = _mapping_of(bank)
    if mapping is None or not index.numel() or not hasattr(mmap, "MADV_WILLNEED"):
        return
    rows = index.flatten()
    starts = torch.cat([torch.tensor([True]), rows.diff() != 1]).nonzero()[:, 0]
    if len(starts) > MAX_RUNS:
        return
    ends = torch.cat([starts[1:], torch.tensor([len(rows)])])
    size, before = bank[0].numel() * bank.element_size(), bank.data_ptr() - mapping.address
    for first, count in zip(rows[starts].tolist(), (ends - starts).tolist(), strict=True):
        begin = before + first * size
        page = begin - begin % mmap.PAGESIZE
        mapping.madvise(mmap.MADV_WILLNEED, page, begin + count * size - page)


def row_blocks(rows: Tensor) -> Iterator[Tensor]:
    """The rows of a tensor in blocks of a bounded size, each counted as read once it was used.

    Example:
        >>> [len(block) for block in row_blocks(torch.zeros(3, 2**21))]
        [2, 1]
    """
    for block in rows.split(max(1, BLOCK // max(1, rows[:1].numel()))):
        yield block
        note_read(rows, len(block))


def row_parts(bank: Tensor, index: Tensor) -> Iterator[Tensor]:
    """Rows of a bank at an index (k,) in parts of a bounded size, each counted as read after use.

    Example:
        >>> [len(part) for part in row_parts(torch.zeros(3, 2**21), torch.tensor([2, 0, 1]))]
        [2, 1]
    """
    for part in index.split(min(ROWS, max(1, BLOCK // max(1, bank[:1].numel())))):
        yield rows_at(bank, part)
        note_read(bank, len(part))


def consecutive(parts: Sequence[Tensor]) -> Tensor | None:
    """Rows of a mapped bank that are given part after part, as one view; None if they are not."""
    mapping = _mapping_of(parts[0])
    if mapping is None:
        return None
    end = parts[0].data_ptr()
    for part in parts:
        if part.data_ptr() != end or not part.is_contiguous():
            return None
        end += part.numel() * part.element_size()
    rows, first = sum(len(part) for part in parts), parts[0]
    offset = first.data_ptr() - mapping.address
    flat = torch.frombuffer(
        mapping, dtype=first.dtype, count=rows * first[0].numel(), offset=offset
    )
    return flat.view(rows, *first.shape[1:])


def mapped_copy(
    bank: Tensor, function: Callable[[Tensor], Tensor], folder: Path, report: Any = None
) -> Tensor:
    """A function of the rows of a mapped bank, as a bank in a file that is removed after use.

    Args:
        bank: The bank, shape (N, *).
        function: From some rows (k, *) to as many (k, *').
        folder: Where the file lies while it is used.
        report: Called as ``report(rows done, rows)``.
    """
    like = function(bank[:1])
    with tempfile.TemporaryDirectory(dir=_created(folder), prefix="prepared-") as temporary:
        path = Path(temporary) / "bank.npy"
        with BankWriter(path, len(bank), like[0]) as writer:
            done = 0
            for block in row_blocks(bank):
                writer.write(done, function(block))
                done += len(block)
                if report is not None:
                    report(done, len(bank))
        return map_bank(path)


class BankWriter:
    """Writes the rows of a bank to an NPY file, which appears under its name when it is complete.

    Args:
        path: The file.
        rows: Number of rows.
        like: A row: shape and number type.

    Example:
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with BankWriter(Path(folder) / "bank.npy", 2, torch.zeros(3)) as writer:
        ...         writer.write(1, torch.ones(1, 3))
        ...         writer.write(0, torch.zeros(1, 3))
        ...     map_bank(Path(folder) / "bank.npy").tolist()
        [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]
    """

    def __init__(self, path: Path, rows: int, like: Tensor) -> None:
        self.path, self._shape = path, tuple(like.shape)
        self._dtype = like.numpy().dtype
        self._row = like.numel() * like.element_size()
        _check_space(_created(path.parent), rows * self._row)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=".tmp")
        self._temporary, self._file = Path(name), os.fdopen(descriptor, "wb")
        header = {"descr": self._dtype.str, "fortran_order": False, "shape": (rows, *self._shape)}
        np.lib.format.write_array_header_1_0(self._file, header)
        self._file.flush()
        self._start = self._file.tell()
        self._file.truncate(self._start + rows * self._row)

    def write(self, row: int, values: Tensor) -> None:
        """Write consecutive rows.

        Args:
            row: The first.
            values: Their numbers, shape (k, *).
        """
        if tuple(values.shape[1:]) != self._shape:
            raise FoveateError(f"rows must have shape {self._shape}, got {tuple(values.shape[1:])}")
        self._file.seek(self._start + row * self._row)
        self._file.write(values.contiguous().numpy().astype(self._dtype, copy=False).data)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._file.flush()
                os.fsync(self._file.fileno())
        finally:
            self._file.close()
            if kind is None:
                self._temporary.replace(self.path)
            else:
                self._temporary.unlink(missing_ok=True)


def _created(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FoveateError(f"cannot make {folder}: {error.strerror}") from None
    return folder


def _check_space(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise FoveateError(
            f"bags larger than memory need {needed / 1e9:,.1f} GB in {folder}, which has "
            f"{free / 1e9:,.1f} GB: free some, or name another folder by FOVEATE_CACHE"
        )
