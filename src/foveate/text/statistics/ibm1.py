"""IBM Model 1 by expectation–maximisation: which word translates into which, word order ignored.

Brown, Della Pietra, Della Pietra & Mercer (1993), as [snell21] Sec. 4.2 uses it.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from scipy import sparse

from foveate.errors import FoveateError
from foveate.text.statistics.cooccurrence import lookup
from foveate.text.statistics.pair_tables import Tables
from foveate.text.statistics.word_pairs import check_ids, chunks, distinct, fresh, sizes, word_pairs
from foveate.text.tokens import Tokens
from foveate.types import Array

__all__ = ["Model1", "fit_ibm1", "with_null"]


CELLS = 1 << 20  # cells of a part: some 50 MB while its words are sorted
HOLD = 1 << 28  # cells whose numbers are held, at 4 bytes; those of more are made again each time


@dataclass(frozen=True)
class Model1:
    """What word i translates into, and how it was learnt.

    Args:
        table: Trans(o|i), sparse, shape (I, O), or (I + 1, O) with NULL as the last word.
        counts: The expected counts it was made from, of the same shape; after one iteration the
            count table C of [snell21] Eq. 13.
        log_likelihood: Of the targets before each iteration, in nats, shape (iterations,).
        null: Whether a target word may come from NULL.
    """

    table: sparse.csr_array
    counts: sparse.csr_array
    log_likelihood: Array
    null: bool

    def posteriors(self, source: Tokens, target: Tokens) -> Tables:
        r"""Where each target word comes from, :math:`\mathrm{Trans}(y_t|x_l) / \sum_{l'}
        \mathrm{Trans}(y_t|x_{l'})`; with NULL as a last position, if the model has it.

        A target word that no word of its source ever met is shared out evenly.
        """
        return self._found(source, target).shares()

    def align(self, source: Tokens, target: Tokens) -> list[set[tuple[int, int]]]:
        """Links (l, t) from each target position to its likeliest source, the first of several.

        A word that comes from NULL (which loses all ties), or that no word of its source ever met,
        has no link.
        """
        found = self._found(source, target)
        best = found.best()
        linked = (found.values[found.start[:-1] + best] > 0) & (
            best < source.lengths.numpy()[found.pair]
        )
        places = np.arange(len(target.ids)) - target.start.numpy()[:-1][found.pair]
        ends = np.cumsum(np.bincount(found.pair[linked], minlength=len(target)))
        links = list(zip(best[linked].tolist(), places[linked].tolist(), strict=True))
        begins = [0, *ends[:-1].tolist()]
        return [set(links[a:b]) for a, b in zip(begins, ends.tolist(), strict=True)]

    def _found(self, source: Tokens, target: Tokens) -> Tables:
        words = self.table.shape[0] - self.null
        check_ids(source, words)
        return lookup(self.table, with_null(source, words) if self.null else source, target)


def fit_ibm1(
    source: Tokens,
    target: Tokens,
    size: tuple[int, int] | None = None,
    *,
    iterations: int = 5,
    null: bool = False,
) -> Model1:
    r"""Maximise the likelihood of the targets from a uniform table, exactly.

    .. math:: \log P = \sum_m \sum_t \log \tfrac{1}{L_m} \sum_l \mathrm{Trans}(y_t|x_l)

    An iteration shares out each target word over its source by the table (E), and makes the table
    of the shares (M). The first E step gives the count table C. Room needed: 4 bytes a cell (t, l)
    up to HOLD cells, beyond which cells are numbered again in every iteration; and some 40 bytes
    for each pair of words that ever meet.

    Args:
        source: Input texts.
        target: Output texts, one for each input.
        size: Number of input and of output words (I, O); from the largest ids by default.
        iterations: Iterations, 1 or more.
        null: Give every source a further word NULL, for target words without origin.

    Example:
        >>> das_haus, das_buch, ein_buch = [0, 1], [0, 2], [3, 2]
        >>> the_house, the_book, a_book = [0, 1], [0, 2], [3, 2]
        >>> german, english = [das_haus, das_buch, ein_buch], [the_house, the_book, a_book]
        >>> fit_ibm1(Tokens.of(german), Tokens.of(english)).table.toarray()[1].round(2)
        array([0.22, 0.78, 0.  , 0.  ])
    """
    if iterations < 1:
        raise FoveateError(f"iterations must be 1 or more, got {iterations}")
    I, O = sizes(source, target, size)  # noqa: E741
    if (I + 1) * O >> 40:  # leaves 23 bits for the rows of a part
        raise FoveateError(f"{I} by {O} words are too many: their product must stay below 2⁴⁰")
    x = with_null(source, I) if null else source
    keys, parts = _numbered(x, target, O)
    row = keys // O
    theta, history = np.full(len(keys), 1 / O), []
    for _ in range(iterations):
        counts, log_likelihood = _expected(theta, parts())
        total = np.bincount(row, counts)
        theta = counts / np.maximum(total, np.finfo(float).tiny)[row]
        history.append(log_likelihood)
    table, expected = (_matrix(values, keys, I + null, O) for values in (theta, counts))
    return Model1(table, expected, np.array(history), null)


def with_null(source: Tokens, word: int) -> Tokens:
    """The texts, each with the further word ``word`` at its end."""
    start = source.start + torch.arange(len(source) + 1)
    ids = torch.full((int(start[-1]),), word)
    ids[torch.arange(len(source.ids)) + source.text] = source.ids
    return Tokens(ids, start)


class _Part(NamedTuple):
    """Some pairs of texts: the pairs of words that meet in them (K), where these are among all,
    how often each meets in each row (K, R), and the lengths L of the rows.
    """

    keys: Array
    at: Array
    cells: sparse.csr_array
    lengths: Array


def _numbered(
    source: Tokens, target: Tokens, size: int
) -> tuple[Array, Callable[[], Iterable[_Part]]]:
    """The pairs of words that ever meet, in order, and the cells in parts, as often as asked."""
    cells = int((source.lengths * target.lengths).sum())
    if cells > HOLD:
        keys = _merged(part.keys for part in _parts(source, target, size, None))
        return keys, lambda: _parts(source, target, size, keys)
    held = list(_parts(source, target, size, None))
    keys = _merged(part.keys for part in held)
    ready = [part._replace(at=np.searchsorted(keys, part.keys)) for part in held]
    return keys, lambda: ready


def _parts(source: Tokens, target: Tokens, size: int, keys: Array | None) -> Iterator[_Part]:
    """Parts of at most CELLS cells; a cell takes 4 bytes, as all parts share their ones."""
    ones = np.ones(0)
    for x, y in chunks(source, target, CELLS):
        words = word_pairs(x, y, size)
        ones = ones if len(ones) >= len(words.values) else np.ones(len(words.values))
        own, start, row = _grouped(words)
        cells = sparse.csr_array(
            (ones[: len(row)], row, start), shape=(len(own), len(words.lengths))
        )
        at = np.empty(0, int) if keys is None else np.searchsorted(keys, own)
        yield _Part(own, at, cells, words.lengths)


def _grouped(words: Tables) -> tuple[Array, Array, Array]:
    """Cells sorted by their words: the different words, where their cells begin, the cells' rows.

    Words and row share a whole number of 64 bits, so that one plain sort does for both.
    """
    shift = len(words.lengths).bit_length()
    packed = np.sort(words.values << shift | words.row)
    keys = packed >> shift
    first = np.flatnonzero(fresh(keys))
    rows = (packed & ((1 << shift) - 1)).astype(np.int32)
    return keys[first], np.append(first, len(keys)).astype(np.int32), rows


def _merged(sets: Iterable[Array]) -> Array:
    """The different keys of all sets, merged whenever as many are waiting as are done."""
    done, waiting = np.empty(0, int), [np.empty(0, int)]
    for keys in sets:
        waiting.append(keys)
        if sum(map(len, waiting)) > max(len(done), 8 * CELLS):
            done, waiting = distinct(np.concatenate([done, *waiting])), []
    return distinct(np.concatenate([done, *waiting]))


def _expected(theta: Array, parts: Iterable[_Part]) -> tuple[Array, float]:
    r"""The E step: expected counts of all pairs of words, and the log-likelihood under ``theta``.

    With the cells of a part as a matrix M of words by rows this is :math:`z = M^\top \theta` and
    :math:`\theta \odot M z^{-1}`.
    """
    counts, log_likelihood = np.zeros(len(theta)), 0.0
    for part in parts:
        own = theta[part.at]
        total = part.cells.T @ own
        log_likelihood += float(np.log(total / part.lengths).sum())
        counts[part.at] += own * (part.cells @ (1 / total))
    return counts, log_likelihood


def _matrix(values: Array, keys: Array, I: int, O: int) -> sparse.csr_array:  # noqa: E741
    ends = np.searchsorted(keys, np.arange(I + 1) * O)
    return sparse.csr_array((values, keys % O, ends), (I, O))
