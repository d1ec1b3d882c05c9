"""Sparse tables of translation probabilities: estimation from expected counts, and entry lookup."""

import numpy as np
from scipy import sparse

from foveate.text.statistics.word_pairs import number
from foveate.types import Array

__all__ = ["normalised", "table_keys", "table_positions"]

# Up to these a table with a place for every number below the largest key is faster than sorting.
DENSE_RATIO = 16  # numbers to a query
DENSE_SIZE = 1 << 22


def normalised(counts: Array, row_sizes: Array, prior: float = 0.0) -> Array:
    r"""Rows of expected counts as (sub-)probabilities.

    Without a prior :math:`\theta_{i,o} = c_{i,o} / \sum_{o'} c_{i,o'}`. With a Dirichlet prior the
    mean-field value of variational Bayes,
    :math:`\exp(\psi(c_{i,o} + a) - \psi(\sum_{o'} (c_{i,o'} + a)))`, which takes probability away
    from rare pairs of words.

    Args:
        counts: Expected counts of the entries of a sparse table, row by row, shape (K,).
        row_sizes: Number of entries of each row, shape (I,).
        prior: Concentration a of the Dirichlet prior for each entry; 0 for none.

    Example:
        >>> normalised(np.array([1.0, 3.0, 5.0]), np.array([2, 1]))
        array([0.25, 0.75, 1.  ])
    """
    row = np.repeat(np.arange(len(row_sizes)), row_sizes)
    total = np.bincount(row, counts, len(row_sizes))
    if prior:
        from scipy.special import digamma

        return np.exp(digamma(counts + prior) - digamma(total + prior * row_sizes)[row])
    return counts / np.maximum(total, np.finfo(float).tiny)[row]


def table_keys(table: sparse.csr_array) -> Array:
    """The numbers i · O + o of the stored entries (i, o), ascending."""
    row = np.repeat(np.arange(table.shape[0], dtype=np.int64), np.diff(table.indptr))
    return row * table.shape[1] + table.indices


def table_positions(keys: Array, queries: Array) -> Array:
    """Positions of queries in sorted keys, ``len(keys)`` where absent.

    Args:
        keys: Sorted, different from each other, shape (K,).
        queries: Keys in any order, shape (N,).

    Example:
        >>> table_positions(np.array([2, 5, 7]), np.array([7, 3, 2]))
        array([2, 3, 0], dtype=int32)
    """
    if len(keys) and keys[-1] < min(DENSE_SIZE, DENSE_RATIO * len(queries)):
        table = np.full(keys[-1] + 2, len(keys), np.int32)
        table[keys] = np.arange(len(keys))
        return table[np.minimum(queries, keys[-1] + 1)]
    different, positions = number(queries)
    at = np.searchsorted(keys, different)
    at[np.append(keys, -1)[at] != different] = len(keys)
    return at.astype(np.int32)[positions]
