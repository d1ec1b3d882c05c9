"""Folds for cross-fitting: stratified, groups undivided, with inner validation bags; stored."""

import json
from dataclasses import dataclass, replace
from fractions import Fraction
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
from foveate.types import Array
from foveate.userdata.fold_checks import must_have_labels, must_hold_every_class, must_suffice
from foveate.userdata.fold_draw import draw_folds, linked_bags
from foveate.userdata.settings import FitSettings
from foveate.userdata.split import named_parts
from foveate.userdata.stored_rows import must_not_be_trained, read_rows

__all__ = [
    "FEWEST_INNER", "FOLDS_FILE", "METHOD", "SHARED", "Folds", "draw_cross_fit", "load_folds",
    "resumed_folds", "save_folds",
]  # fmt: skip

FOLDS_FILE = "folds.json"
METHOD = "sha256-folds-1"  # name of the draw; another draw under the same name is a fault
SHARED = "shared"  # folds that another run drew, such as those of all labels of multi-label bags
INNER = 5  # parts of a fold's training bags, of which each member has one for early stopping
FEWEST_INNER = 3  # bags of every class that early stopping needs


@dataclass(frozen=True)
class Folds:
    """The bags that models are fitted on, in folds, and test bags that stay apart.

    Args:
        rows: Rows of the development bags, shape (n,).
        fold: Fold number of each development bag, one row per repeat, shape (R, n).
        inner: Inner fold number of each development bag among the training bags of each repeat
            and fold, shape (R, K, n); −1 for the fold's held-out bags.
        test: Rows of the test bags; empty if there is no test part.
        how: How they were chosen, in words.
        method: Name of the code that drew them; empty in files of older versions.
    """

    rows: NDArray[np.int64]
    fold: NDArray[np.int64]
    inner: NDArray[np.int64]
    test: NDArray[np.int64]
    how: str
    method: str = METHOD

    def equals(self, other: "Folds") -> bool:
        """Whether the same bags are used for the same things."""
        names = ("rows", "fold", "inner", "test")
        return all(np.array_equal(getattr(self, n), getattr(other, n)) for n in names)

    @property
    def parts(self) -> list[tuple[int, int]]:
        """Every pair of repeat and fold."""
        repeats, folds, _ = self.inner.shape
        return [(r, k) for r in range(repeats) for k in range(folds)]

    def training(self, repeat: int, fold: int) -> NDArray[np.int64]:
        """Positions among the development bags that a fold's models are trained on."""
        return np.flatnonzero(self.fold[repeat] != fold)

    def held_out(self, repeat: int, fold: int) -> NDArray[np.int64]:
        """Positions among the development bags that a fold holds out."""
        return np.flatnonzero(self.fold[repeat] == fold)

    def validation(
        self, repeat: int, fold: int, y: NDArray[np.int64], members: int
    ) -> list[Tensor] | None:
        """For each member positions among a fold's training bags for early stopping.

        Members take the inner folds in turn, so that together they are trained on all bags.

        Args:
            repeat: The repeat.
            fold: The fold.
            y: Labels of the development bags, shape (n,).
            members: Number of members.

        Returns:
            One tensor per member; None if a class has too few bags in some inner fold.
        """
        training = self.training(repeat, fold)
        inner = self.inner[repeat, fold, training]
        parts = int(inner.max()) + 1
        chosen = [np.flatnonzero(inner == part) for part in range(parts)]
        classes = int(y.max()) + 1
        counts = [np.bincount(y[training][rows], minlength=classes).min() for rows in chosen]
        if not counts or min(counts) < FEWEST_INNER:
            return None
        return [torch.from_numpy(chosen[member % parts]) for member in range(members)]


def draw_cross_fit(collection: Collection, settings: FitSettings) -> Folds:
    """Draw folds for labelled bags; a test part that the data name stays apart.

    Args:
        collection: Labelled bags.
        settings: Number of folds and repeats, share of test bags, seed.
    """
    for target in _targets(collection):
        must_have_labels(target)
    units, y = linked_bags(collection), _strata(collection)
    rows, test, how = _test_part(collection, settings, units, y)
    for target in _targets(collection.take(rows)):
        must_suffice(target, units[rows], settings.folds)
    seed, repeats = settings.split_seed, range(settings.repeats)
    fold = np.stack([draw_folds(y[rows], units[rows], settings.folds, seed, r) for r in repeats])
    inner = np.full((len(fold), settings.folds, len(rows)), -1, dtype=np.int64)
    for r in repeats:
        for k in range(settings.folds):
            in_training = fold[r] != k
            for target in _targets(collection.take(rows[in_training])):
                must_hold_every_class(target, k)
            parts = min(INNER, len(np.unique(units[rows][in_training])))
            if parts > 1:
                drawn = draw_folds(
                    y[rows][in_training], units[rows][in_training], parts, seed, 1000 + r
                )
                inner[r, k, in_training] = drawn
    return Folds(rows, fold, inner, test, how)


