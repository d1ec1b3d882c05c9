"""Collection: a user's bags with their names, classes, columns and places."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from foveate.bags.bag import Bag, pad
from foveate.bags.mapped import is_mapped
from foveate.errors import FoveateError
from foveate.io.columns import ColumnRole
from foveate.io.problem import Problem

__all__ = ["Collection", "Kind", "Where", "class_order", "collect", "listed", "numbered"]

Kind = Literal["features", "text", "image", "series"]
Where = Callable[[int], str]
"""From the number of a bag to its file, or file and line, for messages."""
INTEGER = re.compile(r"[+-]?\d+")
MAX_NAMED = 3  # bags or columns named in a message, the others counted


@dataclass(frozen=True)
class Collection:
    """A user's bags with their names, classes, columns and places.

    Args:
        bag: Ragged bags: rows stored once, without padding, behind an index and a mask. A label
            that is not known is 0, and so is a missing number.
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
        label_known: True for bags whose label is known, shape (n,); None where all are, or none.
        missing: True for missing numbers of the bank, shape (N, d); None where none are.
        roles: Role of every column of the files.
        reading_problems: What the reader has to report.
        accepted: Names of checks whose errors the user accepts.
        labels: Which labels each bag has, boolean, shape (n, L): of multi-label bags all of them,
            of bags with classes those beside the class; None where there are none.
        label_names: Names of these labels.

    Example:
        >>> bag = pad([torch.ones(2, 3), torch.zeros(1, 3)], torch.tensor([0, 1]))
        >>> bags = Collection(bag, ("a", "b"), ("no", "yes"))
        >>> bags.take([1]).ids, bags.take([1]).bag.y.tolist(), bags.labelled
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
    label_known: Tensor | None = None
    missing: Tensor | None = None
    roles: tuple[ColumnRole, ...] = ()
    reading_problems: tuple[Problem, ...] = ()
    accepted: tuple[str, ...] = ()
    labels: Tensor | None = None
    label_names: tuple[str, ...] = ()

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
            label_known=None if self.label_known is None else self.label_known[chosen],
            labels=None if self.labels is None else self.labels[chosen],
        )

    @property
    def multi_label(self) -> bool:
        """Whether bags have several labels in place of one class."""
        return self.labels is not None and not self.labelled

    def of_label(self, name: str) -> "Collection":
        """Multi-label bags by whether they have one label: classes "no" and "yes".

        The other labels stay beside the class.

        Args:
            name: The label.

        Example:
            >>> bag = pad([torch.ones(2, 3), torch.zeros(1, 3)], torch.tensor([0, 0]))
            >>> labels = torch.tensor([[True, False], [True, True]])
            >>> bags = Collection(bag, ("a", "b"), labels=labels, label_names=("cat", "dog"))
            >>> dogs = bags.of_label("dog")
            >>> dogs.bag.y.tolist(), dogs.classes, dogs.label_names
            ([0, 1], ('no', 'yes'), ('cat',))
        """
        if self.labels is None or name not in self.label_names:
            known = ", ".join(self.label_names) or "none"
            raise FoveateError(f"{self.source} has no label '{name}'; its labels are {known}")
        k = self.label_names.index(name)
        others = [i for i in range(len(self.label_names)) if i != k]
        return replace(
            self,
            bag=replace(self.bag, y=self.labels[:, k].long()),
            classes=("no", "yes"),
            labels=self.labels[:, others],
            label_names=tuple(self.label_names[i] for i in others),
        )

    def with_labels_only(self) -> "Collection":
        """The bags whose label is known."""
        if self.label_known is None:
            return self
        return replace(self.take(self.label_known), label_known=None)

    def missing_cells(self) -> dict[str, int]:
        """Number of missing cells of each column that has any; of segments in several bags once."""
        if self.missing is None:
            return {}
        counts = zip(self.columns, self.missing.sum(0).tolist(), strict=True)
        return {name: count for name, count in counts if count}


