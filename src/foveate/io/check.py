"""Checks of what is wrong with a user's bags."""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from foveate.errors import FoveateError
from foveate.io.cells import is_missing
from foveate.io.collection import Collection, listed
from foveate.io.column_checks import suspects
from foveate.io.label_merging import similar_labels
from foveate.io.problem import Problem
from foveate.io.view import View, content, repeated_segments

__all__ = ["NAMES", "Problem", "problems", "require_sound"]

LONG_FACTOR = 10  # times the median length
UNEVEN = 10  # times as many bags in the largest class as in the smallest
MANY_REPEATS = 0.5  # of all segments
MOST_COUNTS = 8  # columns whose missing cells are counted in a message

NAMES = (
    "one-class",
    "one-bag-class",
    "one-group-class",
    "names-with-different-labels",
    "groups-in-splits",
    "copies-in-splits",
    "label-copy",
    "unwritten-parts",
)
"""Names of the errors, which ``--force`` accepts."""

Severity = Literal["error", "warning"]


def problems(collection: Collection) -> list[Problem]:
    """Problems of a collection that could be read, errors first.

    What cannot be read (cells that are not numbers, labels that differ within a bag) is an error
    of the reader, which names file and row.
    """
    view = View(collection)
    listed_problems = [
        *collection.reading_problems,
        *_of_classes(view),
        *_of_spelling(view),
        *_of_names(view),
        *_of_groups(view),
        *_of_copies(view),
        *_of_repeats(view),
        *_of_missing(view),
        *_of_columns(view),
        *_of_lengths(view),
        *_of_relevance(view),
    ]
    return sorted(listed_problems, key=lambda problem: problem.severity != "error")


def require_sound(collection: Collection, *, learning: bool = True) -> list[Problem]:
    """Raise for the first error that the user did not accept; return everything else.

    Args:
        collection: The bags, with the names of accepted problems.
        learning: Whether a model is to be trained; errors that concern training only are ignored
            otherwise.
    """
    listed_problems = [p for p in problems(collection) if learning or not p.learning]
    unknown = [name for name in collection.accepted if name not in NAMES]
    if unknown:
        raise FoveateError(
            f"--force: there is no check '{unknown[0]}'; there are {', '.join(NAMES)}"
        )
    for problem in listed_problems:
        if problem.severity == "error" and problem.name not in collection.accepted:
            accept = f"; correct it, or accept it with --force {problem.name}"
            accept = "" if problem.name == "one-class" else accept  # nothing can be learnt
            raise FoveateError(f"{collection.source}, {problem}{accept}")
    return listed_problems


def _of_classes(view: View) -> Iterator[Problem]:
    counts = view.class_counts()
    if not counts:
        return
    present = {name: count for name, count in counts.items() if count}
    if len(present) < 2:
        what = "the only one: two are needed, so add bags of another, or give another --label"
        yield Problem("error", listed("class", list(present)), what, "one-class", learning=True)
        return
    few = [name for name, count in present.items() if count < 2]
    if few:
        what = "one bag: too few to learn from and to test on"
        if len(few) == len(present):
            what = (
                "every bag has a label of its own, so nothing can be learnt: name another column "
                "with --label, or, if these are measurements, cut them into classes (ordinal, "
                "regression and survival targets are not fitted)"
            )
        yield Problem("error", listed("class", few), what, "one-bag-class", learning=True)
    few = _in_one_group(view, counts)
    if few:
        what = "all bags in one group: too few to learn from and to test on"
        yield Problem("error", listed("class", few), what, "one-group-class", learning=True)
    largest, least = max(present, key=present.__getitem__), min(present, key=present.__getitem__)
    if present[largest] > UNEVEN * present[least]:
        what = f"{present[least]:,} bags, class '{largest}' {present[largest]:,}"
        yield Problem("warning", listed("class", [least]), what, "imbalance", learning=True)


def _in_one_group(view: View, counts: Mapping[str, int]) -> list[str]:
    """Classes of several bags that are all in one group."""
    if view.collection.bag.group is None:
        return []
    y, group = view.y[view.label_known], view.collection.bag.group.numpy()[view.label_known]
    groups = np.bincount(np.unique(np.stack([y, group]), axis=1)[0], minlength=len(counts))
    return [name for k, (name, c) in enumerate(counts.items()) if groups[k] == 1 and c > 1]


def _of_spelling(view: View) -> Iterator[Problem]:
    for spellings in similar_labels(view.collection.classes):
        what = (
            "differ only by case, Unicode form, spaces or the form of a number: --merge-labels "
            "makes them one class"
        )
        yield Problem("warning", _classes_shown(spellings), what, "similar-labels", learning=True)
    what = "differ only by case, Unicode form, spaces or the form of a number: are they one?"
    collection = view.collection
    for kind, names in (("bag", dict.fromkeys(collection.ids)), ("group", collection.groups)):
        sets = similar_labels(list(names))
        if sets:
            more = f" (and {len(sets) - 1:,} more such sets)" if len(sets) > 1 else ""
            yield Problem("warning", listed(kind, sets[0]), what + more, f"similar-{kind}s")


def _classes_shown(names: Sequence[str]) -> str:
    """Names of classes, escaped where they look alike."""
    composed = [unicodedata.normalize("NFC", name) for name in names]
    alike = len({*composed}) < len(names) or not all(name.isprintable() for name in names)
    return "classes " + ", ".join(ascii(name) if alike else f"'{name}'" for name in names)


