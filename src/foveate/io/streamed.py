"""Features of bags that do not fit into memory: converted once to a file that is mapped.

Bags that would take more than the limit of memory are written, one after another, to one file in
the cache folder. Its name is a hash of the names, sizes and times of the user's files, so that it
is used again while they are the same, and replaced when they are not. Training, prediction and
examination then read bags from that file as they need them, with the system's cache behind it.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from torch import Tensor

from foveate.bags.mapped import BankWriter, map_bank
from foveate.errors import FoveateError
from foveate.io.arrays import segments_of
from foveate.io.memory import VARIABLE, fits_memory
from foveate.records.runs import cache_directory
from foveate.types import Array, PartProgress

__all__ = [
    "MISSING",
    "FeatureSource",
    "converted_file",
    "load_features",
    "version_of",
    "without_missing",
]

FORMAT = 2  # of the files in the cache
MISSING = (
    "a number is missing, which is not imputed in bags larger than memory: impute it, or let bags "
    f"take more memory by {VARIABLE} (in GB)"
)


class FeatureSource(Protocol):
    """Where the features of bags come from, one bag at a time."""

    @property
    def path(self) -> Path:
        """What the user gave."""

    @property
    def files(self) -> Sequence[Path]:
        """The files, or folders of files, that hold the features."""

    def shapes(self) -> list[tuple[int, ...]]:
        """The shape of the features of every bag, without reading them."""

    def read(self, bag: int) -> Array:
        """The features of one bag."""

    def where(self, bag: int) -> str:
        """Where a bag is, for messages."""


def load_features(source: FeatureSource, report: PartProgress | None) -> list[Any]:
    """The features of every bag: arrays in memory, or views of a mapped file if they are too large.

    Args:
        source: Where they come from.
        report: Told of the bags read.
    """
    version = version_of(source.files)
    shapes = source.shapes()
    if () in shapes:
        at = source.where(shapes.index(()))
        raise FoveateError(f"{at}: must have shape (segments, numbers), got a single value")
    if not fits_memory(sum(int(np.prod(shape)) for shape in shapes)):
        convert = lambda path: _convert(source, path, shapes, report)  # noqa: E731
        path = converted_file(source.path, source.files, convert, version)
        return list(map_bank(path).split([_rows(shape) for shape in shapes]))
    arrays = []
    for bag in range(len(shapes)):
        arrays.append(source.read(bag))
        if report:
            report("bags", bag + 1, len(shapes))
    return arrays


def version_of(files: Iterable[Path]) -> str:
    """A hash of names, sizes and times of files, or of all files of folders."""
    inside = [f for file in files for f in (sorted(file.rglob("*")) if file.is_dir() else [file])]
    stats = [(str(file.resolve()), file.stat()) for file in inside]
    versions = [(n, s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino) for n, s in stats]
    return hashlib.sha256(json.dumps([FORMAT, versions]).encode()).hexdigest()


def converted_file(
    path: Path, files: Sequence[Path], convert: Callable[[Path], None], version: str, more: str = ""
) -> Path:
    """The converted file of a user's files, which is made unless it is there.

    Args:
        path: What the user gave.
        files: Files, or folders of files, that it depends on.
        convert: Writes the file under the given name.
        version: Their version before anything was read.
        more: What else the file depends on.
    """
    of_path = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]
    of_more = hashlib.sha256(more.encode()).hexdigest()[:16]
    bank = cache_directory() / "banks" / f"{of_path}-{version[:32]}-{of_more}.npy"
    if not bank.exists():
        convert(bank)
    if version_of(files) != version:
        bank.unlink(missing_ok=True)
        raise FoveateError(f"{path} changed while it was read: run again once it stays the same")
    for other in bank.parent.glob(f"{of_path}-*.npy"):
        if version[:32] not in other.name:  # of earlier contents of the same files
            other.unlink(missing_ok=True)
    return bank


def without_missing(x: Array, where: str) -> Tensor:
    """Segments of a bag as they are stored; none may lack a number."""
    segments = segments_of(x, where, allow_missing=True)
    if segments.is_floating_point() and bool(segments.isnan().any()):
        row = int(segments.isnan().flatten(1).any(1).nonzero()[0])
        raise FoveateError(f"{where}, row {row}: {MISSING}")
    return segments


def _rows(shape: Sequence[int]) -> int:
    return shape[1] if len(shape) == 3 and shape[0] == 1 else shape[0]


def _convert(
    source: FeatureSource,
    path: Path,
    shapes: Sequence[tuple[int, ...]],
    report: PartProgress | None,
) -> None:
    """Write the features of all bags to one file, a bag at a time."""
    first = without_missing(source.read(0), source.where(0))
    with BankWriter(path, sum(map(_rows, shapes)), first[0]) as writer:
        row = 0
        for bag, shape in enumerate(shapes):
            rows = without_missing(source.read(bag), source.where(bag)) if bag else first
            if rows.shape[1:] != first.shape[1:] or len(rows) != _rows(shape):
                expected = "×".join(map(str, (_rows(shape), *first.shape[1:])))
                got = "×".join(map(str, rows.shape))
                raise FoveateError(f"{source.where(bag)}: must have {expected} numbers, got {got}")
            writer.write(row, rows)
            row += len(rows)
            if report:
                report("bags", bag + 1, len(shapes))
