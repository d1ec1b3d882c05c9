"""Whether bags fit into memory."""

import math
import os
import zipfile
from pathlib import Path

import numpy as np

from foveate.errors import FoveateError

__all__ = ["VARIABLE", "check_unpacked_size", "fits_memory"]

VARIABLE = "FOVEATE_MEMORY"
SHARE = 0.25  # of the free memory that bags may take: a fit holds them twice, and works on parts


def fits_memory(numbers: int) -> bool:
    """Whether so many numbers of single precision may be held in memory."""
    text = os.environ.get(VARIABLE)
    if text is None:
        available = available_memory()
        return available is None or 4 * numbers <= SHARE * available
    try:
        limit = float(text)
        if not limit > 0:
            raise ValueError
    except ValueError:
        raise FoveateError(f"{VARIABLE} must be a number of GB above 0, got '{text}'") from None
    return 4 * numbers <= limit * 1e9


def check_unpacked_size(path: Path) -> None:
    """Refuse an NPZ file whose arrays would not fit into memory, by its headers alone."""
    try:
        with zipfile.ZipFile(path) as archive:
            needed = sum(_size(archive, entry) for entry in archive.infolist())
    except (zipfile.BadZipFile, OSError, NotImplementedError):
        return  # reported by name when it is read
    available = available_memory()
    if available is not None and needed > available:
        raise FoveateError(
            f"{path} would unpack to {needed / 1e9:,.1f} GB, more than the "
            f"{available / 1e9:,.1f} GB of free memory: store fewer bags in one file"
        )


def _size(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> int:
    """Bytes of an array by its own header, or of the unpacked entry if that is more."""
    try:
        with archive.open(entry) as file:
            version = np.lib.format.read_magic(file)
            read = np.lib.format.read_array_header_1_0
            read = read if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, dtype = read(file)
            return max(entry.file_size, math.prod(shape) * dtype.itemsize)
    except Exception:  # a damaged header fails in many ways and is reported when it is read
        return entry.file_size


def available_memory() -> int | None:
    """Bytes that can be allocated, where the system tells."""
    try:
        with Path("/proc/meminfo").open() as file:
            lines = dict(line.split(":", 1) for line in file)
        return int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None
