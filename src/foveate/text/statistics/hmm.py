r"""The hidden Markov model of word alignment: neighbouring words come from neighbouring words.

Vogel, Ney & Tillmann (1996), with NULL as Och & Ney (2003) add it: a word may come from NULL with
probability :math:`p_0`, and NULL remembers the position before it. The position of word t depends
on that of word t − 1 only by the width of the jump,

.. math:: p(a_t = i \mid a_{t-1} = i') = (1 - p_0)\Big[(1 - \lambda)
    \frac{c_{i - i'}}{\sum_{i''} c_{i'' - i'}} + \frac{\lambda}{L}\Big].

Forward and backward passes go over all pairs of a batch at once.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from foveate.errors import FoveateError
from foveate.text.statistics.cell_groups import MAX_HELD_CELLS
from foveate.text.statistics.ibm1 import fit_ibm1
from foveate.text.statistics.pair_batches import PairBatch, pair_batches
from foveate.text.statistics.pair_tables import Tables
from foveate.text.statistics.translation_table import normalised, table_keys
from foveate.text.statistics.word_pairs import check_ids, sizes
from foveate.text.tokens import Tokens
from foveate.types import Array

__all__ = ["HMM", "fit_hmm"]

UNSEEN = 1e-12  # probability of a pair of words that never met in training
SMALL = 1e-3  # added to the expected count of every jump
# Chosen on the trial pairs of Hansards and the training pairs of CzEnAli, see docs/guide/words.md.
NULL, UNIFORM, PRIOR = 0.3, 0.2, 0.03


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

    def posteriors(self, source: Tokens, target: Tokens) -> Tables:
        """Posterior of the source of each target word given the pair; NULL is the last position."""
        size = self.table.shape[0] - 1, self.table.shape[1]
        check_ids(source, size[0])
        check_ids(target, size[1])
        theta = _extended(self.table.data)
        form = Tables.blank(source.lengths.numpy() + 1, target.lengths.numpy())
        values = np.empty(int(form.start[-1]))
        for batch in pair_batches(source, target, table_keys(self.table), size):
            expectations = _forward_backward(batch, theta, self)
            begin = form.start[target.start.numpy()[batch.pairs][batch.pair] + batch.t]
            real = batch.real[batch.pair]
            where = begin[:, None] + np.arange(real.shape[1])
            values[where[real]] = expectations.word[real]
            values[begin + batch.lengths[batch.pair]] = expectations.null
        return form.filled(values)

    def align(self, source: Tokens, target: Tokens) -> list[set[tuple[int, int]]]:
        """Links (l, t) from each target position to its likeliest source, none where it is NULL."""
        return self.posteriors(source, target).links(null=True)


class _Expectations(NamedTuple):
    """Posteriors of words (R, L) and of NULL (R,), expected jumps (2 W + 1,), log-likelihood."""

    word: Array
    null: Array
    jumps: Array
    log_likelihood: float


def fit_hmm(
    source: Tokens,
    target: Tokens,
    size: tuple[int, int] | None = None,
    *,
    iterations: int = 5,
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
    model = HMM(normalised(counts, prior), jumps, null, uniform, np.empty(0))
    for k in range(iterations):
        model = _iteration(model, batches(), counts, prior)
        report(k + 1, iterations)
    return model


def _cached_batches(
    source: Tokens, target: Tokens, keys: Array, size: tuple[int, int]
) -> Callable[[], Iterable[PairBatch]]:
    """The batches, held in memory where they are not too large."""
    if int((source.lengths * target.lengths).sum()) > MAX_HELD_CELLS:
        return lambda: pair_batches(source, target, keys, size)
    batches = list(pair_batches(source, target, keys, size))
    return lambda: batches


def _iteration(
    model: HMM, batches: Iterable[PairBatch], form: sparse.csr_array, prior: float
) -> HMM:
    theta = _extended(model.table.data)
    counts, jumps, likelihood = np.zeros(len(theta)), np.zeros_like(model.jumps), 0.0
    for batch in batches:
        expectations = _forward_backward(batch, theta, model)
        weights = np.column_stack([expectations.word, expectations.null])
        counts += np.bincount(batch.entry.ravel(), weights.ravel(), len(theta))
        jumps += expectations.jumps
        likelihood += expectations.log_likelihood
    expected = sparse.csr_array((counts[:-2], form.indices, form.indptr), form.shape)
    history = np.append(model.log_likelihood, likelihood)
    return HMM(normalised(expected, prior), jumps + SMALL, model.null, model.uniform, history)


def _extended(table: Array) -> Array:
    """The table's entries, then the probability of an unseen pair, then 0 for padding."""
    return np.concatenate([table, [UNSEEN, 0.0]])


