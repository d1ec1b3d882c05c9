"""Training, validation and test bags: groups undivided, classes in proportion; stored in a run."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from foveate.errors import FoveateError
from foveate.io.collection import Collection
from foveate.records.checksums import seal_json
from foveate.records.record import write_atomically
from foveate.userdata.fold_draw import draw_folds, linked_bags
from foveate.userdata.stored_rows import must_not_be_trained, read_rows

__all__ = [
    "METHOD", "PARTS", "Split", "held_out", "keep_split", "named_parts", "resumed_split",
    "split_bags", "stored_split", "trained_on",
]  # fmt: skip

SPLIT_FILE = "split.json"
OLD_METHOD = "scikit-learn"  # up to version 0.1.0; its draw depends on the installed version
METHOD = "sha256-1"  # named in split.json; a change of the draw is a new name
PARTS = ("train", "validation", "test")
FOLDS = 5  # one is the test part, one the validation part
NAMES = {
    "train": "train", "training": "train",
    "validation": "validation", "valid": "validation", "val": "validation", "dev": "validation",
    "test": "test", "testing": "test",
}  # fmt: skip


@dataclass(frozen=True)
class Split:
    """Rows of the bags of each part.

    Args:
        train: Rows of the training bags.
        validation: Rows of the validation bags.
        test: Rows of the test bags.
        how: How they were chosen, in words.
        method: Name of the code that drew them; another draw under the same name is a fault.
    """

    train: Tensor
    validation: Tensor
    test: Tensor
    how: str
    method: str = METHOD

    def rows(self, part: str) -> Tensor:
        """The rows of one of :data:`PARTS`."""
        rows: Tensor = getattr(self, part)
        return rows

    def as_rows(self) -> dict[str, list[int]]:
        """The rows of every part, as JSON holds them."""
        return {part: self.rows(part).tolist() for part in PARTS}


def split_bags(collection: Collection, seed: int = 0) -> Split:
    """The parts of labelled bags; a split that the data name wins over one that is drawn.

    Drawn parts hold 3/5, 1/5 and 1/5 of the bags; bags of one group are in one part, and so are
    copies of a bag; classes are kept in proportion as far as groups allow. Where the data name no
    validation part, a quarter of the training bags is drawn for it.

    Args:
        collection: Labelled bags.
        seed: Decides what is drawn.
    """
    if not collection.labelled:
        raise FoveateError(f"{collection.source} has no labels to learn from")
    if len(collection.classes) < 2:
        raise FoveateError(f"{collection.source} must have two classes, got {collection.classes}")
    named = named_parts(collection)
    if named is not None:
        split = _from_names(collection, named, seed)
    else:
        folds = _folds(collection, torch.arange(len(collection)), FOLDS, seed)
        rest = torch.cat(folds[2:]).sort().values
        by = "group and class" if collection.bag.group is not None else "class"
        split = Split(rest, folds[1], folds[0], f"drawn, by {by}")
    _must_hold(collection, split)
    return split


def named_parts(collection: Collection) -> NDArray[np.str_] | None:
    """The part of each bag that the data name, shape (n,); None if they name none."""
    if collection.split is None:
        return None
    for i, name in enumerate(collection.split):
        if name.strip().lower() not in NAMES:
            expected = f"one of train, validation, test; got '{name}'"
            raise FoveateError(
                f"{collection.source}: the split of bag {collection.ids[i]} is {expected}"
            )
    return np.array([NAMES[name.strip().lower()] for name in collection.split])


def keep_split(split: Split, ids: Sequence[str], folder: Path) -> None:
    """Write names and rows of the bags of each part into the folder of a run."""
    rows = split.as_rows()
    names = {part: [ids[i] for i in chosen] for part, chosen in rows.items()}
    content = {"how": split.how, "method": split.method, **names, "rows": rows}
    write_atomically(folder / SPLIT_FILE, seal_json(content, indent=1))


def stored_split(folder: Path, collection: Collection) -> Split | None:
    """The split in the folder of a run, checked against its bags; None if there is none.

    Args:
        folder: The run directory.
        collection: The bags that the run was fitted on.
    """
    path = folder / SPLIT_FILE
    return read_rows(path, partial(_parsed, path, collection))


def _parsed(path: Path, collection: Collection, content: dict[str, Any]) -> Split:
    rows = {part: [int(row) for row in content["rows"][part]] for part in PARTS}
    names = {part: [collection.ids[row] for row in rows[part]] for part in PARTS}
    every = sorted(row for part in rows.values() for row in part)
    if len(set(every)) != len(every) or any(row < 0 for row in every):
        raise FoveateError(f"{path} is damaged: a bag must be in one part only")
    if any(names[part] != content.get(part) for part in PARTS):
        raise FoveateError(f"{path} names other bags than {collection.source} has")
    train, validation, test = (torch.tensor(rows[part], dtype=torch.long) for part in PARTS)
    method = str(content.get("method", OLD_METHOD))
    return Split(train, validation, test, str(content.get("how", "")), method)


def resumed_split(folder: Path, collection: Collection, seed: int = 0) -> Split:
    """The split of a run that is resumed: the stored one, never another.

    Args:
        folder: The run directory.
        collection: The bags that the run was fitted on.
        seed: Seed of the draw.
    """
    stored = stored_split(folder, collection)
    if stored is None:
        must_not_be_trained(folder / SPLIT_FILE)
        return split_bags(collection, seed)
    if stored.method == METHOD and stored.as_rows() != split_bags(collection, seed).as_rows():
        raise FoveateError(
            f"{folder / SPLIT_FILE} differs from the split that seed {seed} draws, so test bags "
            "may have been trained on: restore the file or start a new run"
        )
    return stored


def held_out(collection: Collection, folder: Path) -> Collection:
    """The test bags of a run, from the bags that it was fitted on.

    By their rows: bags of different parts may have one name.
    """
    return collection.take(_required_split(collection, folder).test)


def trained_on(collection: Collection, folder: Path) -> Collection:
    """The training and validation bags of a run, from the bags that it was fitted on."""
    split = _required_split(collection, folder)
    return collection.take(torch.cat([split.train, split.validation]))


def _required_split(collection: Collection, folder: Path) -> Split:
    stored = stored_split(folder, collection)
    if stored is None:
        raise FoveateError(f"there is no file {folder / SPLIT_FILE}")
    return stored


def _from_names(collection: Collection, names: NDArray[np.str_], seed: int) -> Split:
    train, validation, test = (torch.from_numpy(np.flatnonzero(names == part)) for part in PARTS)
    how = "as the data say"
    if not len(test):
        raise FoveateError(f"{collection.source}: the split names no test bags")
    if not len(train):
        raise FoveateError(f"{collection.source}: the split names no training bags")
    if not len(validation):
        folds = _folds(collection, train, FOLDS - 1, seed)
        train, validation = torch.cat(folds[1:]).sort().values, folds[0]
        how = "test part as the data say, validation part drawn"
    return Split(train, validation, test, how)


def _folds(collection: Collection, rows: Tensor, folds: int, seed: int) -> list[Tensor]:
    """Rows in folds of similar size and class shares, groups undivided."""
    y = collection.bag.y[rows].numpy()
    units = linked_bags(collection)[rows.numpy()]
    counts = np.bincount(y, minlength=len(collection.classes))
    if counts.min() < folds:
        few = collection.classes[int(counts.argmin())]
        raise FoveateError(
            f"{collection.source}: every class needs {folds} bags to be split, class '{few}' has "
            f"{counts.min()}: add bags, or use --folds 2"
        )
    if len(np.unique(units)) < folds:
        raise FoveateError(
            f"{collection.source}: {folds} groups are needed to split by group, copies of a bag in "
            f"one, got {len(np.unique(units))}: use another --group column, or --folds 2"
        )
    fold = draw_folds(y, units, folds, seed)
    return [rows[torch.from_numpy(np.flatnonzero(fold == k))] for k in range(folds)]


def _must_hold(collection: Collection, split: Split) -> None:
    for part in PARTS:
        seen = set(collection.bag.y[split.rows(part)].tolist())
        lacking = [name for c, name in enumerate(collection.classes) if c not in seen]
        if part == "train" and lacking:
            raise FoveateError(
                f"{collection.source}: no training bag has the class '{lacking[0]}' ({split.how})"
            )
        if not seen:
            raise FoveateError(f"{collection.source}: the {part} part has no bags ({split.how})")
