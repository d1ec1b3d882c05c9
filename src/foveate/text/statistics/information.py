"""The information within a sentence: does Trans(y_t|x_l) distinguish the positions l?

Attention can only learn to look where some positions carry more information than others. A table
that is not flat is no guarantee: in a mixture of two permutation sets each word determines its set,
and within a sentence all positions still carry the same information. [snell21] Sec. 3.3, A.3
"""

import numpy as np
import torch
from scipy import sparse

from foveate.randomness import generator
from foveate.text.statistics.cooccurrence import count_table, translation_probabilities
from foveate.text.statistics.pair_tables import Tables
from foveate.text.tokens import Tokens
from foveate.types import Array

__all__ = [
    "by_word",
    "crossed",
    "information",
    "shared_information",
    "shared_terms",
    "terms",
]


def terms(alpha: Tables) -> Tables:
    r"""What each cell adds to its row's information, :math:`\alpha_l \log(L\,\alpha_l)` in nats.

    Args:
        alpha: Rows that sum to 1, such as α_IBM.
    """
    inside = np.where(alpha.values > 0, alpha.values * alpha.spread(alpha.lengths), 1.0)
    return alpha.filled(alpha.values * np.log(inside))


def information(alpha: Tables) -> Array:
    r"""How far each row is from uniform, in nats: 0 where all positions are equally informative.

    .. math:: \mathrm{KL}(\alpha\,\|\,\tfrac1L) = \sum_l \alpha_l \log(L\,\alpha_l)

    A table counted from few sentences is noisy, and this is positive for pure noise; see
    :func:`shared_information`.

    Returns:
        Shape (R,), a value for each output position.

    Example:
        >>> information(Tables.of([[[0.5, 0.5], [1.0, 0.0]]])).round(3)
        array([0.   , 0.693])
    """
    return terms(alpha).sums()


def shared_terms(alpha: Tables, other: Tables) -> Tables:
    r"""What each cell adds to its row's shared information, :math:`\tfrac L2 (\alpha_l - \tfrac1L)
    (\alpha'_l - \tfrac1L)`, of two α from independent tables.
    """
    level = alpha.spread(1 / alpha.lengths)
    return alpha.filled((alpha.values - level) * (other.values - level) / (2 * level))


def shared_information(alpha: Tables, other: Tables) -> Array:
    r"""How far from uniform two independent tables agree that each row is, in nats.

    .. math:: \tfrac L2 \sum_l (\alpha_l - \tfrac1L)(\alpha'_l - \tfrac1L)

    For :math:`\alpha = \alpha'` near uniform this is :func:`information` to second order (half of
    χ²; beyond, it is larger). Their noise is independent, so that pure noise gives 0
    on average, up to the bias of the normalisation: compare with a permuted control.

    Args:
        alpha: Rows that sum to 1, from :func:`crossed`.
        other: The other ones.

    Returns:
        Shape (R,), a value for each output position, negative where the two contradict each other.
    """
    return shared_terms(alpha, other).sums()


def by_word(parts: Tables, words: Tokens, size: int) -> Array:
    """What each source word adds to the mean information; the sum over words is that mean.

    Args:
        parts: From :func:`terms` or :func:`shared_terms`.
        words: The sources.
        size: Number of source words.

    Returns:
        Shape (size,), negative for words that are evidence against their outputs.
    """
    totals = np.bincount(words.ids.numpy()[parts.column], parts.values, size)
    return totals / len(parts.lengths)


def crossed(
    source: Tokens,
    target: Tokens,
    size: tuple[int, int],
    *parts: str | int,
    smoothing: float = 1.0,
) -> tuple[Tables, Tables]:
    """Two α_IBM for every pair, from two tables that share no sentence with it or each other.

    Pairs are assigned at random to three folds; a fold is measured by the tables counted on each of
    the other two, so that :func:`shared_information` sees only what both confirm.

    Args:
        source: Input texts.
        target: Output texts, one for each input.
        size: Number of input and of output words (I, O).
        parts: Words and numbers that decide the folds.
        smoothing: Pseudo-count of the prior; in the unit of the count table it is
            multiplied by the mean of what one occurrence adds. Positive, so that a word
            missing from a fold is uninformative.
    """
    order = torch.randperm(len(source), generator=generator("folds", *parts))
    folds = [rows.sort().values for rows in order.tensor_split(3)]
    pairs = [(source.take(rows), target.take(rows)) for rows in folds]
    tables = [count_table(x, y, size) for x, y in pairs]
    kappa = smoothing * len(target.ids) / len(source.ids)
    back = torch.cat(folds).argsort().numpy()
    return _measured(tables, pairs, kappa, 1, back), _measured(tables, pairs, kappa, 2, back)


def _measured(
    tables: list[sparse.csr_array],
    pairs: list[tuple[Tokens, Tokens]],
    kappa: float,
    shift: int,
    back: Array,
) -> Tables:
    """α_IBM of each fold by the table ``shift`` folds on, in the order of the data."""
    parts = [
        translation_probabilities(tables[(fold + shift) % 3], x, y, smoothing=kappa).shares()
        for fold, (x, y) in enumerate(pairs)
    ]
    return Tables.join(parts).take(back)
