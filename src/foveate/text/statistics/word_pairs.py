"""Cells: every (t, l) of a pair of texts, as the pair of words that meet there."""

from collections.abc import Iterator

import numpy as np

from foveate.errors import FoveateError
from foveate.text.statistics.pair_tables import Tables
from foveate.text.tokens import Tokens
from foveate.types import Array

__all__ = ["CELLS", "check_ids", "chunks", "is_new", "number", "sizes", "word_pairs"]


CELLS = 1 << 20  # cells processed together: about 50 MB with intermediate results


def check_ids(tokens: Tokens, size: int) -> None:
    """Raise unless all ids are from 0 to ``size`` − 1."""
    low, high = int(tokens.ids.min()), int(tokens.ids.max())
    if low < 0 or high >= size:
        raise FoveateError(f"ids must be from 0 to {size - 1}, got {low} to {high}")


def sizes(source: Tokens, target: Tokens, size: tuple[int, int] | None) -> tuple[int, int]:
    """Number of source and of target words: ``size`` if all ids fit, or from the largest ids."""
    sizes = size or (int(source.ids.max()) + 1, int(target.ids.max()) + 1)
    check_ids(source, sizes[0])
    check_ids(target, sizes[1])
    return sizes


def chunks(source: Tokens, target: Tokens, cells: int = CELLS) -> Iterator[tuple[Tokens, Tokens]]:
    """Pairs in order, in chunks of at most ``cells`` cells, or of one pair that has more."""
    if len(source) != len(target):
        raise FoveateError(f"every source needs a target: got {len(source)} and {len(target)}")
    ends = (source.lengths * target.lengths).cumsum(0).numpy()
    done = 0
    while done < len(source):
        before = int(ends[done - 1]) if done else 0
        stop = max(done + 1, int(np.searchsorted(ends, before + cells, side="right")))
        yield _slice(source, done, stop), _slice(target, done, stop)
        done = stop


def word_pairs(source: Tokens, target: Tokens, size: int) -> Tables:
    """The number x_l · size + y_t of the word pair in every cell.

    Args:
        source: Texts x.
        target: Texts y of ids below ``size``, one for each source.
        size: Number of target words.
    """
    form = Tables.blank(source.lengths.numpy(), target.lengths.numpy())
    rows = (source.ids.numpy().astype(np.int64) * size)[form.column]
    return form.filled(rows + form.spread(target.ids.numpy()))


def number(keys: Array) -> tuple[Array, Array]:
    """The different keys in order, and for each key its place among them.

    Key and position share a word of 63 bits where they fit, so that one sort suffices:
    four times as fast as ``np.unique``.

    Args:
        keys: Whole numbers from 0 on, shape (N,).

    Returns:
        Keys (K,) and places (N,).

    Example:
        >>> number(np.array([7, 3, 7]))
        (array([3, 7]), array([1, 0, 1], dtype=int32))
    """
    shift = len(keys).bit_length()
    if int(keys.max(initial=0)) >> (63 - shift):
        return np.unique(keys, return_inverse=True)
    packed = np.sort(keys << shift | np.arange(len(keys)))
    ordered = packed >> shift
    first = is_new(ordered)
    positions = np.empty(len(keys), np.int32)
    positions[packed & ((1 << shift) - 1)] = np.cumsum(first) - 1
    return ordered[first], positions


def is_new(ordered: Array) -> Array:
    """Where a sorted row (N,) shows a value for the first time."""
    first = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return first


def _slice(tokens: Tokens, begin: int, end: int) -> Tokens:
    start = tokens.start[begin : end + 1]
    return Tokens(tokens.ids[int(start[0]) : int(start[-1])], start - start[0])
