"""Links: which words of a sentence and of its translation belong together."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foveate.errors import FoveateError

__all__ = ["IndexArray", "LinkSet", "Links"]

IndexArray = NDArray[np.int64]
LinkSet = set[tuple[int, int]]


@dataclass(frozen=True)
class Links:
    """Links of n sentence pairs, by positions from 0.

    Args:
        sure: Links that hold, rows (pair, source position, target position), shape (K, 3).
        possible: Links that may hold, without the sure ones, shape (P, 3).

    Example:
        >>> links = Links.of([[(0, 0), (1, 2)], [(0, 1)]])
        >>> links.sure.tolist()
        [[0, 0, 0], [0, 1, 2], [1, 0, 1]]
    """

    sure: IndexArray
    possible: IndexArray

    @classmethod
    def of(
        cls,
        sure: Iterable[Iterable[Sequence[int]]],
        possible: Iterable[Iterable[Sequence[int]]] = (),
    ) -> "Links":
        """Links given as one list of (source position, target position) for each pair."""
        return cls(*(_rows(links) for links in (sure, possible)))

    def sets(self, pairs: int) -> tuple[list[LinkSet], list[LinkSet]]:
        """The sure and the possible links of each pair, as the metrics of alignment take them.

        Args:
            pairs: Number of all pairs, n.
        """
        sure, possible = ([LinkSet() for _ in range(pairs)] for _ in range(2))
        for sets, part in ((sure, self.sure), (possible, self.possible)):
            for pair, i, j in part.tolist():
                sets[pair].add((i, j))
        return sure, possible

    def take(self, rows: IndexArray, pairs: int) -> "Links":
        """Links of some pairs, numbered anew in the order of ``rows``.

        Args:
            rows: The pairs to keep, each once, shape (k,).
            pairs: Number of all pairs, n.
        """
        new_row = np.full(pairs, -1, np.int64)
        new_row[rows] = np.arange(len(rows))
        return Links(*(_renumbered(part, new_row) for part in (self.sure, self.possible)))

    def must_fit(self, source: IndexArray, target: IndexArray) -> None:
        """Raise for a link outside its pair.

        Args:
            source: Lengths of the source sentences, shape (n,).
            target: Lengths of the target sentences, shape (n,).
        """
        for links in (self.sure, self.possible):
            if links.ndim != 2 or links.shape[1] != 3:
                raise FoveateError(f"links must be rows of three numbers, got {links.shape}")
            pair = links[:, 0]
            invalid = (links < 0).any(1) | (pair >= len(source))
            invalid[~invalid] = (links[~invalid, 1] >= source[pair[~invalid]]) | (
                links[~invalid, 2] >= target[pair[~invalid]]
            )
            if invalid.any():
                number, i, j = links[invalid][0].tolist()
                raise FoveateError(f"link {i}-{j} of pair {number} is outside its sentences")


def _rows(links: Iterable[Iterable[Sequence[int]]]) -> IndexArray:
    rows = [(number, *link) for number, pair in enumerate(links) for link in pair]
    return np.array(rows, np.int64).reshape(-1, 3)


def _renumbered(links: IndexArray, new_row: IndexArray) -> IndexArray:
    selected = links[new_row[links[:, 0]] >= 0]
    selected = np.column_stack([new_row[selected[:, 0]], selected[:, 1:]])
    return selected[np.argsort(selected[:, 0], kind="stable")]
