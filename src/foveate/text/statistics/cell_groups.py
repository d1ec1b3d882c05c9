"""Cells (t, l) of sentence pairs grouped by the pair of words that meet there, in linear time.

Grouping by sorting the pairs of words of all cells takes half of the time of a fit of IBM Model 1.
Here target tokens are put in order of their words, and the cells of these rows are transposed as a
sparse matrix, which is a counting sort by source word. The cells of a source word are then in order
of their target words.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from scipy import sparse

from foveate.errors import FoveateError
from foveate.text.statistics.word_pairs import is_new
from foveate.text.tokens import Tokens
from foveate.types import Array

__all__ = ["CellGroup", "RowOrder", "cell_groups", "row_order"]

CELLS = 1 << 20  # cells of a group at least, before a new one begins: some 40 MB while it is made
MAX_HELD_CELLS = (
    1 << 28
)  # cells held in memory, at 4 bytes each; more are grouped again when needed


class RowOrder(NamedTuple):
    """Target tokens in order of their words.

    Args:
        words: The target word of each row, ascending, shape (R,).
        pair: The sentence pair of each row, shape (R,).
    """

    words: Array
    pair: Array


class CellGroup(NamedTuple):
    """All cells of some source words.

    Args:
        keys: The pairs of words i · O + o that meet, ascending, shape (K,).
        cells: How often each pair of words meets in each row, shape (K, R).
        by_row: The same transposed, shape (R, K), in the same memory.
    """

    keys: Array
    cells: sparse.csr_array
    by_row: sparse.csc_array


def row_order(target: Tokens, size: int) -> RowOrder:
    """The order of target tokens by word, then by position.

    Args:
        target: Texts of ids below ``size``.
        size: Number of target words.
    """
    ids = target.ids.numpy()
    # NumPy sorts 16-bit integers by radix, larger ones by comparison.
    order = np.argsort(ids.astype(np.uint16) if size <= 1 << 16 else ids, kind="stable")
    return RowOrder(ids[order], target.text.numpy()[order])


def cell_groups(
    source: Tokens, target: Tokens, size: tuple[int, int], rows: RowOrder
) -> Callable[[], Iterable[CellGroup]]:
    """Groups of cells by ascending source words, as often as called for.

    Up to MAX_HELD_CELLS are kept; those of more are grouped again on every call.

    Args:
        source: Texts of ids below I.
        target: Texts of ids below O, one for each source.
        size: Number of source and of target words (I, O).
        rows: The target's :func:`row_order`.
    """
    if len(source) != len(target):
        raise FoveateError(f"every source needs a target: got {len(source)} and {len(target)}")
    cells = source.lengths * target.lengths
    if int(cells.sum()) > MAX_HELD_CELLS:
        return lambda: _groups(source, target, size, rows)
    groups = list(_groups(source, target, size, rows))
    return lambda: groups


def _groups(
    source: Tokens, target: Tokens, size: tuple[int, int], rows: RowOrder
) -> Iterator[CellGroup]:
    ids, pair = source.ids.numpy(), source.text.numpy()
    ends = np.cumsum(np.bincount(ids, target.lengths.numpy()[pair], size[0]))
    most = max(CELLS, 4 * len(rows.words))  # a group costs time in proportion to all rows
    by_pair, low = np.ones(0), 0
    while low < size[0]:
        before = ends[low - 1] if low else 0
        high = max(low + 1, int(np.searchsorted(ends, before + most, side="right")))
        inside = (ids >= low) & (ids < high)
        lengths = np.bincount(pair[inside], minlength=len(source))
        keys, start, row = _grouped(ids[inside] - low, lengths, high - low, rows, size[1])
        by_pair = by_pair if len(by_pair) >= len(row) else np.ones(len(row))  # shared by all groups
        cells = sparse.csr_array((by_pair[: len(row)], row, start), (len(keys), len(rows.words)))
        yield CellGroup(keys + low * size[1], cells, cells.T)
        low = high


def _grouped(
    ids: Array, lengths: Array, words: int, rows: RowOrder, size: int
) -> tuple[Array, Array, Array]:
    """The pairs of words that meet, where the cells of each begin, and the rows of the cells."""
    per_row = lengths[rows.pair]
    start = np.concatenate([[0], np.cumsum(per_row)])
    begin = (np.cumsum(lengths) - lengths)[rows.pair] - start[:-1]
    column = ids[np.arange(start[-1]) + np.repeat(begin, per_row)]
    by_row = sparse.csr_array(
        (np.zeros(len(column), np.int8), column, start), (len(per_row), words)
    )
    by_word = by_row.tocsc()
    target = rows.words[by_word.indices]
    first = is_new(target)
    first[by_word.indptr[:-1][np.diff(by_word.indptr) > 0]] = True
    begins = np.flatnonzero(first)
    word = np.searchsorted(by_word.indptr, begins, side="right") - 1
    return word * size + target[begins], np.append(begins, len(column)), by_word.indices
