r"""IBM Model 1 with a prior for the diagonal, as fast_align. Dyer, Chahuneau & Smith (2013)

Target word t = 1 … T of a pair comes from NULL with probability :math:`p_0`, and else from source
word l = 1 … L with a probability in proportion to
:math:`\exp(-\lambda\,|t/T - l/L|)`; λ is learnt.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from foveate.errors import FoveateError
from foveate.text.statistics.ibm1 import fit_ibm1, with_null
from foveate.text.statistics.pair_tables import Tables
from foveate.text.statistics.translation_table import normalised, table_keys, table_positions
from foveate.text.statistics.word_pairs import check_ids, chunks, sizes, word_pairs
from foveate.text.tokens import Tokens
from foveate.types import Array

__all__ = ["DiagonalModel", "fit_diagonal"]

# fast_align has .08 and .01; these were chosen on the trial pairs of Hansards.
NULL, PRIOR = 0.3, 0.05
TENSION, LEAST, MOST = 4.0, 0.1, 14.0  # λ at the start, and its bounds, as fast_align
ASCENTS, RATE = 8, 20.0  # steps on λ in an iteration, as fast_align
UNSEEN = 1e-12  # probability of a pair of words that never met in training


@dataclass(frozen=True)
class DiagonalModel:
    """Translation probabilities and the tension of the diagonal.

    Args:
        table: Trans(o|i), sparse, shape (I + 1, O), NULL as the last word.
        tension: λ.
        null: Probability p₀ that a word comes from NULL.
        log_likelihood: Of the targets before each iteration, in nats, shape (iterations,).
    """

    table: sparse.csr_array
    tension: float
    null: float
    log_likelihood: Array

    def posteriors(self, source: Tokens, target: Tokens) -> Tables:
        """Where each target word comes from; NULL is a last position."""
        words, size = self.table.shape[0] - 1, self.table.shape[1]
        check_ids(source, words)
        check_ids(target, size)
        keys, theta = table_keys(self.table), np.append(self.table.data, UNSEEN)
        parts = []
        for x, y in chunks(with_null(source, words), target):
            part = _part(x, y, keys, size)
            parts.append(part.form.filled(self._joint(part, theta)).shares())
        return Tables.join(parts)

    def align(self, source: Tokens, target: Tokens) -> list[set[tuple[int, int]]]:
        """Links (l, t) from each target position to its likeliest source, none where it is NULL."""
        return self.posteriors(source, target).links(null=True)

    def _joint(self, part: "_Part", theta: Array) -> Array:
        return (
            _position_prior(part.form, part.distance, self.tension, self.null) * theta[part.entry]
        )


class _Part(NamedTuple):
    """Some pairs: the form of their tables, the distance from the diagonal and the table's entry
    of every cell (N,). The distance of NULL is infinite.
    """

    form: Tables
    distance: Array
    entry: Array


def fit_diagonal(
    source: Tokens,
    target: Tokens,
    size: tuple[int, int] | None = None,
    *,
    iterations: int = 5,
    null: float = NULL,
    prior: float = PRIOR,
    report: Callable[[int, int], None] = lambda _done, _total: None,
) -> DiagonalModel:
    """Fit by expectation–maximisation, from a uniform table.

    Args:
        source: Input texts.
        target: Output texts, one for each input.
        size: Number of input and of output words (I, O); from the largest ids by default.
        iterations: Iterations, 1 or more.
        null: Probability p₀ of NULL.
        prior: Concentration of the Dirichlet prior of the table.
        report: Called as ``report(iterations done, iterations in all)``.

    Example:
        >>> same = Tokens.of([[0, 1], [0, 2], [3, 2]])
        >>> (links,) = fit_diagonal(same, same).align(Tokens.of([[3, 1]]), Tokens.of([[3, 1]]))
        >>> sorted(links)
        [(0, 0), (1, 1)]
    """
    if iterations < 1:
        raise FoveateError(f"iterations must be 1 or more, got {iterations}")
    I, O = sizes(source, target, size)  # noqa: E741
    form = fit_ibm1(source, target, (I, O), iterations=1, null=True).counts
    keys, uniform = table_keys(form), np.full(form.nnz, 1 / O)
    parts = [_part(x, y, keys, O) for x, y in chunks(with_null(source, I), target)]
    shapes = _Shapes.of(source, target)
    model = DiagonalModel(_table(uniform, form), TENSION, null, np.empty(0))
    for k in range(iterations):
        expected, distance, likelihood = _expected(model, parts)
        table = _table(normalised(expected, np.diff(form.indptr), prior), form)
        history = np.append(model.log_likelihood, likelihood)
        model = DiagonalModel(table, _tension(model, shapes, distance), null, history)
        report(k + 1, iterations)
    return model


def _table(data: Array, form: sparse.csr_array) -> sparse.csr_array:
    return sparse.csr_array((data, form.indices, form.indptr), form.shape)


def _part(source: Tokens, target: Tokens, keys: Array, size: int) -> _Part:
    cells = word_pairs(source, target, size)
    return _Part(cells, _distance(cells), table_positions(keys, cells.values))


def _distance(form: Tables) -> Array:
    """|t/T − l/L| of every cell, t and l counted from 1; infinite for NULL, the last position."""
    L, T = form.lengths - 1, form.target[form.pair]
    first = np.concatenate([[0], np.cumsum(form.target)])[form.pair]
    t = (np.arange(len(L)) - first + 1) / T
    l = np.arange(1, form.start[-1] + 1) - form.spread(form.start[:-1])  # noqa: E741
    distance = np.abs(form.spread(t) - l / form.spread(L))
    distance[form.start[1:] - 1] = np.inf
    return distance


def _position_prior(form: Tables, distance: Array, tension: float, null: float) -> Array:
    """The probability of every position before the words are seen; rows sum to 1."""
    weight = np.exp(-tension * distance)
    prior = weight * form.spread((1 - null) / np.add.reduceat(weight, form.start[:-1]))
    prior[form.start[1:] - 1] = null
    return prior


def _expected(model: DiagonalModel, parts: list[_Part]) -> tuple[Array, float, float]:
    """Expected counts of word pairs, mean distance from the diagonal, log-likelihood."""
    theta = np.append(model.table.data, UNSEEN)
    counts, distance, likelihood = np.zeros(len(theta)), 0.0, 0.0
    for part in parts:
        joint = model._joint(part, theta)
        total = np.add.reduceat(joint, part.form.start[:-1])
        joint /= part.form.spread(total)
        counts += np.bincount(part.entry, joint, len(theta))
        distance += float(np.dot(joint, np.where(np.isinf(part.distance), 0.0, part.distance)))
        likelihood += float(np.log(total).sum())
    rows = sum(len(part.form.lengths) for part in parts)
    return counts[:-1], distance / rows, likelihood


class _Shapes(NamedTuple):
    """The different sizes (L, T) of pairs: one table each, and how many pairs have it."""

    form: Tables
    distance: Array
    pairs: Array

    @classmethod
    def of(cls, source: Tokens, target: Tokens) -> "_Shapes":
        sizes = np.column_stack([source.lengths.numpy() + 1, target.lengths.numpy()])
        different, pairs = np.unique(sizes, axis=0, return_counts=True)
        form = Tables.blank(different[:, 0], different[:, 1])
        return cls(form, _distance(form), pairs)

    def mean_distance(self, tension: float, null: float) -> float:
        """The mean distance from the diagonal that the prior expects."""
        prior = _position_prior(self.form, self.distance, tension, null)
        prior *= np.where(np.isinf(self.distance), 0.0, self.distance)
        rows = np.add.reduceat(prior, self.form.start[:-1])
        weights = self.pairs[self.form.pair]
        return float(np.dot(rows, weights) / weights.sum())


def _tension(model: DiagonalModel, shapes: _Shapes, distance: float) -> float:
    """λ after some steps of gradient ascent on the expected log-likelihood."""
    tension = model.tension
    for _ in range(ASCENTS):
        tension += RATE * (shapes.mean_distance(tension, model.null) - distance)
        tension = float(np.clip(tension, LEAST, MOST))
    return tension
