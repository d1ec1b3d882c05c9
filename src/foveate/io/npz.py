"""NPZ files of bags, padded to one length or concatenated."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from foveate.errors import FoveateError
from foveate.io.arrays import from_arrays
from foveate.io.cells import name_of
from foveate.io.collection import Collection
from foveate.io.columns import GROUP, RELEVANCE, ColumnRole, Columns, column
from foveate.io.memory import check_unpacked_size
from foveate.records.record import load_arrays
from foveate.types import Array

NAMES = {
    "x", "features", "y", "label", "labels", "bag", "offsets", "mask", "ids", "columns", "z",
    "known", "split", "coords", "places", *RELEVANCE, *GROUP
}  # fmt: skip
"""Names of arrays that have a role."""

__all__ = ["read_npz_bags"]


def read_npz_bags(
    path: Path,
    columns: Columns,
    classes: Sequence[str] | None = None,
    labelled: bool | None = None,
) -> Collection:
    """Bags of an NPZ file, in one of two layouts; never a pickle.

    Padded: ``x`` (n, m, …), with ``mask`` (n, m) where bags differ in length. Ragged: ``x`` (N, …)
    with ``bag`` (N,), which bag a row is in, or ``offsets`` (n + 1,), where bags begin and end.
    ``y`` is (n,), in the order of the bags' numbers or of ``ids``; with ``bag`` it may be (N,).
    Names (or numbers other than 0 to n - 1) that come unsorted decide no order without ``ids``,
    which are those of ``bag`` in the order of ``y``; beside numbers they may be other names.
    Optional are ``z`` or ``relevance`` and ``coords`` of every segment, ``known`` (n,), ``group``,
    ``split`` and ``ids`` of every bag, and ``columns``, the names of a segment's numbers.

    Args:
        path: The file.
        columns: Other names of arrays: bag, label, relevance, group, split.
        classes: The classes there may be, in order.
        labelled: Whether there must be labels; False leaves them out.
    """
    if path.stat().st_size == 0:
        raise FoveateError(f"{path} is empty")
    check_unpacked_size(path)
    stored = load_arrays(path)
    used: dict[str, str] = {}

    def find(requested: str | None, *usual: str, role: str = "") -> Array | None:
        name = column(path, list(stored), requested, usual, needed=labelled is not False)
        if name is None:
            return None
        used[name] = role or usual[0]
        return _with_axis(path, name, stored[name])

    x = find(None, "x", "features")
    if x is None:
        raise FoveateError(f"{path} has no array 'x' of segments: it holds {', '.join(stored)}")
    y = find(columns.named("label"), "y", "label", "labels")
    if labelled and y is None:
        raise FoveateError(f"{path} has no array 'y' of labels: it holds {', '.join(stored)}")
    bag = find(columns.named("bag"), "bag")
    ids, names = find(None, "ids"), find(None, "columns", role="names of columns")
    layout = _layout(path, x, bag, find(None, "offsets"), find(None, "mask"), ids)
    relevance = layout.cut(find(columns.relevance, *RELEVANCE, "z"), "relevance")
    if relevance is not None and (known := layout.of_bags(find(None, "known"), "known")):
        relevance = [z if is_known else None for z, is_known in zip(relevance, known, strict=True)]
    groups = layout.of_bags(find(columns.group, *GROUP), "group")
    split = layout.of_bags(find(columns.split, "split"), "split")
    places = layout.cut(find(None, "coords", "places", role="place"), "coords")
    return from_arrays(
        layout.cut(x, "x") or [],
        None if labelled is False else layout.of_bags(y, "y"),
        ids=layout.ids,
        relevance=relevance,
        groups=groups,
        split=split,
        places=places,
        columns=None if names is None else [name_of(name) or "" for name in names.tolist()],
        classes=classes,
        source=str(path),
        where=lambda bag: f"{path}, bag '{layout.ids[bag]}'",
        missing=columns.missing,
        roles=[_role(name, used) for name in stored],
    )


def _role(name: str, used: dict[str, str]) -> ColumnRole:
    if name not in used:
        taken = name.lower() in NAMES
        reason = "another array has its role" if taken else "no role has an array of this name"
        return ColumnRole(name, "left out", reason)
    role = {"x": "feature", "y": "label", "ids": "bag"}.get(used[name], used[name])
    return ColumnRole(name, role, "by the name of the array")


def _with_axis(path: Path, name: str, array: Array) -> Array:
    if not array.ndim:
        raise FoveateError(
            f"{path}, array '{name}': must have at least one axis, got a single value"
        )
    return array


@dataclass(frozen=True)
class _Layout:
    """Which rows of the arrays are a bag's.

    Args:
        path: The file.
        lead: The axes that arrays of segments begin with: (n, m), or (N,).
        rows: Rows of each bag, once these axes are one.
        ids: Names of the bags.
        ordered: Whether it is certain which bag an entry of an array (n,) belongs to.
    """

    path: Path
    lead: tuple[int, ...]
    rows: list[Array]
    ids: list[str]
    ordered: bool = True

    def cut(self, array: Array | None, name: str) -> list[Any] | None:
        """An array of segments, divided into bags."""
        if array is None:
            return None
        axes = len(self.lead)
        if array.shape[:axes] != self.lead:
            raise FoveateError(
                f"{self.path}: {name} must begin with the axes {self.lead}, got {array.shape}"
            )
        flat = array.reshape(math.prod(self.lead), *array.shape[axes:])
        return [flat[rows] for rows in self.rows]

    def of_bags(self, array: Array | None, name: str) -> list[Any] | None:
        """An array with one entry per bag, or one per row that is the same in all rows of a bag."""
        if array is None:
            return None
        array = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
        if array.ndim == 1 and len(array) == len(self.rows):
            if not self.ordered:
                raise FoveateError(
                    f"{self.path}: {name} has one entry per bag, but the bags come unsorted and "
                    "nothing says in which order the entries are: give 'ids', the bags' names in "
                    f"the order of {name}, or {name} for every row"
                )
            return list(array.tolist())
        if array.shape != self.lead:
            raise FoveateError(
                f"{self.path}: {name} must have one entry for each of {len(self.rows)} bags, got "
                f"shape {array.shape}"
            )
        flat = array.ravel()
        for rows, called in zip(self.rows, self.ids, strict=True):
            odd = flat[rows] != flat[rows[0]]
            if odd.any():
                row = int(rows[odd.argmax()])
                raise FoveateError(
                    f"{self.path}, array '{name}', row {row}: must be one for all rows of bag "
                    f"'{called}', got {flat[row]!r} after {flat[rows[0]]!r}"
                )
        return [flat[rows[0]].item() for rows in self.rows]


def _layout(
    path: Path,
    x: Array,
    bag: Array | None,
    offsets: Array | None,
    mask: Array | None,
    ids: Array | None,
) -> _Layout:
    names = None if ids is None else [name_of(name) or "" for name in ids.tolist()]
    if bag is not None:
        return _by_name(path, x, bag, names)
    if offsets is not None:
        return _by_offset(path, x, offsets, names)
    if x.ndim < 3:
        raise FoveateError(
            f"{path}: x must have shape (bags, segments, numbers), or come with an array 'bag' or "
            f"'offsets'; it has shape {x.shape}"
        )
    n, m = x.shape[:2]
    mask = np.ones((n, m), bool) if mask is None else mask
    if mask.shape != (n, m) or mask.dtype.kind not in "biu":
        raise FoveateError(
            f"{path}: mask must be true or false for each of {n} × {m} segments, got {mask.dtype} "
            f"of shape {mask.shape}"
        )
    if (odd := mask[(mask != 0) & (mask != 1)]).size:
        raise FoveateError(f"{path}: mask must be true or false, 1 or 0, got {odd[0]}")
    rows = [i * m + np.flatnonzero(present) for i, present in enumerate(mask)]
    return _Layout(path, (n, m), rows, _bag_names(path, names, n))


def _by_name(path: Path, x: Array, bag: Array, ids: list[str] | None) -> _Layout:
    if bag.shape != x.shape[:1] or bag.dtype.kind not in "biuUS":
        raise FoveateError(
            f"{path}: bag must name a bag for each of {len(x)} rows of x, got {bag.dtype} of shape "
            f"{bag.shape}"
        )
    called, codes = np.unique(
        bag.astype(str) if bag.dtype.kind == "S" else bag, return_inverse=True
    )
    order = np.argsort(codes, kind="stable")
    rows = np.split(order, np.cumsum(np.bincount(codes)))[:-1]
    names = [str(name) for name in called.tolist()]
    counted = called.tolist() == list(range(len(rows)))
    if ids is None or (bag.dtype.kind in "biu" and sorted(ids) != sorted(names)):
        first = [int(bag_rows[0]) for bag_rows in rows]
        ordered = counted or first == sorted(first)
        names = _bag_names(path, ids or names, len(names))
        return _Layout(path, x.shape[:1], rows, names, ordered)
    if counted and ids != names:
        raise FoveateError(
            f"{path}: ids are the numbers of 'bag' in another order, so they may be names of bags "
            "0, 1, … or the order of y: leave ids out, or use the names themselves in 'bag'"
        )
    by_name = dict(zip(names, rows, strict=True))
    if sorted(ids) != sorted(names):
        odd = sorted({*ids} ^ {*names})[:1] or ["a name that comes twice"]
        raise FoveateError(f"{path}: ids must name each bag once, differ by '{odd[0]}'")
    return _Layout(path, x.shape[:1], [by_name[name] for name in ids], ids)


def _by_offset(path: Path, x: Array, offsets: Array, ids: list[str] | None) -> _Layout:
    good = offsets.ndim == 1 and len(offsets) > 1 and offsets.dtype.kind in "iu"
    if not good or offsets[0] != 0 or offsets[-1] != len(x) or (np.diff(offsets) < 0).any():
        raise FoveateError(
            f"{path}: offsets must be whole numbers that rise from 0 to the {len(x)} rows of x, "
            f"got {offsets.tolist()[:8]}"
        )
    ends = offsets.tolist()
    rows = [np.arange(begin, end) for begin, end in pairwise(ends)]
    return _Layout(path, x.shape[:1], rows, _bag_names(path, ids, len(rows)))


def _bag_names(path: Path, ids: list[str] | None, n: int) -> list[str]:
    if ids is not None and len(ids) != n:
        raise FoveateError(f"{path}: ids must name {n} bags, got {len(ids)}")
    return ids or [str(i) for i in range(n)]
