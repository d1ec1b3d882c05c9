"""HDF5 files and Zarr stores with ``features`` and ``coords``, as CLAM and TRIDENT write them."""

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from foveate.errors import FoveateError
from foveate.io.arrays import from_arrays
from foveate.io.collection import Collection, listed
from foveate.io.columns import RELEVANCE, ColumnRole, Columns
from foveate.io.label_table import read_sheet
from foveate.io.problem import Problem
from foveate.io.rows import is_hidden
from foveate.io.streamed import load_features
from foveate.types import Array, PartProgress

__all__ = ["SUFFIXES", "hdf5_files", "read_hdf5"]

ZARR = ".zarr"
SUFFIXES = (".h5", ".hdf5", ZARR)


def hdf5_files(path: Path) -> list[Path]:
    """HDF5 files and Zarr stores at a path, of a folder with all its subfolders."""
    if path.is_file() or path.suffix.lower() == ZARR:
        return [path]
    visible = []
    for folder, inner, files in os.walk(path):
        stores = [name for name in inner if name.lower().endswith(ZARR)]
        inner[:] = [name for name in inner if name not in stores]
        paths = [Path(folder, n) for n in (*files, *stores) if n.lower().endswith(SUFFIXES)]
        visible += [path for path in paths if not is_hidden(path)]
    return sorted(visible)


def read_hdf5(
    path: Path,
    columns: Columns,
    classes: Sequence[str] | None = None,
    labelled: bool | None = None,
    report: PartProgress | None = None,
) -> Collection:
    """Bags of HDF5 files or Zarr stores, named after their files and in the order of their names.

    ``features`` is (m, d), or (1, m, d) as some tools write it; ``coords`` (m, 2) is optional, and
    so is relevance (``relevance``, ``inst_labels`` or ``patch_labels``, (m,)). A single file
    without ``features`` may hold a group for each bag, named after it. Labels, patients and splits
    come from a table beside (``slide_id``, ``label``, ``case_id``).

    Args:
        path: A folder or one file. Subfolders whose files have no ``features`` are passed over.
        columns: Names of the table's columns, and of the array of relevance.
        classes: The classes there may be, in order.
        labelled: Whether there must be labels; False leaves them out.
        report: Told of the bags read.
    """
    source = _Features(path)
    bags, folder = source.bags, source.bags[0].file.parent
    features = load_features(source, report)
    read = [_places_and_relevance(bag, columns.relevance) for bag in bags]
    in_path = path.is_dir() and path.suffix.lower() != ZARR
    label_table = read_sheet(path if in_path else folder, columns, labelled)
    if label_table is None and folder != path:
        label_table = read_sheet(folder, columns, labelled)
    keys = [bag.names for bag in bags]
    labels = label_table.labels(keys) if label_table else None
    if labelled and labels is None:
        raise FoveateError(f"{path} has no table with labels beside the HDF5 files")
    if columns.relevance and labelled is not False and all(z is None for _, z in read):
        raise FoveateError(f"{path}: no bag has an array '{columns.relevance}' of relevance")
    with_places = [places is not None for places, _ in read]
    if any(with_places) and not all(with_places):
        odd = bags[with_places.index(False)]
        raise FoveateError(f"{odd} has no 'coords', which other files have")
    return from_arrays(
        features,
        labels,
        ids=[names[0] for names in keys],
        relevance=[z for _, z in read] if any(z is not None for _, z in read) else None,
        groups=label_table.of(keys, "group") if label_table else None,
        split=label_table.of(keys, "split") if label_table else None,
        places=[p for p, _ in read if p is not None] if all(with_places) else None,
        classes=classes,
        source=str(path),
        where=source.where,
        missing=columns.missing,
        roles=(*_array_roles(bags[0], columns), *(label_table.roles if label_table else ())),
        problems=[
            *_unwritten_problems(bags, columns.relevance),
            *(label_table.problems(keys, path) if label_table else ()),
        ],
    )


