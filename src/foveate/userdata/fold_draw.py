"""Draws of folds by SHA-256: groups undivided, classes in proportion."""

from collections import Counter
from collections.abc import Sequence
from math import fsum

import numpy as np
from numpy.typing import NDArray

from foveate.errors import FoveateError
from foveate.io.collection import Collection
from foveate.io.view import View, content
from foveate.randomness import stable_permutation
from foveate.types import Array

__all__ = ["draw_folds", "linked_bags"]

STREAM = "split of bags"


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
