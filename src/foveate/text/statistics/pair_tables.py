"""Tables: T×L numbers for each pair of texts, stored without padding."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from foveate.errors import FoveateError
from foveate.metrics.ragged import top
from foveate.types import Array

__all__ = ["Tables"]


@dataclass(frozen=True)
class Tables:
    """A table for each of n pairs of texts: a row of L values for every output position t.

    Rows follow the target's tokens, values within a row the source's; what an attention, a probe
    or an alignment of (t, l). Labelled texts have one row each, T = 1.

    Args:
        values: All values, pair by pair and row by row, shape (N,) with N = Σ T L.
        source: Number of source tokens L of each pair, shape (n,).
        target: Number of target tokens T of each pair, shape (n,).

    Example:
        >>> tables = Tables.of([[[1, 3], [2, 2]], [[5, 4, 1]]])
        >>> tables[1], tables.sums()
        (array([[5, 4, 1]]), array([ 4,  4, 10]))
    """

    values: Array
    source: Array
    target: Array

    def __post_init__(self) -> None:
        if len(self.source) != len(self.target):
            raise FoveateError(f"{len(self.source)} sources have {len(self.target)} targets")
        if (np.minimum(self.source, self.target) < 1).any():
            raise FoveateError("every text needs a token")
        if len(self.values) != (cells := int((self.source * self.target).sum())):
            raise FoveateError(f"tables of {cells} cells have {len(self.values)} values")

    @classmethod
    def of(cls, tables: Iterable[Any]) -> "Tables":
        """Tables given one by one, each of shape (T, L)."""
        grids = [np.asarray(table) for table in tables]
        shapes = np.array([grid.shape for grid in grids]).reshape(-1, 2)
        return cls(np.concatenate([g.ravel() for g in grids]), shapes[:, 1], shapes[:, 0])

    @classmethod
    def blank(cls, source: Array, target: Array) -> "Tables":
        """Tables of zeros that take no memory, for their shape only."""
        return cls(np.broadcast_to(0, int((source * target).sum())), source, target)

    @classmethod
    def unpadded(cls, padded: Array, source: Array, target: Array) -> "Tables":
        """Tables of a padded batch (B, T, L), whose pairs have ``source`` and ``target`` tokens."""
        _, T, L = padded.shape
        real = (np.arange(T) < target[:, None])[:, :, None] & (np.arange(L) < source[:, None, None])
        return cls(padded[real], np.asarray(source), np.asarray(target))

    @classmethod
    def join(cls, parts: Sequence["Tables"]) -> "Tables":
        """The tables of all parts, one after the other."""
        columns = (
            [getattr(part, name) for part in parts] for name in ("values", "source", "target")
        )
        return cls(*(np.concatenate(column) for column in columns))

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, i: int) -> Array:
        """The table of pair ``i``, shape (T, L)."""
        values = self.values[self.first[i] : self.first[i + 1]]
        return values.reshape(self.target[i], self.source[i])

    @cached_property
    def first(self) -> Array:
        """Where each pair's table begins, and N at the end, shape (n + 1,)."""
        return _starts(self.source * self.target)

    @cached_property
    def pair(self) -> Array:
        """The pair of each row, shape (R,)."""
        return np.arange(len(self)).repeat(self.target)

    @cached_property
    def lengths(self) -> Array:
        """Number of values of each row, shape (R,)."""
        return self.source.repeat(self.target)

    @cached_property
    def start(self) -> Array:
        """Where each row begins, and N at the end, shape (R + 1,)."""
        return _starts(self.lengths)

    @property
    def row(self) -> Array:
        """The row of each value, which is the place of its target token, shape (N,)."""
        return self.spread(np.arange(len(self.lengths)))

    @property
    def column(self) -> Array:
        """The place of each value's source token among all source tokens, shape (N,)."""
        begin = _starts(self.source)[:-1][self.pair]
        return np.arange(self.start[-1]) + self.spread(begin - self.start[:-1])

    def spread(self, rows: Array) -> Array:
        """A value of each row (R,) at all its places (N,)."""
        return np.repeat(rows, self.lengths)

    def filled(self, values: Array) -> "Tables":
        """Tables of the same form with other values."""
        return replace(self, values=values)

    def take(self, pairs: Array) -> "Tables":
        """The tables of ``pairs``, in their order."""
        source, target = self.source[pairs], self.target[pairs]
        cells = source * target
        begin = _starts(cells)
        at = np.arange(begin[-1]) + np.repeat(self.first[pairs] - begin[:-1], cells)
        return Tables(self.values[at], source, target)

    def sums(self) -> Array:
        """The sum of each row, shape (R,)."""
        return np.add.reduceat(self.values, self.start[:-1])

    def best(self) -> Array:
        """The position l of each row's largest value, the first of several, shape (R,)."""
        return top(self.values, self.start)

    def without_last(self) -> "Tables":
        """The tables without their last position, which must not be the only one.

        Example:
            >>> Tables.of([[[1, 2, 3], [4, 5, 6]]]).without_last()[0].tolist()
            [[1, 2], [4, 5]]
        """
        keep = np.ones(len(self.values), bool)
        keep[self.start[1:] - 1] = False
        return Tables(self.values[keep], self.source - 1, self.target)

    def links(self, null: bool = False) -> list[set[tuple[int, int]]]:
        """Links (l, t) from every row to the position where it is largest, the first of several.

        A row of zeros has no link.

        Args:
            null: Whether the last position is NULL, which loses all ties and is never linked.

        Example:
            >>> Tables.of([[[0.6, 0.1, 0.3], [0.2, 0.3, 0.5]]]).links(null=True)
            [{(0, 0)}]
        """
        best = self.best()
        linked = (self.values[self.start[:-1] + best] > 0) & (best < self.lengths - null)
        position = np.arange(len(best)) - _starts(self.target)[self.pair]
        ends = np.cumsum(np.bincount(self.pair[linked], minlength=len(self)))
        links = list(zip(best[linked].tolist(), position[linked].tolist(), strict=True))
        begins = [0, *ends[:-1].tolist()]
        return [set(links[a:b]) for a, b in zip(begins, ends.tolist(), strict=True)]

    def shares(self) -> "Tables":
        r"""Rows that sum to 1, :math:`v_l / \sum_{l'} v_{l'}`; a row of zeros becomes uniform."""
        total, values = self.sums(), self.values
        if (empty := total == 0).any():
            values = np.where(self.spread(empty), 1.0, values)
            total = np.where(empty, self.lengths, total)
        return self.filled(values / self.spread(total))


def _starts(lengths: Array) -> Array:
    return np.concatenate([[0], np.cumsum(lengths)])
