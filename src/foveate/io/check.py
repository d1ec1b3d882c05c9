"""What a user's bags are, and what is wrong with them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from foveate.io.collection import Collection
from foveate.io.column_checks import suspects
from foveate.io.view import View, content

__all__ = ["Description", "Problem", "describe", "problems"]

LONG = 10  # times the median length
UNEVEN = 10  # times as many bags in the largest class as in the smallest
NAMED = 3  # bags or columns named in a message, the others counted


@dataclass(frozen=True)
class Description:
    """What a collection holds; shares are from 0 to 1.

    Args:
        source: What was read.
        kind: What a segment is.
        bags: How many bags.
        segments: How many segments in all.
        lengths: Segments of the shortest, the median and the longest bag.
        classes: Bags of each class.
        imbalance: Bags of the largest class over those of the smallest.
        groups: How many groups, where there are some.
        splits: Bags of each split, where there are some.
        known: Share of bags whose relevance is known.
        relevant: Share of relevant segments in these.
        columns: Names of a segment's numbers.
    """

    source: str
    kind: str
    bags: int
    segments: int
    lengths: tuple[int, float, int]
    classes: dict[str, int]
    imbalance: float | None
    groups: int | None
    splits: dict[str, int] | None
    known: float
    relevant: float | None
    columns: tuple[str, ...]

    def as_numbers(self) -> dict[str, Any]:
        """The same for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Problem:
    """Something wrong: an error if results would be wrong or impossible, else a warning."""

    severity: Literal["error", "warning"]
    where: str
    what: str


def describe(collection: Collection) -> Description:
    """Counts of bags, segments, classes, groups and known relevance."""
    view = View(collection)
    counts = view.class_counts()
    relevant = None
    if collection.known is not None and collection.bag.z is not None:
        known = collection.known.numpy()
        z = view.flat(collection.bag.z)[np.repeat(known, view.lengths)]
        relevant = float(z.mean()) if z.size else None
    present = [count for count in counts.values() if count]
    group = collection.bag.group
    return Description(
        collection.source,
        collection.kind,
        len(collection),
        int(view.lengths.sum()),
        (int(view.lengths.min()), float(np.median(view.lengths)), int(view.lengths.max())),
        counts,
        max(present) / min(present) if present else None,
        None if group is None else len(group.unique()),
        None if collection.split is None else dict(Counter(collection.split)),
        0.0 if collection.known is None else float(collection.known.float().mean()),
        relevant,
        collection.columns,
    )


def problems(collection: Collection) -> list[Problem]:
    """What is wrong with a collection that can be read: errors first.

    What cannot be read (cells that are missing or not finite, labels that differ within a bag) is
    an error of the reader, which names file and row.
    """
    view = View(collection)
    found = [
        *_of_classes(view),
        *_of_names(view),
        *_of_groups(view),
        *_of_copies(view),
        *_of_columns(view),
        *_of_lengths(view),
        *_of_relevance(view),
    ]
    return sorted(found, key=lambda problem: problem.severity != "error")


def _listed(kind: str, names: Sequence[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:NAMED])
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return f"{kind}{'s' if len(names) > 1 else ''} {shown}{more}"


def _of_classes(view: View) -> Iterator[Problem]:
    counts = view.class_counts()
    if not counts:
        return
    present = {name: count for name, count in counts.items() if count}
    if len(present) < 2:
        yield Problem("error", _listed("class", list(present)), "the only one: two are needed")
        return
    few = [name for name, count in present.items() if count < 2]
    if few:
        said = "one bag: too few to learn from and to test on"
        yield Problem("error", _listed("class", few), said)
    if view.own.bag.group is not None:
        pairs = np.unique(np.stack([view.y, view.own.bag.group.numpy()]), axis=1)[0]
        groups = np.bincount(pairs, minlength=len(counts))
        few = [name for k, (name, c) in enumerate(counts.items()) if groups[k] == 1 and c > 1]
        if few:
            said = "all bags in one group: too few to learn from and to test on"
            yield Problem("error", _listed("class", few), said)
    largest, least = max(present, key=present.__getitem__), min(present, key=present.__getitem__)
    if present[largest] > UNEVEN * present[least]:
        said = f"{present[least]:,} bags, class '{largest}' {present[largest]:,}"
        yield Problem("warning", _listed("class", [least]), said)


