"""IBM Model 1 by expectation–maximisation: which word translates into which, word order ignored.

Brown, Della Pietra, Della Pietra & Mercer (1993), as [snell21] Sec. 4.2 uses it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse

from foveate.errors import FoveateError
from foveate.text.statistics.cell_groups import CellGroup, cell_groups, row_order
from foveate.text.statistics.cooccurrence import lookup
from foveate.text.statistics.pair_tables import Tables
from foveate.text.statistics.word_pairs import check_ids, sizes
from foveate.text.tokens import Tokens
from foveate.types import Array

__all__ = ["Model1", "fit_ibm1", "with_null"]


@dataclass(frozen=True)
class Model1:
    """A translation table fitted by IBM Model 1.

    Args:
        table: Trans(o|i), sparse, shape (I, O), or (I + 1, O) with NULL as the last word.
        counts: The expected counts it was made from, of the same shape; after one iteration the
            count table C of [snell21] Eq. 13.
        log_likelihood: Of the targets before each iteration, in nats, shape (iterations,).
        null: Whether a target word may come from NULL.
    """

    table: sparse.csr_array
    counts: sparse.csr_array
    log_likelihood: Array
    null: bool

    def posteriors(self, source: Tokens, target: Tokens) -> Tables:
        r"""Where each target word comes from, :math:`\mathrm{Trans}(y_t|x_l) / \sum_{l'}
        \mathrm{Trans}(y_t|x_{l'})`; with NULL as a last position, if the model has it.

        A target word that never occurs with a word of its source is shared out evenly.
        """
        return self._lookup(source, target).shares()

    def align(self, source: Tokens, target: Tokens) -> list[set[tuple[int, int]]]:
        """Links (l, t) from each target position to its likeliest source, the first of several.

        A word that comes from NULL (which loses all ties), or that never occurs with a word of
        its source, has no link.
        """
        return self._lookup(source, target).links(null=self.null)

    def _lookup(self, source: Tokens, target: Tokens) -> Tables:
        words = self.table.shape[0] - self.null
        check_ids(source, words)
        return lookup(self.table, with_null(source, words) if self.null else source, target)


def fit_ibm1(
    source: Tokens,
    target: Tokens,
    size: tuple[int, int] | None = None,
    *,
    iterations: int = 5,
    null: bool = False,
) -> Model1:
    r"""Maximise the likelihood of the targets from a uniform table, exactly.

    .. math:: \log P = \sum_m \sum_t \log \tfrac{1}{L_m} \sum_l \mathrm{Trans}(y_t|x_l)

    An iteration shares out each target word over its source by the table (E), and makes the table
    of the shares (M). The first E step gives the count table C. Memory: 4 bytes a cell (t, l) up
    to ``cell_groups.MAX_HELD_CELLS`` cells, beyond which cells are grouped again in every
    iteration, and some 40 bytes for each pair of words that meet.

    Args:
        source: Input texts.
        target: Output texts, one for each input.
        size: Number of input and of output words (I, O); from the largest ids by default.
        iterations: Iterations, 1 or more.
        null: Give every source a further word NULL, for target words without origin.

    Example:
        >>> das_haus, das_buch, ein_buch = [0, 1], [0, 2], [3, 2]
        >>> the_house, the_book, a_book = [0, 1], [0, 2], [3, 2]
        >>> german, english = [das_haus, das_buch, ein_buch], [the_house, the_book, a_book]
        >>> fit_ibm1(Tokens.of(german), Tokens.of(english)).table.toarray()[1].round(2)
        array([0.22, 0.78, 0.  , 0.  ])
    """
    if iterations < 1:
        raise FoveateError(f"iterations must be 1 or more, got {iterations}")
    I, O = sizes(source, target, size)  # noqa: E741
    x = with_null(source, I) if null else source
    rows = row_order(target, O)
    groups = cell_groups(x, target, (I + null, O), rows)
    keys = np.concatenate([group.keys for group in groups()])
    row, lengths = keys // O, x.lengths.numpy()[rows.pair]
    theta, history = np.full(len(keys), 1 / O), []
    for _ in range(iterations):
        counts, log_likelihood = _expected(theta, groups(), groups(), lengths)
        total = np.bincount(row, counts)
        theta = counts / np.maximum(total, np.finfo(float).tiny)[row]
        history.append(log_likelihood)
    table, expected = (_matrix(values, keys, I + null, O) for values in (theta, counts))
    return Model1(table, expected, np.array(history), null)


def with_null(source: Tokens, word: int) -> Tokens:
    """The texts, each with the further word ``word`` at its end."""
    start = source.start + torch.arange(len(source) + 1)
    ids = torch.full((int(start[-1]),), word)
    ids[torch.arange(len(source.ids)) + source.text] = source.ids
    return Tokens(ids, start)


def _expected(
    theta: Array, groups: Iterable[CellGroup], second_pass: Iterable[CellGroup], lengths: Array
) -> tuple[Array, float]:
    r"""The E step: expected counts of all pairs of words, and the log-likelihood under ``theta``.

    With the cells of a group as a matrix M of word pairs by rows this is
    :math:`z = \sum M^\top \theta` and :math:`\theta \odot M z^{-1}`.
    """
    total, done = np.zeros(len(lengths)), 0
    for group in groups:
        total += group.by_row @ theta[done : done + len(group.keys)]
        done += len(group.keys)
    inverse = 1 / total
    counts = np.concatenate([group.cells @ inverse for group in second_pass])
    counts *= theta
    return counts, float(np.log(total / lengths).sum())


def _matrix(values: Array, keys: Array, I: int, O: int) -> sparse.csr_array:  # noqa: E741
    ends = np.searchsorted(keys, np.arange(I + 1) * O)
    return sparse.csr_array((values, keys % O, ends), (I, O))
