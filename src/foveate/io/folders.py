"""Folders with one .npy file per bag, as torchmil keeps them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from foveate.errors import FoveateError
from foveate.io.arrays import from_arrays, load_plain, plain_shape
from foveate.io.cells import name_of
from foveate.io.collection import Collection, listed
from foveate.io.columns import Columns
from foveate.io.label_table import read_sheet
from foveate.io.problem import Problem
from foveate.io.rows import is_hidden
from foveate.io.streamed import load_features
from foveate.types import Array, PartProgress

__all__ = ["feature_folder", "read_folders"]

MARKS = ("inst_labels", "patch_labels", "relevance")
PLACES = ("coords", "places")


def feature_folder(path: Path) -> Path | None:
    """The folder of a data set that holds features: ``features``, one within it, or itself."""
    inside = path / "features"
    deeper = sorted(f for f in inside.glob("*") if f.is_dir() and _arrays(f))
    if len(deeper) > 1 and not _arrays(inside):
        listed = " or ".join(str(folder) for folder in deeper)
        raise FoveateError(f"{inside} holds several kinds of features: give one, {listed}")
    return next((f for f in (inside, *deeper, path) if _arrays(f)), None)


def read_folders(
    path: Path,
    columns: Columns,
    classes: Sequence[str] | None = None,
    labelled: bool | None = None,
    report: PartProgress | None = None,
) -> Collection:
    """Bags of a folder in torchmil's layout, in the order of their names.

    ``features/NAME.npy`` is (m, d); ``labels/NAME.npy`` one label; ``inst_labels`` (or
    ``patch_labels``) (m,), above 0 where relevant; ``coords`` (m, k). A bag without a file of
    relevance has unknown relevance. In place of ``labels`` a table may name bag and label (and
    group and split); without either the bags are unlabelled. Pickles are refused.

    Args:
        path: The folder.
        columns: Names of the table's columns.
        classes: The classes there may be, in order.
        labelled: Whether there must be labels; False leaves them out.
        report: Told of the bags read.
    """
    features = feature_folder(path)
    if features is None:
        raise FoveateError(f"{path} holds no .npy files of features")
    files = _arrays(features)
    keys = [(file.stem, file.name) for file in files]
    around = (path, path.parent, path.parent.parent) if features == path else (path,)
    label_files = _first(around, ("labels",))
    in_parent = label_files is None or bool(columns.group or columns.split)
    label_table = read_sheet(path, columns, labelled, in_parent=in_parent)
    labels = None if labelled is False else _labels(label_files, files, columns)
    if labels is None and label_table is not None:
        labels = label_table.labels(keys)
    if labelled and labels is None:
        raise FoveateError(f"{path} has neither a folder 'labels' nor a table with labels")
    marked, placed = (_first(around, names) for names in (MARKS, PLACES))
    return from_arrays(
        load_features(_Files(path, files), report),
        labels,
        ids=[file.stem for file in files],
        relevance=None if marked is None else [_optional(marked / f.name) for f in files],
        groups=label_table.of(keys, "group") if label_table else None,
        split=label_table.of(keys, "split") if label_table else None,
        places=None if placed is None else [load_plain(placed / f.name) for f in files],
        classes=classes,
        source=str(path),
        where=lambda bag: str(files[bag]),
        missing=columns.missing,
        roles=label_table.roles if label_table else (),
        problems=[
            *(label_table.problems(keys, path) if label_table else ()),
            *_without_features(files, label_files, "labels"),
            *_without_features(files, marked, "relevance"),
        ],
    )


class _Files:
    """One NPY file per bag."""

    def __init__(self, path: Path, files: Sequence[Path]) -> None:
        self.path, self.files = path, files

    def shapes(self) -> list[tuple[int, ...]]:
        return [plain_shape(file) for file in self.files]

    def read(self, bag: int) -> Array:
        return load_plain(self.files[bag])

    def where(self, bag: int) -> str:
        return str(self.files[bag])


def _first(folders: Sequence[Path], names: Sequence[str]) -> Path | None:
    return next((f / name for f in folders for name in names if (f / name).is_dir()), None)


def _optional(file: Path) -> NDArray[Any] | None:
    return load_plain(file) if file.exists() else None


def _without_features(files: Sequence[Path], folder: Path | None, what: str) -> list[Problem]:
    """Files of a folder that belong to no bag."""
    bags = {file.name for file in files}
    names = [file.stem for file in _arrays(folder) if file.name not in bags] if folder else []
    message = f"with {what} in {folder}, but without features"
    return [Problem("warning", listed("bag", names), message, "no-file", learning=True)] * bool(
        names
    )


def _arrays(folder: Path) -> list[Path]:
    """The .npy files of a folder by name; hidden ones, as macOS writes them, are none."""
    return sorted(file for file in folder.glob("*.npy") if not is_hidden(file))


def _labels(
    folder: Path | None, files: Sequence[Path], columns: Columns
) -> list[str | None] | None:
    """One label from each file of a folder; an array of any shape that holds one value."""
    if folder is None:
        return None
    labels: list[str | None] = []
    for file in files:
        value = load_plain(folder / file.name)
        if value.size != 1:
            raise FoveateError(
                f"{folder / file.name} must hold one label, got an array of shape {value.shape}"
            )
        cell = value.reshape(-1).tolist()[0]
        labels.append(name_of(cell) if columns.is_label(cell) else None)
    return labels