class _Transitions(NamedTuple):
    """Transition probabilities of a batch, factored.

    From position i' of pair b to i: ``scale[b, i'] * weights[i', i] + flat[b]``.
    """

    weights: Array  # (L, L)
    scale: Array  # (B, L)
    flat: Array  # (B, 1)
    first: Array  # (B, L), of the first word
    uniform_start: Array  # (B, L), uniform over the source


def _batch_transitions(batch: PairBatch, model: HMM) -> _Transitions:
    real, middle = batch.real, len(model.jumps) // 2
    L = real.shape[1]
    # Widths beyond those of training get the weight of the widest.
    width = np.clip(np.arange(L) - np.arange(L)[:, None], -middle, middle) + middle
    weights = model.jumps[width]
    reachable = np.cumsum(weights, 1)[:, batch.lengths - 1].T
    uniform_start = real / batch.lengths[:, None]
    begin = np.where(real, model.jumps[np.minimum(np.arange(L) + 1, middle) + middle], 0.0)
    begin /= begin.sum(1, keepdims=True)
    word, u = 1 - model.null, model.uniform
    return _Transitions(
        weights,
        word * (1 - u) / reachable,
        word * u / batch.lengths[:, None],
        word * ((1 - u) * begin + u * uniform_start),
        uniform_start,
    )


def _forward_backward(batch: PairBatch, theta: Array, model: HMM) -> _Expectations:
    transitions = _batch_transitions(batch, model)
    emission = theta[batch.entry]
    word, null = np.ascontiguousarray(emission[:, :-1]), model.null * emission[:, -1:]
    start = np.concatenate([[0], np.cumsum(batch.active)])
    at_word, at_state, total = _forward(batch.active, start, word, null, transitions)
    word /= total
    null /= total
    later = _backward(batch.active, start, word, null, transitions)
    from_word = at_word * later
    from_null = ((at_state - at_word) * later).sum(1)
    pairs = _expected_jumps(batch.active, start, at_state, word, transitions)
    first = from_word[: batch.active[0]].sum(0)
    jumps = _by_width(pairs, first, len(model.jumps))
    return _Expectations(from_word, from_null, jumps, float(np.log(total).sum()))


def _forward(
    active: Array, start: Array, word: Array, null: Array, transitions: _Transitions
) -> tuple[Array, Array, Array]:
    """Scaled probabilities of being at a word, and at it or NULL after it (R, L); scales (R, 1)."""
    at_word, at_state = np.empty_like(word), np.empty_like(word)
    total = np.empty((len(word), 1))
    for t, n in enumerate(active):
        rows = slice(start[t], start[t] + n)
        if t == 0:
            word_p, state_p = transitions.first * word[rows], transitions.uniform_start * null[rows]
        else:
            before = at_state[start[t - 1] : start[t - 1] + n]
            word_p = (before * transitions.scale[:n]) @ transitions.weights
            word_p += transitions.flat[:n]  # the state before sums to 1
            word_p *= word[rows]
            state_p = before * null[rows]
        state_p += word_p
        scale = state_p.sum(1, keepdims=True)
        total[rows] = scale
        np.divide(state_p, scale, out=at_state[rows])
        np.divide(word_p, scale, out=at_word[rows])
    return at_word, at_state, total


def _backward(
    active: Array, start: Array, word: Array, null: Array, transitions: _Transitions
) -> Array:
    """Scaled probabilities of all later words given the position (R, L).

    ``word`` is multiplied by them at every t but the first.
    """
    later = np.ones_like(word)
    for t in range(len(active) - 1, 0, -1):
        n, rows = active[t], slice(start[t], start[t + 1])
        word[rows] *= later[rows]
        following = (word[rows] @ transitions.weights.T) * transitions.scale[:n]
        following += transitions.flat[:n] * word[rows].sum(1, keepdims=True)
        following += null[rows] * later[rows]
        later[start[t - 1] : start[t - 1] + n] = following
    return later


def _expected_jumps(
    active: Array, start: Array, at_state: Array, word: Array, transitions: _Transitions
) -> Array:
    """Expected number of jumps from i' to i that follow the widths, shape (L, L)."""
    expected = np.zeros_like(transitions.weights)
    for t in range(1, len(active)):
        before = at_state[start[t - 1] : start[t - 1] + active[t]] * transitions.scale[: active[t]]
        expected += before.T @ word[start[t] : start[t + 1]]
    return expected * transitions.weights


def _by_width(pairs: Array, first: Array, widths: int) -> Array:
    """Expected jumps by width; the first word jumps from the position before the beginning."""
    L, middle = len(pairs), widths // 2
    width = np.clip(np.arange(L) - np.arange(L)[:, None], -middle, middle) + middle
    begin = np.minimum(np.arange(L) + 1, middle) + middle
    return np.bincount(
        np.concatenate([width.ravel(), begin]), np.concatenate([pairs.ravel(), first]), widths
    )
