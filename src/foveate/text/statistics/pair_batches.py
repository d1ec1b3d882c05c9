"""Batches of sentence pairs of similar length, time first, for recursions over words."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from foveate.text.statistics.translation_table import table_positions
from foveate.text.tokens import Tokens
from foveate.types import Array

__all__ = ["PairBatch", "pair_batches"]

CELLS = 1 << 20  # padded cells of a batch
RATIO = 1.25  # longest to shortest source of a batch
FEW = 128  # pairs that make a batch whatever their lengths: padding costs less than another batch


@dataclass(frozen=True)
class PairBatch:
    """B pairs by falling target length; their target words are R rows, ordered by t, then by pair.

    Args:
        pairs: The pairs' numbers in the corpus, shape (B,).
        lengths: Source lengths, shape (B,).
        active: How many pairs have a word at each t, shape (T,), non-increasing.
        pair: The pair within the batch of each row, shape (R,).
        t: The target position of each row, shape (R,).
        entry: Which entry of the translation table each cell needs, shape (R, L + 1) with NULL
            last; K where the table has none, K + 1 beyond the end of a source.
    """

    pairs: Array
    lengths: Array
    active: Array
    pair: Array
    t: Array
    entry: Array

    @cached_property
    def real(self) -> Array:
        """True where there is a source word, shape (B, L)."""
        return np.arange(self.entry.shape[1] - 1) < self.lengths[:, None]


def pair_batches(
    source: Tokens, target: Tokens, keys: Array, size: tuple[int, int]
) -> Iterator[PairBatch]:
    """All pairs in batches.

    Args:
        source: Texts of ids below I.
        target: Texts of ids below O, one for each source.
        keys: The table's entries i · O + o, sorted; i = I is NULL.
        size: Number of source and of target words (I, O).
    """
    L, T = source.lengths.numpy(), target.lengths.numpy()
    order = np.lexsort((-T, L))
    lengths, done = L[order], 0
    while done < len(order):
        longest = max(RATIO * lengths[done], lengths[done] + 2)
        stop = int(np.searchsorted(lengths, longest, side="right"))
        stop = min(max(stop, done + FEW), len(order))
        padded = (lengths[stop - 1] + 1) * T[order[done:stop]].max()
        stop = min(stop, done + max(1, CELLS // int(padded)))
        pairs = order[done:stop]
        yield _batch(source, target, pairs[np.argsort(-T[pairs], kind="stable")], keys, size)
        done = stop


def _batch(
    source: Tokens, target: Tokens, pairs: Array, keys: Array, size: tuple[int, int]
) -> PairBatch:
    lengths, ends = source.lengths.numpy()[pairs], target.lengths.numpy()[pairs]
    t, pair = np.nonzero(np.arange(ends.max())[:, None] < ends)
    y = target.ids.numpy()[target.start.numpy()[pairs][pair] + t]
    x = np.full((len(pairs), lengths.max() + 1), size[0])
    real = np.arange(x.shape[1]) < lengths[:, None]
    within = np.repeat(source.start.numpy()[pairs], lengths)
    step = np.arange(len(within)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    x[real] = source.ids.numpy()[within + step]
    needed = x[pair] * size[1] + y[:, None]
    entry = table_positions(keys, needed.ravel()).reshape(needed.shape)
    real[:, -1] = True  # NULL
    entry[~real[pair]] = len(keys) + 1
    return PairBatch(pairs, lengths, np.bincount(t), pair, t, entry)
