"""Agreement A(u, v) of two rankings of the words of a text, its random level, and ξ.

Rows of different lengths are concatenated (:mod:`foveate.metrics.ragged`): a row is one
output position t of one text, its values belong to the text's positions l. [snell21] Sec. 3.1
"""

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from foveate.errors import FoveateError
from foveate.metrics.ragged import check_numbers, equal_length_groups, maxima, padded
from foveate.types import Array

__all__ = [
    "SHARE",
    "Context",
    "agreement",
    "contextual",
    "fair_agreement",
    "random_level",
]


SHARE = 0.05  # [snell21] Sec. 3.1: among the top 5 %


def agreement(u: Array, v: Array, start: Array, share: float = SHARE) -> Array:
    r"""Whether the top of u is among the top 5 % of v, in the paper's form.

    .. math:: A(u, v) = 1\big[\,|\{j : v_j > v_{\arg\max u}\}| < .05\,L\,\big]

    The strict ">" gives a constant v agreement 1, and the first of several maxima of u is taken;
    see :func:`fair_agreement`. A is not symmetric.

    Args:
        u: Rows of the first quantity, shape (N,).
        v: Rows of the second, shape (N,).
        start: Where each row begins, and N at the end, shape (R + 1,).
        share: How much of a row counts as its top.

    Returns:
        Boolean, shape (R,); its mean is the published number.

    Example:
        >>> agreement(np.array([0.1, 0.9]), np.array([2.0, 2.0]), np.array([0, 2]))
        array([ True])
    """
    check_numbers(v)
    above, _ = _rank(v, v[maxima(u, start)[1]], start)
    return above < _top_counts(np.diff(start), share)


def fair_agreement(u: Array, v: Array, start: Array, share: float = SHARE) -> Array:
    r"""Agreement expected when ties are broken at random, in u's maximum and in v's ranking.

    With g values of v above that of the chosen position and e equal to it (itself included), its
    rank is one of g, …, g + e − 1, and A is the probability that it is below :math:`c = \lceil
    .05\,L \rceil`: :math:`\min(\max(c - g, 0), e)/e`. Several maxima of u are averaged. A constant
    u or v gives exactly :func:`random_level`; without ties this is :func:`agreement`.

    Args:
        u: Rows of the first quantity, shape (N,).
        v: Rows of the second, shape (N,).
        start: Where each row begins, and N at the end, shape (R + 1,).
        share: How much of a row counts as its top.

    Returns:
        Shape (R,).

    Example:
        >>> fair_agreement(np.array([0.1, 0.9]), np.array([2.0, 2.0]), np.array([0, 2]))
        array([0.5])
    """
    check_numbers(v)
    tops, first = maxima(u, start)
    lengths = np.diff(start)
    top_count = _top_counts(lengths, share)
    above, equal = _rank(v, v[first], start)
    probability = np.clip(top_count - above, 0, equal) / equal
    row = np.searchsorted(start, tops, side="right") - 1
    tied = np.flatnonzero(np.bincount(row, minlength=len(lengths)) > 1)
    for rows in equal_length_groups(lengths, tied):
        probability[rows] = _share_of_tied_maxima(
            padded(u, start, rows), padded(v, start, rows), top_count[rows]
        )
    return probability


def random_level(lengths: Array, share: float = SHARE) -> Array:
    r"""Agreement of a random u with any v, :math:`\lceil .05\,L \rceil / L`, shape (R,).

    The paper's Â; 7 to 8 % on short sentences, not 5 %.

    Args:
        lengths: Length L of each row, shape (R,).
        share: How much of a row counts as its top.
    """
    return _top_counts(np.asarray(lengths), share) / lengths


class Context(NamedTuple):
    """Performance ξ, the checkpoint it was read at, and whether the level was ever passed."""

    performance: float
    checkpoint: int
    reached: bool


def contextual(level: float, curve: Array, performance: Array) -> Context:
    r"""Contextual agreement, :math:`\xi(u,v) = p(\inf\{\tau : A(\alpha,\alpha(\tau)) > A(u,v)\})`.

    The first checkpoint whose agreement is strictly above the level counts, even if a later one
    falls below it again. Where none is, ξ is the last performance and ``reached`` is False: the two
    quantities agree better than two trainings ever do.

    Args:
        level: A(u, v).
        curve: A(α, α(τ)) at each checkpoint, shape (T,).
        performance: p(τ) at each checkpoint, shape (T,).

    Example:
        >>> contextual(0.3, np.array([0.1, 0.4, 0.5]), np.array([0.5, 0.7, 0.8]))
        Context(performance=0.7, checkpoint=1, reached=True)
    """
    if len(curve) != len(performance) or not len(curve):
        raise FoveateError(
            f"agreement and performance belong to the same checkpoints, got {len(curve)} and "
            f"{len(performance)}"
        )
    check_numbers(np.asarray(curve))
    above = np.flatnonzero(np.asarray(curve) > level)
    first = int(above[0]) if len(above) else len(curve) - 1
    return Context(float(performance[first]), first, bool(len(above)))


def _top_counts(lengths: Array, share: float) -> Array:
    """⌈share · L⌉ in whole numbers: .05 · 140 is 7.000000000000001 in floating point."""
    exact = Fraction(str(share))
    return -(-lengths * exact.numerator // exact.denominator)


def _rank(v: Array, chosen: Array, start: Array) -> tuple[Array, Array]:
    """How many values of each row are above its chosen one, and how many equal it."""
    spread = np.repeat(chosen, np.diff(start))
    counts = (np.add.reduceat(hit, start[:-1], dtype=np.intp) for hit in (v > spread, v == spread))
    above, equal = counts
    return above, equal


def _share_of_tied_maxima(u: Array, v: Array, top_count: Array) -> Array:
    """The share of u's maxima expected among the first ``top_count`` of v, for padded rows.

    Values above the last of them count in full; values equal to it share the remaining ranks.
    """
    edge = -np.take_along_axis(np.sort(-v, 1), top_count[:, None] - 1, 1)
    best, above, level = u == np.nanmax(u, 1, keepdims=True), v > edge, v == edge
    remaining = (top_count - above.sum(1)) / level.sum(1)
    return ((best & above).sum(1) + remaining * (best & level).sum(1)) / best.sum(1)
