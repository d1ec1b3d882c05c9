"""What bags must have so that folds can be drawn; each error says what to do."""

from collections.abc import Iterator, Sequence

import numpy as np

from foveate.errors import FoveateError
from foveate.io.collection import Collection
from foveate.types import Array

__all__ = ["must_have_labels", "must_hold_every_class", "must_suffice"]


def must_have_labels(collection: Collection) -> None:
    """Raise unless the bags have labels of two classes at least that can be learnt."""
    source, y = collection.source, collection.bag.y.numpy()
    if not collection.labelled:
        raise FoveateError(f"{source} has no labels to learn from: name their column with --label")
    present = np.unique(y)
    if len(present) < 2:
        only = collection.classes[present[0]] if len(present) else "none"
        raise FoveateError(
            f"{source} must have bags of two classes, all bags are '{only}': add bags of another "
            "class, or name another column with --label"
        )
    if _are_measurements(collection.classes):
        raise FoveateError(
            f"{source}: labels must be classes, got numbers such as {collection.classes[0]}: "
            "ordinal, regression and survival targets are not fitted; cut the target into classes"
        )
    if len(present) == len(y):
        raise FoveateError(
            f"{source}: every bag has a label of its own, so nothing can be learnt: is --label "
            "the name of another column?"
        )


def must_suffice(
    collection: Collection, units: Array, folds: int, *, test_part: bool = False
) -> None:
    """Raise unless there are bags of every class, and groups of them, for every fold.

    Args:
        collection: Labelled bags.
        units: Number of the group each bag must stay in, shape (n,).
        folds: Number of folds.
        test_part: Whether they are drawn so that one of them is the test part.
    """
    y, classes = collection.bag.y.numpy(), len(collection.classes)
    counts = np.bincount(y, minlength=classes)
    of_class = np.array([len(np.unique(units[y == c])) for c in range(classes)])
    groups = len(np.unique(units))
    alone = of_class.sum() == groups  # every group has one label
    for c in np.flatnonzero(of_class < 2):
        if counts[c] > 1:
            raise FoveateError(
                f"{collection.source}: all bags of class '{collection.classes[c]}' are in one "
                "group, so no fold can both learn and test it: use another --group column, or none"
            )
    most = min(len(y), counts.min(), groups, *(of_class if alone else ()))
    for shortage in _shortages(collection, folds, counts, groups, of_class if alone else None):
        needs = f"{folds} folds need"
        remedy = f"choose at most {most} with --folds"
        if most < 2:
            remedy = "at least 2 folds are needed, so add bags, or name other columns"
        if test_part:
            needs, remedy = f"a test part in steps of 1/{folds} needs", "choose a larger share"
            remedy += " with --test-share, or none"
        raise FoveateError(f"{collection.source}: {needs} {shortage}: {remedy}")


def must_hold_every_class(collection: Collection, fold: int) -> None:
    """Raise unless the bags that are trained on without a fold have every class."""
    y = collection.bag.y.numpy()
    missing = np.flatnonzero(np.bincount(y, minlength=len(collection.classes)) == 0)
    if len(missing):
        raise FoveateError(
            f"{collection.source}: without fold {fold + 1} no bag has the class "
            f"'{collection.classes[missing[0]]}': choose other groups, or fewer --folds"
        )


def _are_measurements(classes: Sequence[str]) -> bool:
    """Whether names of classes are numbers with decimals."""
    try:
        values = [float(name) for name in classes]
    except ValueError:
        return False
    return len(values) > 2 and any(not value.is_integer() for value in values)


def _shortages(
    collection: Collection, folds: int, counts: Array, groups: int, of_class: Array | None
) -> Iterator[str]:
    """What is too little for some folds: bags, bags of a class, groups, groups of a class.

    Args:
        collection: Labelled bags.
        folds: Number of folds.
        counts: Bags of each class, shape (C,).
        groups: Number of groups.
        of_class: Groups of each class, shape (C,), where every group has one label.
    """
    if counts.sum() < folds:
        yield f"as many bags, got {counts.sum()}"
    rare = int(counts.argmin())
    if counts[rare] < folds:
        name = collection.classes[rare]
        yield f"{folds} bags of every class, class '{name}' has {counts[rare]}"
    if of_class is not None and of_class.min() < folds:
        few = int(of_class.argmin())
        name = collection.classes[few]
        yield (
            f"{folds} groups of every class, every group has one label, and {of_class[few]} groups "
            f"have the class '{name}'"
        )
    if groups < folds:
        yield f"as many groups (copies of a bag count as one), got {groups}"