def _of_names(view: View) -> Iterator[Problem]:
    labels: dict[str, dict[str, list[int]]] = {}
    sides = view.own.split or [""] * len(view.own.ids)
    for name, side, label in zip(view.own.ids, sides, view.y.tolist(), strict=True):
        labels.setdefault(name, {}).setdefault(side, []).append(label)
    shared = [name for name, own in labels.items() if len(own) > 1]
    differ = [name for name, own in labels.items() if any(len({*y}) > 1 for y in own.values())]
    twice = [name for name, own in labels.items() if any(len(y) > 1 for y in own.values())]
    others = [name for name in twice if name not in {*differ, *shared}]
    for severity, which, said in (
        ("error", differ if view.own.labelled else [], "one name for bags with different labels"),
        ("warning", shared, "one name in more than one split, for different bags"),
        ("warning", others, "one name for several bags"),
    ):
        if which:
            yield Problem(severity, _listed("bag", which), said)  # type: ignore[arg-type]


def _of_groups(view: View) -> Iterator[Problem]:
    group, split = view.own.bag.group, view.own.split
    if group is None or split is None:
        return
    sides: dict[int, set[str]] = {}
    for number, side in zip(group.tolist(), split, strict=True):
        sides.setdefault(number, set()).add(side)
    shared = [number for number, own in sides.items() if len(own) > 1]
    if shared:
        names = [view.own.groups[g] if view.own.groups else str(g) for g in shared]
        both = " and ".join(sorted(sides[shared[0]]))
        yield Problem("error", _listed("group", names), f"in more than one split: {both}")


def _of_copies(view: View) -> Iterator[Problem]:
    hashes = content(view)
    order = np.argsort(hashes, kind="stable")
    ends = np.flatnonzero(np.diff(hashes[order])) + 1
    same = [part for part in np.split(order, ends) if len(part) > 1]
    split = view.own.split
    crossing = [part for part in same if split and len({split[i] for i in part}) > 1]
    differ = [p for p in same if view.own.labelled and len({*view.y[p].tolist()}) > 1]
    told = {int(part[0]) for part in (*crossing, *differ)}
    plain = [part for part in same if int(part[0]) not in told]
    for severity, parts, said in (
        ("error", crossing, "the same content in more than one split"),
        ("warning", differ, "the same content under different labels"),
        ("warning", plain, "the same content"),
    ):
        if parts:
            sets = f" (and {len(parts) - 1:,} more such sets)" if len(parts) > 1 else ""
            yield Problem(severity, _listed("bag", view.names(parts[0])), said + sets)  # type: ignore[arg-type]


def _of_columns(view: View) -> Iterator[Problem]:
    if view.own.kind not in ("features", "series"):
        return
    x = view.segments()
    if x.ndim != 2 or not x.shape[1]:
        return
    called = view.own.columns or [str(k) for k in range(x.shape[1])]
    for found in suspects(x, view.lengths, view.y if view.own.labelled else None):
        where = _listed("column", [called[k] for k in found.columns])
        yield Problem("error" if found.error else "warning", where, found.what)


def _of_lengths(view: View) -> Iterator[Problem]:
    median = float(np.median(view.lengths))
    long = np.flatnonzero(view.lengths > LONG * median)
    if len(long):
        by_length = long[np.argsort(-view.lengths[long], kind="stable")]
        most = int(view.lengths[by_length[0]])
        said = f"much longer than the rest: up to {most:,} segments, the median is {median:g}"
        yield Problem("warning", _listed("bag", view.names(by_length)), said)
    single = np.flatnonzero(view.lengths == 1)
    if len(single):
        said = f"one segment: nothing to choose from ({len(single):,} of {len(view.own):,} bags)"
        yield Problem("warning", _listed("bag", view.names(single)), said)


def _of_relevance(view: View) -> Iterator[Problem]:
    known, z = view.own.known, view.own.bag.z
    if known is None or z is None:
        return
    if not bool(z[known].any()):
        yield Problem("warning", "relevance", "known, but no segment of any bag is relevant")
    flat = np.add.reduceat(view.flat(z).astype(np.int64), view.start)
    if bool(((flat == view.lengths) & known.numpy())[known.numpy()].all()):
        yield Problem("warning", "relevance", "every segment of every bag it is known for")
