"""Forward and backward pass of the hidden Markov model of word alignment, over a batch of pairs.

A step of a pass is a handful of NumPy calls for all pairs that have a word at t. For few pairs the
number of calls decides, and how they broadcast: arrays of full shape are three times as fast as
columns.
"""

from typing import NamedTuple

import numpy as np

from foveate.text.statistics.pair_batches import PairBatch
from foveate.types import Array

__all__ = ["JumpModel", "Passes", "expected_jumps", "forward_backward"]


class JumpModel(NamedTuple):
    """Which positions follow each other.

    Args:
        weights: Weights of the widths −W … W, shape (2 W + 1,).
        null: Probability p₀ that a word comes from NULL.
        uniform: Share λ of jumps to any position.
    """

    weights: Array
    null: float
    uniform: float


class Passes(NamedTuple):
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
    transitions: "Transitions"


class Transitions(NamedTuple):
    """Transition probabilities of a batch, factored.

    From position i' of pair b to i: ``scale[b, i'] * weights[i', i] + flat[b, i]``.
    """

    weights: Array  # (L, L)
    scale: Array  # (B, L)
    flat: Array  # (B, L), the same at all positions of a pair, also beyond the end of its source
    first: Array  # (B, L), of the first word
    uniform_start: Array  # (B, L), uniform over the source


def forward_backward(batch: PairBatch, theta: Array, model: JumpModel) -> Passes:
    """Posterior probabilities of the source of all target words of a batch.

    Args:
        batch: Pairs of texts.
        theta: The translation probability of each number in ``batch.entry``.
        model: Probabilities of jumps and of NULL.
    """
    transitions = _transitions(batch, model)
    emission = theta[batch.entry]
    word = np.ascontiguousarray(emission[:, :-1])
    null = np.repeat(model.null * emission[:, -1:], word.shape[1], 1)
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
    return Passes(posterior, at_state, word, float(np.log(total).sum()), transitions)


def _transitions(batch: PairBatch, model: JumpModel) -> Transitions:
    real, middle, L = batch.real, len(model.weights) // 2, batch.real.shape[1]
    weights = model.weights[_jump_widths(L, middle)]
    reachable = np.cumsum(weights, 1)[:, batch.lengths - 1].T
    uniform = np.repeat(1 / batch.lengths[:, None], L, 1)
    uniform_start = real * uniform
    begin = real * model.weights[_first_widths(L, middle)]
    begin /= begin.sum(1, keepdims=True)
    word, u = 1 - model.null, model.uniform
    return Transitions(
        weights,
        word * (1 - u) / reachable,
        word * u * uniform,
        word * ((1 - u) * begin + u * uniform_start),
        uniform_start,
    )


def _forward(
    batch: PairBatch, word: Array, null: Array, transitions: Transitions
) -> tuple[Array, Array, Array]:
    """Probabilities of being at a word, not yet scaled, and of being at it or NULL after it (R, L).

    The third is the scale of each row, shape (R,).
    """
    at_word, at_state = np.empty_like(word), np.empty_like(word)
    total, ones = np.empty(len(word)), np.ones(word.shape[1])
    weights, jump_scale, flat = transitions.weights, transitions.scale, transitions.flat
    before, begin = at_state[:0], 0
    for n in batch.active.tolist():
        rows = slice(begin, begin + n)
        word_p, state_p = at_word[rows], at_state[rows]
        if begin == 0:
            word_p[:] = transitions.first
            before = transitions.uniform_start
        else:
            before = before[:n]
            np.dot(before * jump_scale[:n], weights, out=word_p)
            word_p += flat[:n]  # the state before sums to 1
        np.multiply(before, null[rows], out=state_p)
        word_p *= word[rows]
        state_p += word_p
        scale = total[rows] = state_p @ ones
        state_p /= scale[:, None]
        before, begin = state_p, begin + n
    return at_word, at_state, total


def _backward(batch: PairBatch, word: Array, null: Array, transitions: Transitions) -> Array:
    """Scaled probabilities of all later words given the position (R, L).

    ``word`` is multiplied by them at every t but the first, ``null`` at every t.
    """
    after, ones, active = np.ones_like(word), np.ones(word.shape[1]), batch.active.tolist()
    back, jump_scale, flat = transitions.weights.T, transitions.scale, transitions.flat[:, :1]
    end = len(word)
    for t in range(len(active) - 1, 0, -1):
        n, rows = active[t], slice(end - active[t], end)
        word_p, later, null_p = word[rows], after[rows], null[rows]
        word_p *= later
        null_p *= later
        end -= n
        before = after[end - active[t - 1] :][:n]
        np.dot(word_p, back, out=before)
        before *= jump_scale[:n]
        before += flat[:n] * (word_p @ ones)[:, None]
        before += null_p
    return after


def _jump_widths(length: int, middle: int) -> Array:
    """The number of each jump's weight (L, L); jumps wider than in training get the widest."""
    position = np.arange(length)
    return np.clip(position - position[:, None], -middle, middle) + middle


def _first_widths(length: int, middle: int) -> Array:
    """The same for the first word (L,), which jumps from the position before the beginning."""
    return np.minimum(np.arange(length) + 1, middle) + middle


def expected_jumps(batch: PairBatch, passes: Passes, widths: int) -> Array:
    """Expected number of jumps of each width, shape (2 W + 1,)."""
    transitions, first, middle = passes.transitions, batch.active[0], widths // 2
    row = np.arange(first, len(batch.pair))
    before = passes.at_state[row - np.repeat(batch.active[:-1], batch.active[1:])]
    before *= transitions.scale[batch.pair[first:]]
    pairs = (before.T @ passes.later[first:]) * transitions.weights
    begin, L = passes.posterior[:first, :-1].sum(0), len(pairs)
    width = np.concatenate([_jump_widths(L, middle).ravel(), _first_widths(L, middle)])
    return np.bincount(width, np.concatenate([pairs.ravel(), begin]), widths)
