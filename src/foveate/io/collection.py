"""Collection: a user's bags, and what is needed to name and to draw them."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from foveate.bags.bag import Bag, pad
from foveate.errors import FoveateError

__all__ = ["Collection", "Kind", "Where", "class_order", "collect", "numbered"]

Kind = Literal["features", "text", "image", "series"]
Where = Callable[[int], str]
"""From the number of a bag to its place, for messages: a file, or a file and a line."""
INTEGER = re.compile(r"[+-]?\d+")


@dataclass(frozen=True)
class Collection:
    """A user's bags, and what is needed to name and to draw them.

    Args:
        bag: Ragged bags: rows stored once, without padding, behind an index and a mask. All labels
            are 0 where there are none.
        ids: Names of the bags, in the order of the bag's rows.
        classes: Names of classes 0 … C−1; empty where unlabelled.
        columns: Names of a segment's numbers; empty for texts and images.
        kind: What a segment is: numbers, a piece of text, a tile, or a window in time.
        known: True for bags whose relevance is known, shape (n,); None where none is.
        words: Text of every row of the bank, kind "text"; the bank is then a column of zeros.
        places: Coordinates of every row of the bank, shape (N, k): x, y (, width, height) of a
            tile; start, end of a window.
        source: What was read, for messages and manifests.
        groups: Names of groups 0 … G−1.
        split: Name of the split of each bag, where files or a column give one.

    Example:
        >>> bag = pad([torch.ones(2, 3), torch.zeros(1, 3)], torch.tensor([0, 1]))
        >>> own = Collection(bag, ("a", "b"), ("no", "yes"))
        >>> own.take([1]).ids, own.take([1]).bag.y.tolist(), own.labelled
        (('b',), [1], True)
    """

    bag: Bag
    ids: tuple[str, ...]
    classes: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    kind: Kind = "features"
    known: Tensor | None = None
    words: tuple[str, ...] | None = None
    places: Tensor | None = None
    source: str = ""
    groups: tuple[str, ...] = ()
    split: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def labelled(self) -> bool:
        """Whether the bags have labels."""
        return bool(self.classes)

    def take(self, rows: Any) -> "Collection":
        """The bags at ``rows`` (numbers, a mask, a slice), sharing the bank."""
        index = rows if isinstance(rows, slice | Tensor) else torch.as_tensor(np.asarray(rows))
        if isinstance(index, Tensor) and not index.numel():
            index = index.long()
        chosen = torch.arange(len(self))[index]
        numbers = chosen.tolist()
        return replace(
            self,
            bag=self.bag.take(chosen),
            ids=tuple(self.ids[i] for i in numbers),
            known=None if self.known is None else self.known[chosen],
            split=None if self.split is None else tuple(self.split[i] for i in numbers),
        )


def collect(
    bags: Sequence[Tensor],
    ids: Sequence[str],
    where: Where,
    *,
    source: str,
    labels: Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
    relevance: Sequence[Tensor | None] | None = None,
    groups: Sequence[str] | None = None,
    split: Sequence[str] | None = None,
    columns: Sequence[str] = (),
    kind: Kind = "features",
    words: Sequence[str] | None = None,
    places: Sequence[Tensor] | None = None,
) -> Collection:
    """Bags that a reader found, as one collection; what only shows across bags is checked here.

    Args:
        bags: Segments of each bag, (m_i, *).
        ids: Names of the bags.
        where: Where a bag comes from.
        source: What was read.
        labels: Label of each bag as it came, where there are labels.
        classes: The classes there may be, in order; those that occur unless given.
        relevance: For each bag which segments are relevant, (m_i,), or None where unknown.
        groups: Name of each bag's group.
        split: Name of each bag's split; one name for all parts nothing, and is let go.
        columns: Names of a segment's numbers.
        kind: What a segment is.
        words: Text of all segments, bag after bag.
        places: Coordinates of each bag's segments, (m_i, k).
    """
    _must_match(bags, where)
    y, names = torch.zeros(len(bags), dtype=torch.long), tuple[str, ...]()
    if labels is not None:
        names = tuple(classes) if classes is not None else class_order(labels)
        y = _labels(labels, names, where)
    group, group_names = (None, ()) if groups is None else numbered(groups)
    known = None if relevance is None else torch.tensor([z is not None for z in relevance])
    if known is not None and not bool(known.any()):
        known = None
    z = None
    if relevance is not None and known is not None:
        blank = [torch.zeros(len(bag), dtype=torch.bool) for bag in bags]
        z = [one if one is not None else none for one, none in zip(relevance, blank, strict=True)]
    return Collection(
        pad(bags, y, z, group),
        tuple(ids),
        names,
        tuple(columns),
        kind,
        known,
        None if words is None else tuple(words),
        None if places is None else torch.cat(list(places)),
        source,
        group_names,
        None if split is None or len(set(split)) < 2 else tuple(split),
    )


def class_order(labels: Iterable[str]) -> tuple[str, ...]:
    """Names of classes by size where all are whole numbers, else by the alphabet.

    Example:
        >>> class_order(["10", "9", "10"]), class_order(["b", "10", "9"])
        (('9', '10'), ('10', '9', 'b'))
    """
    names = sorted(set(labels))
    return tuple(sorted(names, key=int) if all(map(INTEGER.fullmatch, names)) else names)


def numbered(names: Sequence[str]) -> tuple[Tensor, tuple[str, ...]]:
    """Numbers for names, shape (n,), and the names in order of first sight."""
    number = {name: place for place, name in enumerate(dict.fromkeys(names))}
    return torch.tensor([number[name] for name in names], dtype=torch.long), tuple(number)


def _labels(labels: Sequence[str], classes: Sequence[str], where: Where) -> Tensor:
    number = {name: place for place, name in enumerate(classes)}
    for i, label in enumerate(labels):
        if label not in number:
            known = ", ".join(classes)
            raise FoveateError(f"{where(i)}: '{label}' is none of the classes {known}")
    return torch.tensor([number[label] for label in labels], dtype=torch.long)


def _must_match(bags: Sequence[Tensor], where: Where) -> None:
    for i, bag in enumerate(bags):
        if not len(bag):
            raise FoveateError(f"{where(i)}: a bag needs a segment, this one has none")
        if bag.shape[1:] != bags[0].shape[1:]:
            one, other = ("×".join(map(str, b.shape[1:])) for b in (bags[0], bag))
            raise FoveateError(
                f"{where(i)}: a segment must have {one} numbers as in {where(0)}, got {other}"
            )
