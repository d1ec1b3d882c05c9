"""Labels that differ only by case, Unicode form or spaces, and how they are merged."""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import torch

from foveate.errors import FoveateError
from foveate.io.collection import Collection, class_order

__all__ = ["merge_labels", "similar_labels", "spelling_key"]

NUMBER = re.compile(r"[+-]?\d{1,15}(\.\d*)?")


def spelling_key(label: str) -> str:
    r"""A text that is the same for labels that differ by case, Unicode form or spaces only.

    Numbers are the same if their values are, as 1 and 1.0.

    Example:
        >>> len({spelling_key(label) for label in ("Yes", "yes ", "y\u200bes", "YES")})
        1
    """
    composed = unicodedata.normalize("NFKC", label)
    invisible = (
        () if composed.isascii() else {c for c in composed if unicodedata.category(c) == "Cf"}
    )
    visible = "".join(c for c in composed if c not in invisible).strip()
    if NUMBER.fullmatch(visible):
        return repr(float(visible))
    return unicodedata.normalize("NFC", " ".join(visible.split()).casefold())


def similar_labels(labels: Sequence[str]) -> list[list[str]]:
    """Sets of labels that differ by spelling only.

    Example:
        >>> similar_labels(["no", "Yes", "yes"])
        [['Yes', 'yes']]
    """
    by_key: dict[str, list[str]] = {}
    for label in labels:
        by_key.setdefault(spelling_key(label), []).append(label)
    return [spellings for spellings in by_key.values() if len(spellings) > 1]


def merge_labels(collection: Collection, classes: Sequence[str] | None = None) -> Collection:
    """A collection whose labels of similar spelling are one class, named as most bags name it.

    Args:
        collection: Labelled bags; others are returned as they are.
        classes: The classes of a trained model, which every label must be a spelling of.
    """
    if not collection.labelled:
        return collection
    counts = Counter(collection.bag.y.tolist())
    names: dict[str, str] = {spelling_key(name): name for name in classes or ()}
    if classes is None:
        by_count = sorted(range(len(collection.classes)), key=lambda c: (-counts[c], c))
        for c in by_count:
            names.setdefault(spelling_key(collection.classes[c]), collection.classes[c])
    for label in collection.classes:
        if spelling_key(label) not in names:
            known = ", ".join(classes or ())
            raise FoveateError(
                f"{collection.source}: label '{label}' is none of the classes {known}"
            )
    order = tuple(classes) if classes is not None else class_order(names.values())
    number = torch.tensor([order.index(names[spelling_key(label)]) for label in collection.classes])
    return replace(
        collection, bag=replace(collection.bag, y=number[collection.bag.y]), classes=order
    )