class _StoredBag(NamedTuple):
    """The arrays of a bag: those of a file, or of one of its groups."""

    file: Path
    group: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Names that the bag may have in a table."""
        return (self.group,) if self.group else (self.file.stem, self.file.name)

    def __str__(self) -> str:
        return f"{self.file}, group '{self.group}'" if self.group else str(self.file)


class _Features:
    """The features of the bags at a path."""

    def __init__(self, path: Path) -> None:
        self.path, self.files = path, _with_features(path)
        self.bags = [_StoredBag(file) for file in self.files]
        if len(self.files) == 1:
            self.bags = [_StoredBag(self.files[0], name) for name in _groups(self.files[0])]

    def shapes(self) -> list[tuple[int, ...]]:
        return [self._shape(bag) for bag in self.bags]

    def _shape(self, bag: _StoredBag) -> tuple[int, ...]:
        with _arrays(bag) as arrays:
            return tuple(_features(bag, arrays).shape)

    def read(self, bag: int) -> Array:
        with _arrays(self.bags[bag]) as arrays:
            return _of_one_image(np.asarray(_features(self.bags[bag], arrays)[()]))

    def where(self, bag: int) -> str:
        return str(self.bags[bag])


def _groups(file: Path) -> list[str]:
    """Groups with features, each a bag; "" where the file itself is the bag."""
    with _arrays(_StoredBag(file)) as arrays:
        if "features" in arrays:
            return [""]
        members = {name: arrays[name] for name in arrays}
        groups = [n for n, m in members.items() if hasattr(m, "keys") and "features" in m]
        return sorted(groups) or [""]


@contextmanager
def _arrays(bag: _StoredBag) -> Iterator[Any]:
    """The arrays of a bag by name; what goes wrong while they are read names the file."""
    if not bag.file.exists():
        raise FoveateError(f"there is no file {bag.file}")
    try:
        if bag.file.suffix.lower() == ZARR:
            opened = _library("zarr").open_group(str(bag.file), mode="r")
            yield opened[bag.group] if bag.group else opened
            return
        with _library("h5py").File(bag.file, "r") as opened:
            yield opened[bag.group] if bag.group else opened
    except FoveateError:
        raise
    except Exception as error:  # damage shows as an OSError, RuntimeError, KeyError, ValueError …
        message, kind = " ".join(str(error).split()), _kind(bag.file)
        raise FoveateError(f"{bag.file} is not a whole {kind}: {message}") from None


def _kind(file: Path) -> str:
    return "Zarr store" if file.suffix.lower() == ZARR else "HDF5 file"


def _features(bag: _StoredBag, arrays: Any) -> Any:
    if "features" not in arrays:
        raise FoveateError(f"{bag} has no 'features': it holds {', '.join(arrays)}")
    return arrays["features"]


def _of_one_image(x: Array) -> Array:
    return x[0] if x.ndim == 3 and len(x) == 1 else x


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        kind, extra = ("Zarr stores", "zarr") if name == "zarr" else ("HDF5 files", "hdf5")
        raise FoveateError(f"reading {kind} needs {name}: pip install 'foveate[{extra}]'") from None


def _with_features(path: Path) -> list[Path]:
    """The files of the one folder whose files have features."""
    files = hdf5_files(path)
    by_folder: dict[Path, list[Path]] = {}
    for file in files:
        by_folder.setdefault(file.parent, []).append(file)
    useful = [f for f in by_folder.values() if len(by_folder) == 1 or _has_features(f[0])]
    if len(useful) > 1:
        listed = " or ".join(str(group[0].parent) for group in useful)
        raise FoveateError(f"{path} holds several kinds of features: give one, {listed}")
    if not useful:
        raise FoveateError(f"{path} holds no HDF5 file with 'features'")
    return useful[0]


def _has_features(file: Path) -> bool:
    try:
        with _arrays(_StoredBag(file)) as arrays:
            return "features" in arrays
    except FoveateError:
        return True  # a damaged file is named when it is read


def _places_and_relevance(
    bag: _StoredBag, relevance: str | None
) -> tuple[Array | None, Array | None]:
    """Coordinates and relevance of a bag, None where there are none."""
    with _arrays(bag) as arrays:
        z_name = _name_of_relevance(arrays, relevance)
        places, z = (
            np.asarray(arrays[name][()]) if name and name in arrays else None
            for name in ("coords", z_name)
        )
    return None if places is None else _of_one_image(places), z


def _name_of_relevance(arrays: Any, relevance: str | None) -> str:
    usual = (relevance,) if relevance else RELEVANCE
    return next((name for name in usual if name in arrays), "")


def _array_roles(bag: _StoredBag, columns: Columns) -> list[ColumnRole]:
    """The role of every array of a bag, which stands for all bags."""
    with _arrays(bag) as arrays:
        roles = {"features": "feature", "coords": "place"}
        roles[_name_of_relevance(arrays, columns.relevance)] = "relevance"
        unused = "left out", "no role has an array of this name"
        by_name = "by the name of the array"
        return [
            ColumnRole(n, *((roles[n], by_name) if n in roles else unused)) for n in sorted(arrays)
        ]


def _unwritten_problems(bags: Sequence[_StoredBag], relevance: str | None) -> list[Problem]:
    """Bags with arrays whose parts were never written: they would be read as zeros."""
    odd = []
    for bag in bags:
        with _arrays(bag) as arrays:
            names = ("features", "coords", _name_of_relevance(arrays, relevance))
            if any(_is_unwritten(arrays[name]) for name in names if name and name in arrays):
                odd.append(str(bag))
    what = "parts were never written, or are lost, and would be read as zeros: copy the file again"
    return [Problem("error", listed("bag", odd), what, "unwritten-parts")] if odd else []


def _is_unwritten(array: Any) -> bool:
    """Whether chunks of an array, or the whole of it, are not in the file."""
    if not array.size:
        return False
    if hasattr(array, "nchunks_initialized"):  # of Zarr
        return bool(array.nchunks_initialized < array.nchunks)
    if array.chunks is None:
        return bool(array.id.get_storage_size() == 0 and array.external is None)
    expected = math.prod(-(-n // of) for n, of in zip(array.shape, array.chunks, strict=True))
    return bool(array.id.get_num_chunks() < expected)
