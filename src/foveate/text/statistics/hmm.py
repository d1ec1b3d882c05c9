r"""The hidden Markov model of word alignment: neighbouring words come from neighbouring words.

Vogel, Ney & Tillmann (1996), with NULL as Och & Ney (2003) add it: a word may come from NULL with
probability :math:`p_0`, and NULL remembers the position before it. The position of word t depends
on that of word t − 1 only by the width of the jump,

.. math:: p(a_t = i \mid a_{t-1} = i') = (1 - p_0)\Big[(1 - \lambda)
    \frac{c_{i - i'}}{\sum_{i''} c_{i'' - i'}} + \frac{\lambda}{L}\Big].

Forward and backward passes go over all pairs of a batch at once.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from foveate.errors import FoveateError
from foveate.text.statistics.cell_groups import MAX_HELD_CELLS
from foveate.text.statistics.forward_backward import (
    JumpModel,
    expected_jumps,
    forward_backward,
)
from foveate.text.statistics.ibm1 import fit_ibm1
from foveate.text.statistics.pair_batches import PairBatch, pair_batches
from foveate.text.statistics.pair_tables import Tables
from foveate.text.statistics.translation_table import normalised, table_keys
from foveate.text.statistics.word_pairs import check_ids, sizes
from foveate.text.tokens import Tokens
from foveate.types import Array

__all__ = ["HMM", "HMM_ITERATIONS", "fit_hmm"]

UNSEEN = 1e-12  # probability of a pair of words that never met in training
SMALL = 1e-3  # added to the expected count of every jump
# Chosen on the trial pairs of Hansards and the training pairs of CzEnAli, see docs/guide/words.md.
NULL, UNIFORM, PRIOR = 0.3, 0.2, 0.03
HMM_ITERATIONS = 4  # a fifth lowers the error rate by less than .005 there


@dataclass(frozen=True)
class HMM:
    """Translation probabilities and jump widths.

    Args:
        table: Trans(o|i), sparse, shape (I + 1, O), NULL as the last word.
        jumps: Weights c of the widths −W … W, shape (2 W + 1,).
        null: Probability p₀ that a word comes from NULL.
        uniform: Share λ of jumps to any position.
        log_likelihood: Of the targets before each iteration, in nats, shape (iterations,).
    """

    table: sparse.csr_array
    jumps: Array
    null: float
    uniform: float
    log_likelihood: Array

    @property
    def jump_model(self) -> JumpModel:
        """Its probabilities of positions."""
        return JumpModel(self.jumps, self.null, self.uniform)

    def posteriors(self, source: Tokens, target: Tokens) -> Tables:
        """Posterior of the source of each target word given the pair; NULL is the last position."""
        form = Tables.blank(source.lengths.numpy() + 1, target.lengths.numpy())
        values, first_row = np.empty(int(form.start[-1])), target.start.numpy()
        for batch, posterior in self._read(source, target):
            row = first_row[batch.pairs][batch.pair] + batch.t
            lengths = batch.lengths[batch.pair] + 1
            shift = form.start[row] - (np.cumsum(lengths) - lengths)
            cells = np.arange(int(lengths.sum())) + np.repeat(shift, lengths)
            values[cells] = posterior[batch.entry <= len(self.table.data)]
        return form.filled(values)

    def align(self, source: Tokens, target: Tokens) -> list[set[tuple[int, int]]]:
        """Links (l, t) from each target position to its likeliest source, none where it is NULL."""
        links: list[set[tuple[int, int]]] = [set() for _ in range(len(source))]
        for batch, posterior in self._read(source, target):
            best = posterior.argmax(1)
            linked = np.flatnonzero(best < posterior.shape[1] - 1)
            rows = linked[np.argsort(batch.pair[linked], kind="stable")]
            cells = list(zip(best[rows].tolist(), batch.t[rows].tolist(), strict=True))
            ends = np.cumsum(np.bincount(batch.pair[rows], minlength=len(batch.pairs))).tolist()
            for i, begin, end in zip(batch.pairs.tolist(), [0, *ends], ends, strict=False):
                links[i] = set(cells[begin:end])
        return links

    def _read(self, source: Tokens, target: Tokens) -> Iterator[tuple[PairBatch, Array]]:
        """Batches of pairs with the posteriors of their rows (R, L + 1), NULL last."""
        size = self.table.shape[0] - 1, self.table.shape[1]
        check_ids(source, size[0])
        check_ids(target, size[1])
        theta = _extended(self.table.data)
        for batch in pair_batches(source, target, table_keys(self.table), size):
            yield batch, forward_backward(batch, theta, self.jump_model).posterior


def fit_hmm(
    source: Tokens,
    target: Tokens,
    size: tuple[int, int] | None = None,
    *,
    iterations: int = HMM_ITERATIONS,
    first: int = 5,
    null: float = NULL,
    uniform: float = UNIFORM,
    prior: float = PRIOR,
    report: Callable[[int, int], None] = lambda _done, _total: None,
) -> HMM:
    """Fit by expectation–maximisation, from the table of IBM Model 1.

    The weights of the jumps become their expected numbers, which is the usual approximation: how
    many positions a jump could have reached is not taken into account.

    Args:
        source: Input texts.
        target: Output texts, one for each input.
        size: Number of input and of output words (I, O); from the largest ids by default.
        iterations: Iterations of the HMM, 1 or more.
        first: Iterations of IBM Model 1 before.
        null: Probability p₀ of NULL.
        uniform: Share λ of jumps to any position.
        prior: Concentration of the Dirichlet prior of the table.
        report: Called as ``report(iterations done, iterations in all)``.

    Example:
        >>> german, english = [[0, 1], [0, 2], [3, 2]], [[0, 1], [0, 2], [3, 2]]
        >>> model = fit_hmm(Tokens.of(german), Tokens.of(english))
        >>> sorted(*model.align(Tokens.of([[3, 1]]), Tokens.of([[3, 1]])))
        [(0, 0), (1, 1)]
    """
    if iterations < 1:
        raise FoveateError(f"iterations must be 1 or more, got {iterations}")
    I, O = sizes(source, target, size)  # noqa: E741
    counts = fit_ibm1(source, target, (I, O), iterations=first, null=True).counts
    width = int(source.lengths.max())
    jumps = 1 / (1.0 + np.abs(np.arange(-width, width + 1) - 1))
    batches = _cached_batches(source, target, table_keys(counts), (I, O))
    rows, history = np.diff(counts.indptr), []
    theta = normalised(counts.data, rows, prior)
    for k in range(iterations):
        expected = _expected(batches(), theta, JumpModel(jumps, null, uniform))
        theta, jumps = normalised(expected.words, rows, prior), expected.jumps + SMALL
        history.append(expected.log_likelihood)
        report(k + 1, iterations)
    table = sparse.csr_array((theta, counts.indices, counts.indptr), counts.shape)
    return HMM(table, jumps, null, uniform, np.array(history))


def _cached_batches(
    source: Tokens, target: Tokens, keys: Array, size: tuple[int, int]
) -> Callable[[], Iterable[PairBatch]]:
    """The batches, held in memory where they are not too large."""
    if int((source.lengths * target.lengths).sum()) > MAX_HELD_CELLS:
        return lambda: pair_batches(source, target, keys, size)
    batches = list(pair_batches(source, target, keys, size))
    return lambda: batches


class _Expected(NamedTuple):
    """Expected counts of pairs of words (K,) and of jump widths (2 W + 1,); the log-likelihood."""

    words: Array
    jumps: Array
    log_likelihood: float


def _expected(batches: Iterable[PairBatch], table: Array, model: JumpModel) -> _Expected:
    """The E step under the entries of the table (K,)."""
    theta = _extended(table)
    words, jumps, likelihood = np.zeros(len(theta)), np.zeros_like(model.weights), 0.0
    for batch in batches:
        passes = forward_backward(batch, theta, model)
        words += np.bincount(batch.entry.ravel(), passes.posterior.ravel(), len(theta))
        jumps += expected_jumps(batch, passes, len(jumps))
        likelihood += passes.log_likelihood
    return _Expected(words[:-2], jumps, likelihood)


def _extended(table: Array) -> Array:
    """The table's entries, then the probability of an unseen pair, then 0 for padding."""
    return np.concatenate([table, [UNSEEN, 0.0]])
