"""Which words occur together: the count table C, Trans(o|i), and what they say of each pair.

In the notation of [snell21] Sec. 4: i is a word of the input, o one of the output, l and t are
their positions. A labelled text is a pair whose target is only the label (:func:`label_targets`).
"""

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from foveate.randomness import generator
from foveate.text.statistics.pair_tables import Tables
from foveate.text.statistics.word_pairs import check_ids, chunks, number, sizes, word_pairs
from foveate.text.tokens import Tokens
from foveate.types import Array

__all__ = [
    "bags",
    "count_table",
    "label_targets",
    "lookup",
    "permuted",
    "translation_probabilities",
    "translations",
]


def label_targets(y: Tensor) -> Tokens:
    """Labels (n,) as targets of one token, so that labelled texts are pairs with T = 1."""
    return Tokens(y.long(), torch.arange(len(y) + 1))


def permuted(target: Tokens, *parts: str | int) -> Tokens:
    """The targets in random order, determined by ``parts``: a control without any relation."""
    order = torch.randperm(len(target), generator=generator("permuted targets", *parts))
    return target.take(order)


def bags(tokens: Tokens, size: int) -> sparse.csr_array:
    """How often each text holds each word, a sparse matrix (n, size).

    Args:
        tokens: Texts of ids below ``size``.
        size: Number of words.
    """
    check_ids(tokens, size)
    ids, start = tokens.ids.numpy(), tokens.start.numpy()
    counts = sparse.csr_array((np.ones(len(ids)), ids, start), (len(tokens), size), copy=True)
    counts.sum_duplicates()  # in place, hence the copy
    return counts


def count_table(
    source: Tokens, target: Tokens, size: tuple[int, int] | None = None
) -> sparse.csr_array:
    r"""The count table, by sparse products of bags of words. [snell21] Eq. 13

    .. math:: C_{i,o} = \sum_m \sum_l \sum_t \tfrac{1}{L_m}\, 1[x_l = i]\, 1[y_t = o]

    Args:
        source: Input texts x.
        target: Output texts y, one for each input.
        size: Number of input and of output words (I, O); from the largest ids by default.

    Returns:
        Shape (I, O).

    Example:
        >>> pairs = Tokens.of([[0, 1], [0]]), Tokens.of([[1], [0, 0]])
        >>> count_table(*pairs).toarray()
        array([[2. , 0.5],
               [0. , 0.5]])
    """
    I, O = sizes(source, target, size)  # noqa: E741
    table = sparse.csr_array((I, O))
    for x, y in chunks(source, target):
        shares = sparse.diags_array(1 / x.lengths.numpy()) @ bags(x, I)
        table = table + shares.T.tocsr() @ bags(y, O)
    table.sort_indices()
    return table


def translations(counts: sparse.csr_array) -> sparse.csr_array:
    r""":math:`\mathrm{Trans}(o|i) = C_{i,o} / \sum_{o'} C_{i,o'}`; rows without counts stay empty.

    [snell21] Eq. 14
    """
    total = counts.sum(1)
    row_totals = np.repeat(np.where(total > 0, total, 1.0), np.diff(counts.indptr))
    return sparse.csr_array((counts.data / row_totals, counts.indices, counts.indptr), counts.shape)


def lookup(table: sparse.csr_array, source: Tokens, target: Tokens) -> Tables:
    """The entries table[x_l, y_t] of every cell (t, l) of every pair, 0 where there is none.

    With ``table = translations(counts)`` this is β_IBM, and its ``shares()`` are α_IBM.
    [snell21] Eqs 15, 16

    Args:
        table: A sparse matrix (I, O) with sorted indices.
        source: Texts of ids below I.
        target: Texts of ids below O, one for each source.
    """
    check_ids(source, table.shape[0])
    check_ids(target, table.shape[1])
    keys = np.repeat(np.arange(table.shape[0]) * table.shape[1], np.diff(table.indptr))
    keys += table.indices
    parts = [_entries(table.data, keys, table.shape[1], x, y) for x, y in chunks(source, target)]
    return Tables.join(parts)


def translation_probabilities(
    counts: sparse.csr_array, source: Tokens, target: Tokens, *, smoothing: float = 0.0
) -> Tables:
    r"""β_IBM of every cell, smoothed towards how frequent the output word is.

    .. math:: \beta_{t,l} = \frac{C_{x_l,y_t} + \kappa\, p_{y_t}}{\sum_o C_{x_l,o} + \kappa},
        \quad p_o = \sum_i C_{i,o} / \sum_{i,o'} C_{i,o'}

    With κ = 0 this is the paper's Trans(y_t|x_l). With κ > 0 an unseen word is uninformative,
    whereas Trans = 0 would be evidence against it.

    Args:
        counts: The count table C, shape (I, O).
        source: Texts of ids below I.
        target: Texts of ids below O, one for each source.
        smoothing: κ, in the unit of C.
    """
    entries = lookup(counts, source, target)
    frequent = counts.sum(0)
    prior = entries.spread(smoothing * frequent[target.ids.numpy()] / max(frequent.sum(), 1e-300))
    total = (counts.sum(1) + smoothing)[source.ids.numpy()][entries.column]
    return entries.filled((entries.values + prior) / np.where(total > 0, total, 1.0))


def _entries(data: Array, keys: Array, size: int, source: Tokens, target: Tokens) -> Tables:
    """The data at the keys of the cells' word pairs; ``keys`` are sorted, and not all are there."""
    cells = word_pairs(source, target, size)
    keys_needed, positions = number(cells.values)
    at = np.searchsorted(keys, keys_needed)
    hits = np.flatnonzero(np.append(keys, -1)[at] == keys_needed)
    entries = np.zeros(len(keys_needed))
    entries[hits] = data[at[hits]]
    return cells.filled(entries[positions])
