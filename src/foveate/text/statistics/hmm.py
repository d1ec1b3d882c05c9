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
            linked = best < posterior.shape[1] - 1
            pair = batch.pairs[batch.pair[linked]].tolist()
            cells = zip(best[linked].tolist(), batch.t[linked].tolist(), strict=True)
            for i, link in zip(pair, cells, strict=True):
                links[i].add(link)
        return links

    def _read(self, source: Tokens, target: Tokens) -> Iterator[tuple[PairBatch, Array]]:
        """Batches of pairs with the posteriors of their rows (R, L + 1), NULL last."""
        size = self.table.shape[0] - 1, self.table.shape[1]
        check_ids(source, size[0])
        check_ids(target, size[1])
        theta = _extended(self.table.data)
        for batch in pair_batches(source, target, table_keys(self.table), size):
            yield batch, _forward_backward(batch, theta, self).posterior


class _Passes(NamedTuple):
    """What the forward and the backward pass over a batch give.

    Args:
        posterior: Of words, then of NULL, shape (R, L + 1).
        at_state: Probability of each position given the words so far, shape (R, L).
        later: Probability of a word and all later ones given its position, scaled, shape (R, L).
        log_likelihood: Of the target words, in nats.
        transitions: Of the batch.
    """

    posterior: Array
    at_state: Array
    later: Array
    log_likelihood: float
    transitions: "_Transitions"


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
        passes = _forward_backward(batch, theta, model)
        counts += np.bincount(batch.entry.ravel(), passes.posterior.ravel(), len(theta))
        jumps += _expected_jumps(batch, passes, len(jumps))
        likelihood += passes.log_likelihood
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


def _forward_backward(batch: PairBatch, theta: Array, model: HMM) -> _Passes:
    transitions = _batch_transitions(batch, model)
    emission = theta[batch.entry]
    word, null = np.ascontiguousarray(emission[:, :-1]), model.null * emission[:, -1:]
    at_word, at_state, total = _forward(batch, word, null, transitions)
    scale = 1 / total[:, None]
    at_word *= scale
    word *= scale
    null *= scale
    after = _backward(batch, word, null, transitions)
    posterior = emission  # its memory is used again
    np.multiply(at_word, after, out=posterior[:, :-1])
    at_state_null = np.subtract(at_state, at_word, out=at_word)
    np.einsum("rl,rl->r", at_state_null, after, out=posterior[:, -1])
    return _Passes(posterior, at_state, word, float(np.log(total).sum()), transitions)


def _forward(
    batch: PairBatch, word: Array, null: Array, transitions: _Transitions
) -> tuple[Array, Array, Array]:
    """Probabilities of being at a word, not yet scaled, and of being at it or NULL after it (R, L).

    The third is the scale of each row, shape (R,).
    """
    at_word, at_state = np.empty_like(word), np.empty_like(word)
    total, ones = np.empty(len(word)), np.ones(word.shape[1])
    before, begin = at_state[:0], 0
    for n in batch.active.tolist():
        rows = slice(begin, begin + n)
        word_p, state_p = at_word[rows], at_state[rows]
        if begin == 0:
            word_p[:] = transitions.first
            np.multiply(transitions.uniform_start, null[rows], out=state_p)
        else:
            before = before[:n]
            np.matmul(before * transitions.scale[:n], transitions.weights, out=word_p)
            word_p += transitions.flat[:n]  # the state before sums to 1
            np.multiply(before, null[rows], out=state_p)
        word_p *= word[rows]
        state_p += word_p
        scale = total[rows] = state_p @ ones
        state_p /= scale[:, None]
        before, begin = state_p, begin + n
    return at_word, at_state, total


def _backward(batch: PairBatch, word: Array, null: Array, transitions: _Transitions) -> Array:
    """Scaled probabilities of all later words given the position (R, L).

    ``word`` is multiplied by them at every t but the first.
    """
    after, ones, active = np.ones_like(word), np.ones(word.shape[1]), batch.active.tolist()
    back, end = transitions.weights.T, len(word)
    for t in range(len(active) - 1, 0, -1):
        n, rows = active[t], slice(end - active[t], end)
        word_p, later = word[rows], after[rows]
        word_p *= later
        end -= n
        before = after[end - active[t - 1] :][:n]
        np.matmul(word_p, back, out=before)
        before *= transitions.scale[:n]
        before += transitions.flat[:n] * (word_p @ ones)[:, None]
        before += null[rows] * later
    return after


def _expected_jumps(batch: PairBatch, passes: _Passes, widths: int) -> Array:
    """Expected number of jumps of each width, shape (2 W + 1,)."""
    transitions, first = passes.transitions, batch.active[0]
    row = np.arange(first, len(batch.pair))
    before = passes.at_state[row - np.repeat(batch.active[:-1], batch.active[1:])]
    before *= transitions.scale[batch.pair[first:]]
    pairs = (before.T @ passes.later[first:]) * transitions.weights
    return _by_width(pairs, passes.posterior[:first, :-1].sum(0), widths)


def _by_width(pairs: Array, first: Array, widths: int) -> Array:
    """Expected jumps by width; the first word jumps from the position before the beginning."""
    L, middle = len(pairs), widths // 2
    width = np.clip(np.arange(L) - np.arange(L)[:, None], -middle, middle) + middle
    begin = np.minimum(np.arange(L) + 1, middle) + middle
    return np.bincount(
        np.concatenate([width.ravel(), begin]), np.concatenate([pairs.ravel(), first]), widths
    )