def collect(
    bags: Sequence[Tensor],
    ids: Sequence[str],
    where: Where,
    *,
    source: str,
    labels: Sequence[str | None] | None = None,
    classes: Sequence[str] | None = None,
    relevance: Sequence[Tensor | None] | None = None,
    groups: Sequence[str] | None = None,
    split: Sequence[str] | None = None,
    columns: Sequence[str] = (),
    kind: Kind = "features",
    words: Sequence[str] | None = None,
    places: Sequence[Tensor] | None = None,
    roles: Sequence[ColumnRole] = (),
    problems: Sequence[Problem] = (),
) -> Collection:
    """Bags from a reader as one collection; consistency across bags is checked here.

    Args:
        bags: Segments of each bag, (m_i, *), NaN where a number is missing.
        ids: Names of the bags.
        where: Where a bag comes from.
        source: What was read.
        labels: Label of each bag, None where unknown.
        classes: The classes there may be, in order; those that occur unless given.
        relevance: For each bag which segments are relevant, (m_i,), or None where unknown.
        groups: Name of each bag's group.
        split: Name of each bag's split; ignored if it is the same for all.
        columns: Names of a segment's numbers.
        kind: What a segment is.
        words: Text of all segments, bag after bag.
        places: Coordinates of each bag's segments, (m_i, k).
        roles: Role of every column of the files.
        problems: What the reader has to report.
    """
    _check_shapes(bags, where, "a segment must have {} numbers")
    if places is not None:
        _check_shapes(places, where, "a segment must have {} coordinates")
    y, names = torch.zeros(len(bags), dtype=torch.long), tuple[str, ...]()
    label_known = None
    if labels is not None and any(label is not None for label in labels):
        present = [label for label in labels if label is not None]
        names = tuple(classes) if classes is not None else class_order(present)
        y = _labels(labels, names, where)
        label_known = torch.tensor([label is not None for label in labels])
        problems = (*problems, *_unlabelled(label_known, ids))
        label_known = None if bool(label_known.all()) else label_known
    if split is not None and {*split} - {"train"} and len({*split}) == 1:
        what = f"'{split[0]}' throughout: parts are drawn as if there were none"
        problems = (*problems, Problem("warning", "split", what, "one-split", learning=True))
    group, group_names = (None, ()) if groups is None else numbered(groups)
    known = None if relevance is None else torch.tensor([z is not None for z in relevance])
    if known is not None and not bool(known.any()):
        known = None
    z = None
    if relevance is not None and known is not None:
        blank = [torch.zeros(len(bag), dtype=torch.bool) for bag in bags]
        z = [one if one is not None else none for one, none in zip(relevance, blank, strict=True)]
    missing = _missing(bags)
    if missing is not None:
        bags = [bag.nan_to_num(nan=0.0) for bag in bags]
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
        label_known,
        missing,
        tuple(roles),
        tuple(problems),
    )


def _missing(bags: Sequence[Tensor]) -> Tensor | None:
    """True where a number is NaN, over all segments, (N, d); None if none is."""
    if is_mapped(bags[0]):  # checked when it was written
        return None
    if not bags[0].is_floating_point() or not any(bool(bag.isnan().any()) for bag in bags):
        return None
    return torch.cat([bag.isnan() for bag in bags]).flatten(1)


def listed(kind: str, names: Sequence[str]) -> str:
    """The first names of a kind in quotes, the others counted.

    Example:
        >>> listed("bag", ["a", "b", "c", "d"])
        "bags 'a', 'b', 'c' and 1 more"
        >>> listed("class", ["a", "b"])
        "classes 'a', 'b'"
    """
    ending = "" if len(names) == 1 else "es" if kind.endswith("s") else "s"
    listing = ", ".join(f"'{name}'" for name in names[:MAX_NAMED])
    more = f" and {len(names) - MAX_NAMED:,} more" if len(names) > MAX_NAMED else ""
    return f"{kind}{ending} {listing}{more}"


def _unlabelled(known: Tensor, ids: Sequence[str]) -> list[Problem]:
    """A warning about bags without a label, if there are any."""
    names = [ids[i] for i in (~known).nonzero().flatten().tolist()]
    if not names:
        return []
    what = (
        f"no label: not used for training or testing ({len(names):,} of {len(ids):,} bags); a "
        "class called none or NA must be named in --classes"
    )
    return [Problem("warning", listed("bag", names), what, "unlabelled")]


def class_order(labels: Iterable[str]) -> tuple[str, ...]:
    """Names of classes in numerical order if all are whole numbers, else alphabetically.

    Example:
        >>> class_order(["10", "9", "10"]), class_order(["b", "10", "9"])
        (('9', '10'), ('10', '9', 'b'))
    """
    names = sorted(set(labels))
    return tuple(sorted(names, key=int) if all(map(INTEGER.fullmatch, names)) else names)


def numbered(names: Sequence[str]) -> tuple[Tensor, tuple[str, ...]]:
    """Codes of names, shape (n,), and the names in order of first occurrence."""
    number = {name: k for k, name in enumerate(dict.fromkeys(names))}
    return torch.tensor([number[name] for name in names], dtype=torch.long), tuple(number)


def _labels(labels: Sequence[str | None], classes: Sequence[str], where: Where) -> Tensor:
    number: dict[str | None, int] = {name: k for k, name in enumerate(classes)}
    for i, label in enumerate(labels):
        if label is not None and label not in number:
            known = ", ".join(classes)
            raise FoveateError(f"{where(i)}: '{label}' is none of the classes {known}")
    return torch.tensor([number.get(label, 0) for label in labels], dtype=torch.long)


def _check_shapes(bags: Sequence[Tensor], where: Where, rule: str) -> None:
    """Raise for a bag without segments, or whose segments differ in shape from the first bag's."""
    for i, bag in enumerate(bags):
        if not len(bag):
            raise FoveateError(f"{where(i)}: a bag needs a segment, this one has none: remove it")
        if bag.shape[1:] != bags[0].shape[1:]:
            one, other = ("×".join(map(str, b.shape[1:])) for b in (bags[0], bag))
            raise FoveateError(f"{where(i)}: {rule.format(one)} as in {where(0)}, got {other}")
