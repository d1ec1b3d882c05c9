"""HDF5 files, one per bag, with ``features`` and ``coords``, as CLAM and TRIDENT write them."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foveate.errors import FoveateError
from foveate.io.arrays import from_arrays
from foveate.io.collection import Collection
from foveate.io.columns import RELEVANCE, Columns
from foveate.io.label_table import read_sheet
from foveate.types import PartProgress

__all__ = ["SUFFIXES", "hdf5_files", "read_hdf5"]

SUFFIXES = (".h5", ".hdf5")


def hdf5_files(path: Path) -> list[Path]:
    """HDF5 files at a path, of a folder with all its subfolders."""
    if path.is_file():
        return [path]
    return sorted(file for file in path.rglob("*") if file.suffix.lower() in SUFFIXES)


def read_hdf5(
    path: Path,
    columns: Columns,
    classes: Sequence[str] | None = None,
    labelled: bool | None = None,
    report: PartProgress | None = None,
) -> Collection:
    """Bags of HDF5 files, named after their files and in the order of their names.

    ``features`` is (m, d), or (1, m, d) as some tools write it; ``coords`` (m, 2) is optional, and
    so is relevance (``relevance``, ``inst_labels`` or ``patch_labels``, (m,)). Labels, patients and
    splits come from a table beside (``slide_id``, ``label``, ``case_id``).

    Args:
        path: A folder or one file. Subfolders whose files have no ``features`` are passed over.
        columns: Names of the table's columns, and of the array of relevance.
        classes: The classes there may be, in order.
        labelled: Whether there must be labels; False leaves them out.
        report: Told of the bags read.
    """
    files = _with_features(path)
    read = []
    for done, file in enumerate(files, 1):
        read.append(_read(file, columns.relevance))
        if report:
            report("bags", done, len(files))
    folder = files[0].parent
    label_table = read_sheet(path if path.is_dir() else folder, columns, labelled)
    if label_table is None and folder != path:
        label_table = read_sheet(folder, columns, labelled)
    keys = [(file.stem, file.name) for file in files]
    labels = label_table.labels(keys) if label_table else None
    if labelled and labels is None:
        raise FoveateError(f"{path} has no table with labels beside the HDF5 files")
    with_places = [places is not None for _, places, _ in read]
    if any(with_places) and not all(with_places):
        odd = files[with_places.index(False)]
        raise FoveateError(f"{odd} has no 'coords', which other files have")
    return from_arrays(
        [x for x, _, _ in read],
        labels,
        ids=[file.stem for file in files],
        relevance=[z for _, _, z in read] if any(z is not None for _, _, z in read) else None,
        groups=label_table.of(keys, "group") if label_table else None,
        split=label_table.of(keys, "split") if label_table else None,
        places=[p for _, p, _ in read if p is not None] if all(with_places) else None,
        classes=classes,
        source=str(path),
        where=lambda bag: str(files[bag]),
        missing=columns.missing,
        roles=label_table.roles if label_table else (),
    )


def _h5py() -> Any:
    try:
        return import_module("h5py")
    except ImportError:
        raise FoveateError("reading HDF5 files needs h5py: pip install 'foveate[hdf5]'") from None


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
        with _h5py().File(file, "r") as opened:
            return "features" in opened
    except (OSError, RuntimeError, KeyError):
        return True  # a damaged file is named when it is read


Read = tuple[NDArray[Any], NDArray[Any] | None, NDArray[Any] | None]


def _read(file: Path, relevance: str | None) -> Read:
    """Features, places and relevance of one file."""
    if not file.exists():
        raise FoveateError(f"there is no file {file}")
    try:
        with _h5py().File(file, "r") as opened:
            held = list(opened)
            if "features" not in opened:
                raise FoveateError(f"{file} has no 'features': it holds {', '.join(held)}")
            usual = (relevance,) if relevance else RELEVANCE
            z_name = next((name for name in usual if name in opened), "")
            x, places, z = (
                np.asarray(opened[name][()]) if name in held else None
                for name in ("features", "coords", z_name)
            )
    except FoveateError:
        raise
    except Exception as error:  # damage shows as an OSError, RuntimeError, KeyError, ValueError …
        message = " ".join(str(error).split())
        raise FoveateError(f"{file} is not a whole HDF5 file: {message}") from None
    assert x is not None  # asked above
    x, places = (a[0] if a is not None and a.ndim == 3 and len(a) == 1 else a for a in (x, places))
    return np.asarray(x), places, z
