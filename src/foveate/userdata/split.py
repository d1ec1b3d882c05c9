"""Training, validation and test bags: groups undivided, classes in proportion."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from foveate.errors import FoveateError
from foveate.io.collection import Collection
from foveate.io.view import View, content
from foveate.randomness import stable_permutation
from foveate.records.checksums import seal_json, verify_json
from foveate.records.record import write_atomically
from foveate.types import Array

__all__ = [
    "PARTS",
    "Split",
    "draw_folds",
    "held_out",
    "keep_split",
    "linked_bags",
    "named_parts",
    "resumed_split",
    "split_bags",
    "stored_split",
    "trained_on",
]

SPLIT_FILE = "split.json"
STREAM = "split of bags"
METHOD = "sha256-1"  # named in split.json; a change of the draw is a new name
OLD_METHOD = "scikit-learn"  # up to version 0.1.0; its draw depends on the installed version

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
    try:
        content = verify_json(path, json.loads(path.read_text("utf-8")))
        rows = {part: [int(row) for row in content["rows"][part]] for part in PARTS}
        names = {part: [collection.ids[row] for row in rows[part]] for part in PARTS}
    except FileNotFoundError:
        return None
    except FoveateError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise FoveateError(f"{path} is damaged: {type(error).__name__} {error}") from None
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
        begun = [*folder.glob("*/record.npz"), *folder.glob("*/checkpoint.*")]
        if begun:
            raise FoveateError(
                f"{folder / SPLIT_FILE} is missing although {begun[0].parent.name} is trained: "
                "which bags it was trained on is unknown, so start a new run"
            )
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
    stored = stored_split(folder, collection)
    if stored is None:
        raise FoveateError(f"there is no file {folder / SPLIT_FILE}")
    return collection.take(stored.test)


def trained_on(collection: Collection, folder: Path) -> Collection:
    """The training and validation bags of a run, from the bags that it was fitted on."""
    stored = stored_split(folder, collection)
    if stored is None:
        raise FoveateError(f"there is no file {folder / SPLIT_FILE}")
    return collection.take(torch.cat([stored.train, stored.validation]))


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
            f"{counts.min()}"
        )
    if len(np.unique(units)) < folds:
        raise FoveateError(
            f"{collection.source}: {folds} groups are needed to split by group, copies of a bag in "
            f"one, got {len(np.unique(units))}"
        )
    fold = draw_folds(y, units, folds, seed)
    return [rows[torch.from_numpy(np.flatnonzero(fold == k))] for k in range(folds)]


def draw_folds(
    labels: Sequence[int] | Sequence[Sequence[int]] | Array,
    groups: Sequence[int] | Array | None,
    folds: int,
    seed: int,
    repeat: int = 0,
) -> NDArray[np.int64]:
    r"""Fold number 0 … folds−1 of every bag, shape (n,); the same under every library version.

    Groups are assigned one by one, large ones first and otherwise in an order drawn by SHA-256,
    each to the fold where :math:`\sum_c n_{fc}^2 / n_c` grows least, among equals to the smaller
    fold. Without groups the counts of each class, and the sizes, differ by at most 1 over folds.

    Args:
        labels: Class number of each bag, shape (n,); of multi-label bags 0 or 1 for each label,
            shape (n, L), which makes c in the sum a label with its value.
        groups: Group number of each bag, shape (n,), never divided between folds; None if each
            bag is its own group.
        folds: Number of folds, at least 2.
        seed: Decides the draw.
        repeat: Number of the repetition, for repeated cross-validation.

    Example:
        >>> draw_folds([0, 0, 0, 0, 1, 1, 1, 1], None, 2, seed=0).tolist()
        [1, 0, 0, 1, 1, 0, 0, 1]
    """
    y = [_values(label) for label in labels]
    units = _members(range(len(y)) if groups is None else groups)
    if folds < 2 or len(units) < folds:
        raise FoveateError(
            f"folds must be between 2 and the number of groups, {len(units)}; got {folds}"
        )
    totals = Counter(c for label_counts in y for c in label_counts)
    counts: list[Counter[int]] = [Counter() for _ in range(folds)]
    sizes = [0] * folds
    rank = stable_permutation(folds, STREAM, seed, repeat, "folds")
    fold = np.empty(len(y), np.int64)
    for members in _in_drawn_order(units, y, seed, repeat):
        label_counts = sorted(Counter(c for i in members for c in y[i]).items())
        growth = [
            fsum(k * (2 * counts[f][c] + k) / totals[c] for c, k in label_counts)
            for f in range(folds)
        ]
        best = min(range(folds), key=lambda f: (growth[f], sizes[f], rank[f]))
        counts[best].update(dict(label_counts))
        sizes[best] += len(members)
        fold[members] = best
    return fold


def _members(groups: Sequence[int] | Array | range) -> list[list[int]]:
    """Bags of each group, groups in order of first occurrence."""
    members: dict[int, list[int]] = {}
    for i, group in enumerate(groups):
        members.setdefault(int(group), []).append(i)
    return list(members.values())


def _values(label: int | Sequence[int] | Array) -> tuple[int, ...]:
    """The class of a bag, or a number for the value of each of its labels."""
    labels = np.asarray(label)
    if labels.ndim == 0:
        return (int(labels),)
    return tuple((2 * np.arange(len(labels)) + labels).tolist())


def _in_drawn_order(
    units: list[list[int]], y: Sequence[tuple[int, ...]], seed: int, repeat: int
) -> list[list[int]]:
    """Groups by size in powers of two, single bags by class, otherwise in drawn order."""
    drawn = [units[i] for i in stable_permutation(len(units), STREAM, seed, repeat, "groups")]
    return sorted(
        drawn, key=lambda unit: (-len(unit).bit_length(), y[unit[0]] if len(unit) == 1 else (-1,))
    )


def linked_bags(collection: Collection) -> NDArray[np.int64]:
    """Number of the set each bag must stay in, (n,): its group, its copies, and their links."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    group, n = collection.bag.group, len(collection)
    links = [np.unique(content(View(collection)), return_inverse=True)[1]]
    links += [] if group is None else [np.unique(group.numpy(), return_inverse=True)[1]]
    ends = np.concatenate([n + k * n + link for k, link in enumerate(links)])  # one node a value
    size = n * (1 + len(links))
    bags = np.tile(np.arange(n), len(links))
    graph = coo_array((np.ones(len(ends)), (bags, ends)), shape=(size, size))
    component: NDArray[np.int64] = connected_components(graph, directed=False)[1][:n]
    return component.astype(np.int64)


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
