"""Training, validation and test parts of bags: by group, with classes kept in proportion."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from foveate.errors import FoveateError
from foveate.io.collection import Collection
from foveate.io.view import View, content
from foveate.records.record import write_atomically

__all__ = ["PARTS", "Split", "held_out", "keep_split", "split_bags"]

KEPT = "split.json"

PARTS = ("train", "validation", "test")
FOLDS = 5  # one is the test part, one the validation part
NAMES = {
    "train": "train", "training": "train",
    "validation": "validation", "valid": "validation", "val": "validation", "dev": "validation",
    "test": "test", "testing": "test",
}  # fmt: skip


@dataclass(frozen=True)
class Split:
    """Rows of the bags of each part, and how they were found."""

    train: Tensor
    validation: Tensor
    test: Tensor
    how: str

    def rows(self, part: str) -> Tensor:
        """The rows of one of :data:`PARTS`."""
        found: Tensor = getattr(self, part)
        return found


def keep_split(split: Split, ids: Sequence[str], folder: Path) -> None:
    """Write names and rows of the bags of each part into the folder of a run."""
    rows = {part: split.rows(part).tolist() for part in PARTS}
    names = {part: [ids[i] for i in own] for part, own in rows.items()}
    text = json.dumps({"how": split.how, **names, "rows": rows}, ensure_ascii=False, indent=1)
    write_atomically(folder / KEPT, lambda file: file.write(text.encode()))


def held_out(collection: Collection, folder: Path) -> Collection:
    """The test bags of a run, from the bags that it was fitted on.

    By their rows: bags of different parts may have one name.
    """
    return collection.take(json.loads((folder / KEPT).read_text("utf-8"))["rows"]["test"])


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
    named = _named(collection)
    if named is not None:
        split = _from_names(collection, named, seed)
    else:
        folds = _folds(collection, torch.arange(len(collection)), FOLDS, seed)
        rest = torch.cat(folds[2:]).sort().values
        by = "group and class" if collection.bag.group is not None else "class"
        split = Split(rest, folds[1], folds[0], f"drawn, by {by}")
    _must_hold(collection, split)
    return split


def _named(collection: Collection) -> NDArray[np.str_] | None:
    if collection.split is None:
        return None
    for i, name in enumerate(collection.split):
        if name.strip().lower() not in NAMES:
            told = f"one of train, validation, test; got '{name}'"
            raise FoveateError(
                f"{collection.source}: the split of bag {collection.ids[i]} is {told}"
            )
    return np.array([NAMES[name.strip().lower()] for name in collection.split])


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
    """Rows in folds of like size and classes, groups whole."""
    from sklearn.model_selection import StratifiedGroupKFold

    y = collection.bag.y[rows].numpy()
    groups = _kept_together(collection)[rows.numpy()]
    counts = np.bincount(y, minlength=len(collection.classes))
    if counts.min() < folds:
        few = collection.classes[int(counts.argmin())]
        raise FoveateError(
            f"{collection.source}: every class needs {folds} bags to be split, class '{few}' has "
            f"{counts.min()}"
        )
    if len(np.unique(groups)) < folds:
        raise FoveateError(
            f"{collection.source}: {folds} groups are needed to split by group, copies of a bag in "
            f"one, got {len(np.unique(groups))}"
        )
    cut = StratifiedGroupKFold(folds, shuffle=True, random_state=seed).split(y, y, groups)
    return [rows[torch.from_numpy(np.sort(held))] for _, held in cut]


def _kept_together(collection: Collection) -> NDArray[np.int64]:
    """Which bags must not be parted, (n,): those of a group, copies, and what these link."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    group, n = collection.bag.group, len(collection)
    links = [np.unique(content(View(collection)), return_inverse=True)[1]]
    links += [] if group is None else [np.unique(group.numpy(), return_inverse=True)[1]]
    ends = np.concatenate([n + k * n + link for k, link in enumerate(links)])  # one node a value
    size = n * (1 + len(links))
    bags = np.tile(np.arange(n), len(links))
    graph = coo_array((np.ones(len(ends)), (bags, ends)), shape=(size, size))
    found: NDArray[np.int64] = connected_components(graph, directed=False)[1][:n].astype(np.int64)
    return found


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
