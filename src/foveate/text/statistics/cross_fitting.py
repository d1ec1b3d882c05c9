"""Three tables that share no sentence, counted anew for every order of the targets.

:func:`~foveate.text.statistics.information.crossed` measures all pairs once. A permuted control
measures many times: here what does not depend on the order is computed once, all pairs are counted,
and the number of measured cells is bounded.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from foveate.errors import FoveateError
from foveate.randomness import generator
from foveate.text.statistics.cooccurrence import bags, translation_probabilities
from foveate.text.statistics.information import shared_information
from foveate.text.statistics.pair_tables import Tables
from foveate.text.tokens import Tokens
from foveate.types import Array

__all__ = ["LEAST", "MAX_COUNTED", "MEASURED", "Crossing", "Measurement"]

Read = Callable[[sparse.csr_array, Tokens, Tokens], Tables]

MAX_COUNTED = 1 << 23  # cells counted: no table has more entries, so some 100 MB at most for each
MEASURED = 1 << 19  # cells measured
LEAST = 30  # pairs: ten to a table


@dataclass(frozen=True)
class Measurement:
    r"""Values of the measured pairs under two independent tables, relative to the mean of a row.

    Args:
        one: :math:`r_{t,l} = L\,\alpha_{t,l}` by the first table; a row's mean is 1.
        other: The same by the second.
    """

    one: Tables
    other: Tables

    @cached_property
    def information(self) -> Array:
        """Shared information of every row in nats, shape (R,)."""
        return shared_information(self._shares(self.one), self._shares(self.other))

    @cached_property
    def lift(self) -> Array:
        """Value under one table minus 1, at the position where the other is largest, (R,)."""
        first = self.one.start[:-1]
        second = self.other.values[first + self.one.best()]
        first_values = self.one.values[first + self.other.best()]
        return (second + first_values) / 2 - 1

    def by_sentence(self, rows: Array) -> Array:
        """The mean over the rows of each pair, shape (m,)."""
        return np.add.reduceat(rows, np.cumsum(self.one.target) - self.one.target) / self.one.target

    @staticmethod
    def _shares(times: Tables) -> Tables:
        return times.filled(times.values / times.spread(times.lengths))


class Crossing:
    """Pairs in three folds; each fold is measured by the tables of the other two.

    Args:
        source: Input texts.
        target: Output texts, one for each input.
        size: Number of input and of output words (I, O).
        parts: Words and numbers that decide folds and samples.
        counted: Most cells to count; beyond, pairs are sampled.
        measured: Most cells to measure.
        smoothing: As in :func:`foveate.text.statistics.information.crossed`.
    """

    def __init__(
        self,
        source: Tokens,
        target: Tokens,
        size: tuple[int, int],
        *parts: str | int,
        counted: int = MAX_COUNTED,
        measured: int = MEASURED,
        smoothing: float = 1.0,
    ) -> None:
        if len(source) != len(target):
            raise FoveateError(f"every source needs a target: got {len(source)} and {len(target)}")
        if len(source) < LEAST:
            raise FoveateError(f"{LEAST} sentences are needed at least, got {len(source)}")
        order = torch.randperm(len(source), generator=generator("folds", *parts))
        count = _within(source, target, order, counted)
        self.rows = order[:count]
        self.source, self.target = source.take(self.rows), target.take(self.rows)
        self.kappa = smoothing * len(self.target.ids) / len(self.source.ids)
        self._folds = torch.arange(count).tensor_split(3)
        shares = sparse.diags_array(1 / self.source.lengths.numpy()) @ bags(self.source, size[0])
        self._shares = [shares[fold.numpy()].T.tocsr() for fold in self._folds]
        self._bags = bags(self.target, size[1])
        # Rows are in random order, so the beginning of a fold is a fair sample of it.
        rows = [_within(self.source, self.target, fold, measured // 3) for fold in self._folds]
        self._measured_rows = [fold[:n] for fold, n in zip(self._folds, rows, strict=True)]
        self.measured = torch.cat(self._measured_rows)

    def order(self, number: int) -> Tensor:
        """The targets' order in control ``number``, from 1; 0 is the true one."""
        n = len(self.source)
        if not number:
            return torch.arange(n)
        return torch.randperm(n, generator=generator("permuted targets", n, number))

    def tables(self, order: Tensor) -> list[sparse.csr_array]:
        """The count table of each fold, with the targets in this order."""
        tables = []
        for fold, shares in zip(self._folds, self._shares, strict=True):
            table = sparse.csr_array(shares @ self._bags[order[fold].numpy()])
            table.sort_indices()
            tables.append(table)
        return tables

    def measure(self, order: Tensor, tables: list[sparse.csr_array]) -> Measurement:
        """Values of the measured pairs under the tables, with the targets in this order."""
        return Measurement(*(self._times(order, tables, shift) for shift in (1, 2)))

    def evaluate(
        self, order: Tensor, tables: list[sparse.csr_array], shift: int, read: Read
    ) -> Tables:
        """Values under the table ``shift`` folds on, for the measured pairs in this order."""
        parts = []
        for k, rows in enumerate(self._measured_rows):
            x, y = self.source.take(rows), self.target.take(order[rows])
            parts.append(read(tables[(k + shift) % 3], x, y))
        return Tables.join(parts)

    def _times(self, order: Tensor, tables: list[sparse.csr_array], shift: int) -> Tables:
        def shares(table: sparse.csr_array, x: Tokens, y: Tokens) -> Tables:
            return translation_probabilities(table, x, y, smoothing=self.kappa).shares()

        alpha = self.evaluate(order, tables, shift, shares)
        return alpha.filled(alpha.values * alpha.spread(alpha.lengths))


def _within(source: Tokens, target: Tokens, rows: Tensor, cells: int) -> int:
    """How many pairs of ``rows``, from the first on, have at most so many cells; ten at least."""
    sizes = (source.lengths[rows] * target.lengths[rows]).cumsum(0)
    return max(10, int(torch.searchsorted(sizes, cells, right=True)))
