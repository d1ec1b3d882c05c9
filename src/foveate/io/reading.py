"""A user's files as bags; the layout is recognised from the path."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from foveate.errors import FoveateError
from foveate.io import hdf5
from foveate.io import tiles as images
from foveate.io.collection import Collection
from foveate.io.columnar import is_table
from foveate.io.columns import Columns
from foveate.io.eraser import is_eraser, read_eraser
from foveate.io.folders import feature_folder, read_folders
from foveate.io.label_merging import merge_labels as merged
from foveate.io.npz import read_npz_bags
from foveate.io.streamed_tables import read_large_tables
from foveate.io.tables import read_tables
from foveate.types import PartProgress

__all__ = ["read_bags"]

KNOWN = (
    "a table (CSV, TSV, JSON lines, Parquet), NPZ, a folder of .npy or HDF5 files, texts with "
    "rationales (docs/ and .jsonl), or a folder of images"
)


def read_bags(
    path: Path | str,
    *,
    bag: str = "bag",
    label: str = "label",
    labels: Sequence[str] = (),
    segment: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    text: str | None = None,
    relevance: str | None = None,
    group: str | None = None,
    places: Sequence[str] = (),
    tiles: int | None = None,
    split: str | None = None,
    weight: str | None = None,
    tokens: bool | None = None,
    columns: Sequence[str] = (),
    header: bool = True,
    missing: Literal["impute", "refuse"] = "impute",
    merge_labels: bool = False,
    force: Sequence[str] = (),
    features: Sequence[str] = (),
    classes: Sequence[str] | None = None,
    labelled: bool | None = None,
    report: PartProgress | None = None,
) -> Collection:
    r"""A user's bags, in any layout that docs/guide/own-data.md describes.

    Args:
        path: A file or a folder.
        bag: Column that names the bag of a row.
        label: Column of labels.
        labels: Columns of multi-label bags in a table: 0 or 1 in each, or one column of lists.
        segment: Columns that make a segment; all others that hold numbers unless given.
        ignore: Columns of a table that are not read, whatever they are called.
        text: Column of texts.
        relevance: Column of relevance; an empty cell means unknown for its bag.
        group: Column of groups.
        places: Columns of coordinates.
        tiles: Pixels a side of the tiles that images are cut into.
        split: Column of splits.
        weight: Column with the weight of each bag in training, of a table.
        tokens: Cut texts into words, or not; as the table is laid out unless given.
        columns: Names of the first columns of a CSV file without a line of names.
        header: Whether line 1 of a CSV file names the columns; without it they are c1, c2, ….
        missing: "impute" keeps missing numbers as NaN, "refuse" makes them an error.
        merge_labels: Merge labels that differ only by case, Unicode form or spaces.
        force: Names of errors of :func:`foveate.io.check.problems` that are accepted.
        features: Columns that must be features whatever they hold, those of a trained model.
        classes: The classes there may be, in order, such as those of a trained model.
        labelled: True: bags without a label are left out; False: labels are not read; None: bags
            are read with the labels there are.
        report: Called with the name of a part, the amount done, and the total.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder) / "bags.csv"
        ...     _ = path.write_text("bag,label,size\na,sick,1\na,sick,4\nb,well,2\n")
        ...     bags = read_bags(path)
        >>> bags.classes, bags.columns, bags.bag.y.tolist()
        (('sick', 'well'), ('size',), [0, 1])
    """
    options: dict[str, Any] = {
        "bag": bag,
        "label": label,
        "labels": labels,
        "segment": segment,
        "ignore": ignore,
        "text": text,
        "relevance": relevance,
        "group": group,
        "places": places,
        "tiles": tiles,
        "split": split,
        "weight": weight,
        "tokens": tokens,
        "columns": columns,
        "header": header,
        "missing": missing,
        "merge_labels": merge_labels,
        "classes": classes,
        "force": force,
    }
    flags, path = Columns(**options), Path(path)
    try:
        if not path.exists():
            raise FoveateError(f"there is nothing at {path}")
    except OSError as error:
        raise FoveateError(f"{str(path)[:80]}… cannot be opened: {error.strerror}") from None
    read = _of_folder if path.is_dir() else _of_file
    for_tables = {"--labels": flags.labels, "--weight": flags.weight, "--ignore": flags.ignore}
    flag = next((flag for flag, value in for_tables.items() if value), None)
    if flag is not None and not _is_of_tables(path):
        raise FoveateError(f"{flag} is for tables, and {path} is none")
    bags = read(path, flags, None if merge_labels else classes, labelled, report, features)
    bags = replace(merged(bags, classes) if merge_labels else bags, accepted=flags.force)
    return bags.with_labels_only() if labelled else bags


def _is_of_tables(path: Path) -> bool:
    if path.is_dir():
        return any(is_table(file) for file in path.iterdir() if file.is_file())
    return is_table(path)


def _of_file(
    path: Path,
    columns: Columns,
    classes: Sequence[str] | None,
    labelled: bool | None,
    report: PartProgress | None,
    features: Sequence[str],
) -> Collection:
    suffix = path.suffix.lower()
    if suffix == ".npz":
        return read_npz_bags(path, columns, classes, labelled)
    if suffix in hdf5.SUFFIXES:
        return hdf5.read_hdf5(path, columns, classes, labelled, report)
    if suffix in images.SUFFIXES:
        return images.read_tiles(path, columns, classes, labelled, report)
    if is_table(path):
        if columns.header_line.present and is_eraser(path):
            return read_eraser(path, columns, classes, labelled, report)
        return _tables(path, columns, classes, labelled, report, features)
    raise FoveateError(f"{path} is none of what is read: {KNOWN}")


def _of_folder(
    path: Path,
    columns: Columns,
    classes: Sequence[str] | None,
    labelled: bool | None,
    report: PartProgress | None,
    features: Sequence[str],
) -> Collection:
    if feature_folder(path) is not None:
        return read_folders(path, columns, classes, labelled, report)
    if hdf5.hdf5_files(path):
        return hdf5.read_hdf5(path, columns, classes, labelled, report)
    if is_eraser(path):
        return read_eraser(path, columns, classes, labelled, report)
    if images.image_files(path):
        return images.read_tiles(path, columns, classes, labelled, report)
    if any(is_table(file) for file in path.iterdir() if file.is_file()):
        return _tables(path, columns, classes, labelled, report, features)
    raise FoveateError(f"{path} holds none of what is read: {KNOWN}")


def _tables(path: Path, columns: Columns, *rest: Any) -> Collection:
    """The bags of tables, in memory unless they are Parquet files that do not fit into it."""
    large = read_large_tables(path, columns, *rest)
    return read_tables(path, columns, *rest) if large is None else large