def _of_names(view: View) -> Iterator[Problem]:
    labels: dict[str, dict[str, list[int]]] = {}
    collection = view.collection
    sides = collection.split or [""] * len(collection.ids)
    for name, side, label in zip(collection.ids, sides, view.y.tolist(), strict=True):
        labels.setdefault(name, {}).setdefault(side, []).append(label)
    shared = [name for name, bag_labels in labels.items() if len(bag_labels) > 1]
    differ = [
        name
        for name, bag_labels in labels.items()
        if any(len({*y}) > 1 for y in bag_labels.values())
    ]
    twice = [
        name for name, bag_labels in labels.items() if any(len(y) > 1 for y in bag_labels.values())
    ]
    others = [name for name in twice if name not in {*differ, *shared}]
    if differ and collection.labelled:
        what = "one name for bags with different labels"
        yield Problem("error", listed("bag", differ), what, "names-with-different-labels")
    if shared:
        what = "one name in more than one split, for different bags"
        yield Problem("warning", listed("bag", shared), what, "names-in-splits")
    absent = [name for name in labels if name and is_missing(name)]
    if absent:
        what = "named like a missing value: do these rows belong to one bag?"
        yield Problem("warning", listed("bag", absent), what, "missing-names")
    if others:
        yield Problem(
            "warning", listed("bag", others), "one name for several bags", "repeated-names"
        )


def _of_groups(view: View) -> Iterator[Problem]:
    group, split = view.collection.bag.group, view.collection.split
    if group is None or split is None:
        return
    sides: dict[int, set[str]] = {}
    for number, side in zip(group.tolist(), split, strict=True):
        sides.setdefault(number, set()).add(side)
    shared = [number for number, side_labels in sides.items() if len(side_labels) > 1]
    if shared:
        groups = view.collection.groups
        names = [groups[g] if groups else str(g) for g in shared]
        both = " and ".join(sorted(sides[shared[0]]))
        what = f"in more than one split: {both}"
        yield Problem("error", listed("group", names), what, "groups-in-splits")


def _of_copies(view: View) -> Iterator[Problem]:
    hashes = content(view)
    order = np.argsort(hashes, kind="stable")
    ends = np.flatnonzero(np.diff(hashes[order])) + 1
    same = [part for part in np.split(order, ends) if len(part) > 1]
    split, labelled = view.collection.split, view.collection.labelled
    crossing = [part for part in same if split and len({split[i] for i in part}) > 1]
    differ = [p for p in same if labelled and len({*view.y[p][view.label_known[p]].tolist()}) > 1]
    reported = {int(part[0]) for part in (*crossing, *differ)}
    plain = [part for part in same if int(part[0]) not in reported]
    kinds: tuple[tuple[Severity, Any, str, str], ...] = (
        ("error", crossing, "the same content in more than one split", "copies-in-splits"),
        ("warning", differ, "the same content under different labels", "copies-with-labels"),
        ("warning", plain, "the same content", "copies"),
    )
    for severity, parts, what, name in kinds:
        if parts:
            sets = f" (and {len(parts) - 1:,} more such sets)" if len(parts) > 1 else ""
            yield Problem(severity, listed("bag", view.names(parts[0])), what + sets, name)


def _of_repeats(view: View) -> Iterator[Problem]:
    """A table that was appended to itself has every segment twice."""
    if view.collection.kind != "features":
        return
    repeated, total = repeated_segments(view), int(view.lengths.sum())
    if repeated >= MANY_REPEATS * total:
        what = (
            f"{repeated:,} of {total:,} repeat an earlier one of their bag: are rows stored twice?"
        )
        yield Problem("warning", "segments", what, "repeated-segments")


def _of_missing(view: View) -> Iterator[Problem]:
    absent = view.collection.missing_cells()
    if absent:
        total = f"{sum(absent.values()):,} cells missing in {len(absent):,} columns"
        most = ", ".join(f"{name} {count:,}" for name, count in list(absent.items())[:MOST_COUNTS])
        what = f"{total} ({most}): imputed by the median of the training bags, or --missing refuse"
        yield Problem("warning", listed("column", list(absent)), what, "missing-values")


def _of_columns(view: View) -> Iterator[Problem]:
    if view.collection.kind not in ("features", "series"):
        return
    x = view.segments_with_nan()
    if x.ndim != 2 or not x.shape[1]:
        return
    names = view.collection.columns or [str(k) for k in range(x.shape[1])]
    y = np.where(view.label_known, view.y, -1) if view.collection.labelled else None
    for suspect in suspects(x, view.lengths, y):
        where = listed("column", [names[k] for k in suspect.columns])
        severity: Severity = "error" if suspect.error else "warning"
        yield Problem(severity, where, suspect.what, suspect.name)


def _of_lengths(view: View) -> Iterator[Problem]:
    median = float(np.median(view.lengths))
    long = np.flatnonzero(view.lengths > LONG_FACTOR * median)
    if len(long):
        by_length = long[np.argsort(-view.lengths[long], kind="stable")]
        most = int(view.lengths[by_length[0]])
        what = f"much longer than the rest: up to {most:,} segments, the median is {median:g}"
        yield Problem("warning", listed("bag", view.names(by_length)), what, "long-bags")
    single = np.flatnonzero(view.lengths == 1)
    if len(single):
        total = len(view.collection)
        what = f"one segment: nothing to choose from ({len(single):,} of {total:,} bags)"
        yield Problem("warning", listed("bag", view.names(single)), what, "single-segment-bags")


def _of_relevance(view: View) -> Iterator[Problem]:
    known, z = view.collection.known, view.collection.bag.z
    if known is None or z is None:
        return
    if not bool(z[known].any()):
        what = "known, but no segment of any bag is relevant"
        yield Problem("warning", "relevance", what, "nothing-relevant")
    flat = np.add.reduceat(view.flat(z).astype(np.int64), view.start)
    if bool(((flat == view.lengths) & known.numpy())[known.numpy()].all()):
        what = "every segment of every bag it is known for"
        yield Problem("warning", "relevance", what, "all-relevant")
