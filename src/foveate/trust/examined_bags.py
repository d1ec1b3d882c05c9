"""The bags of an examination and what was declared of them: checks, and at most so many."""

from collections.abc import Mapping, Sequence

import torch

from foveate.bags.bag import Bag
from foveate.errors import FoveateError
from foveate.randomness import generator
from foveate.trust.kinds import KIND_NAMES
from foveate.types import Array

__all__ = ["CELLS", "bounded", "chosen_kinds", "must_fit"]

CELLS = 2**24  # probabilities of segments held for a member: beyond, some of the bags are examined


def chosen_kinds(
    evidence: str | Mapping[str, str] | None, classes: Sequence[str]
) -> Mapping[str, str]:
    """The kind of evidence that is meant, by class.

    Args:
        evidence: "A" or "B" for all classes, or by class.
        classes: Names of the classes.

    Example:
        >>> chosen_kinds("A", ("no", "yes"))
        {'no': 'A', 'yes': 'A'}
    """
    chosen = dict.fromkeys(classes, evidence) if isinstance(evidence, str) else evidence or {}
    for kind in chosen.values():
        if kind not in KIND_NAMES:
            raise FoveateError(f"evidence must be the kind A or B, got '{kind}'")
    return chosen


def must_fit(
    bags: Sequence[Bag],
    members: int,
    classes: Sequence[str],
    named: Sequence[str],
) -> None:
    """Refuse bags that do not fit the models or the classes, and classes that do not exist.

    Args:
        bags: One set for all members, or one each.
        members: How many models there are.
        classes: Names of the classes.
        named: Classes that were named in what was declared.
    """
    if len(bags) not in (1, members):
        raise FoveateError(f"{members} models need one set of bags, or one each; got {len(bags)}")
    for word in named:
        if word not in classes:
            raise FoveateError(f"there is no class '{word}'; there are {', '.join(classes)}")
    top = max(int(bag.y.max()) for bag in bags)
    if top >= len(classes):
        raise FoveateError(f"labels must be below the number of classes {len(classes)}, got {top}")


def bounded(bags: list[Bag], classes: int) -> tuple[list[Bag], Array | None]:
    """At most so many bags that what is held of their segments stays bounded, drawn at random.

    Args:
        bags: One set for all members, or one each.
        classes: How many classes there are.

    Returns:
        The bags, and the rows that were drawn, None for all.
    """
    if all(bag is bags[0] for bag in bags):  # the same bags twice would be in and out of a fold
        bags = bags[:1]
    n, m = bags[0].shape
    most = max(1, CELLS // (m * classes))
    if n <= most:
        return bags, None
    rows = torch.randperm(n, generator=generator("trust", "bags"))[:most].sort().values
    return [bag.take(rows) for bag in bags], rows.numpy()