def save_folds(folds: Folds, folder: Path, ids: tuple[str, ...]) -> None:
    """Write the folds, and the names of their bags, into the folder of a run."""
    content: dict[str, Any] = {
        "how": folds.how,
        "method": folds.method,
        "bags": [ids[row] for row in folds.rows],
        "test": [ids[row] for row in folds.test],
        "rows": folds.rows.tolist(),
        "test_rows": folds.test.tolist(),
        "folds": folds.fold.tolist(),
        "inner": folds.inner.tolist(),
    }
    text = seal_json(content)
    write_atomically(folder / FOLDS_FILE, lambda file: file.write(text))


def load_folds(folder: Path) -> Folds | None:
    """Read what :func:`save_folds` wrote; None if there is no such file."""
    return read_rows(folder / FOLDS_FILE, _parsed)


def _parsed(content: dict[str, Any]) -> Folds:
    names = ("rows", "folds", "inner", "test_rows")
    rows, fold, inner, test = (np.array(content[name], dtype=np.int64) for name in names)
    return Folds(rows, fold, inner, test, str(content["how"]), str(content.get("method", "")))


def resumed_folds(folder: Path, collection: Collection, settings: FitSettings) -> Folds:
    """The folds of a run that is resumed: the stored ones, never others.

    Args:
        folder: The run directory.
        collection: The bags that the run was fitted on.
        settings: Those of the run.
    """
    stored = load_folds(folder)
    if stored is not None and stored.method == SHARED:
        _must_name_bags_of(folder / FOLDS_FILE, collection)
        return stored
    path = folder / FOLDS_FILE
    if stored is None:
        must_not_be_trained(path)
        return draw_cross_fit(collection, settings)
    _must_name_bags_of(path, collection)
    if stored.method == METHOD and not stored.equals(draw_cross_fit(collection, settings)):
        raise FoveateError(
            f"{path} differs from the folds that seed {settings.split_seed} draws, so held-out "
            "bags may have been trained on: restore the file or start a new run"
        )
    return stored


def _targets(collection: Collection) -> list[Collection]:
    """The bags by their class, or by each of their labels."""
    if not collection.multi_label:
        return [collection]
    named = [(name, collection.of_label(name)) for name in collection.label_names]
    return [
        replace(label_collection, source=f"{label_collection.source}, label '{name}'")
        for name, label_collection in named
    ]


def _strata(collection: Collection) -> NDArray[np.int64]:
    """The class of each bag, shape (n,), or its labels, shape (n, L)."""
    if collection.multi_label and collection.labels is not None:
        return collection.labels.numpy().astype(np.int64)
    return collection.bag.y.numpy()


def _test_part(
    collection: Collection, settings: FitSettings, units: Array, y: Array
) -> tuple[NDArray[np.int64], NDArray[np.int64], str]:
    """Development rows, test rows, and how they were chosen."""
    every = np.arange(len(collection))
    by = "group and class" if collection.bag.group is not None else "class"
    how = f"{settings.folds} folds, drawn by {by}"
    named = named_parts(collection)
    if named is not None:
        test = named == "test"
        if not test.any() or test.all():
            missing = "no test bags" if not test.any() else "no training bags"
            raise FoveateError(f"{collection.source}: the split names {missing}")
        return every[~test], every[test], f"test part as the data say; {how} of the others"
    if settings.test_share == 0:
        return every, every[:0], how
    finest = max(10, round(1 / settings.test_share))
    tested, parts = Fraction(settings.test_share).limit_denominator(finest).as_integer_ratio()
    for target in _targets(collection):
        must_suffice(target, units, parts, test_part=True)
    test = draw_folds(y, units, parts, settings.split_seed, 2000) < tested
    how = f"a test part of {tested} in {parts} bags; {how} of the others"
    return every[~test], every[test], how


def _must_name_bags_of(path: Path, collection: Collection) -> None:
    """Raise unless the bags in a file of folds are those of the collection."""
    content, ids = json.loads(path.read_text("utf-8")), collection.ids
    for rows, names in (("rows", "bags"), ("test_rows", "test")):
        if len(content[rows]) != len(content[names]):
            raise FoveateError(f"{path} is damaged: it has {len(content[rows])} {rows} but "
                               f"{len(content[names])} {names}")  # fmt: skip
        for row, name in zip(content[rows], content[names], strict=True):
            if not 0 <= row < len(ids) or ids[row] != name:
                raise FoveateError(f"{path} names other bags than {collection.source} has")
