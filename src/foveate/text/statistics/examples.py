"""Which words carry the information of a corpus, and sentences that show it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from foveate.text.statistics.cross_fitting import Crossing, Measurement
from foveate.text.statistics.decision import NOTHING
from foveate.text.statistics.word_pairs import number, word_pairs
from foveate.types import Array

__all__ = ["Example", "InformativeWord", "examples", "informative_words"]


MAX_WORDS = 20  # words shown

LONGEST = 400  # words of an example that are shown; its values use all words
QUANTILES = (0.98, 0.9, 0.7, 0.5, 0.3, 0.1)


class InformativeWord(NamedTuple):
    """A word whose co-occurrence statistics distinguish positions.

    Args:
        word: The word.
        leads_to: The output word or class that it is most informative about.
        share: Its share of what all words add by standing out.
        trans: Trans(leads_to | word), from all counted sentences.
        usual: Frequency of ``leads_to`` overall.
        times: How often the word was counted.
    """

    word: str
    leads_to: str
    share: float
    trans: float
    usual: float
    times: int


class Example(NamedTuple):
    """A sentence with its co-occurrence statistics.

    Args:
        source: Its words.
        target: Words of its output, or its class.
        place: Position in the target that ``times`` refers to.
        times: Evidence of each word relative to the sentence's average, r, shape (L,).
        information: Of the pair, nats per output word.
    """

    source: list[str]
    target: list[str]
    place: int
    times: list[float]
    information: float


def informative_words(
    crossing: Crossing,
    measured: Measurement,
    tables: Sequence[sparse.csr_array],
    words: tuple[Sequence[str], Sequence[str]],
) -> tuple[InformativeWord, ...]:
    """The words with most of the information, the most first.

    Counted are cells where both tables see the word above the average of its sentence. (A word
    may tell positions apart by saying less than all others; that is no reason to look at it.)

    Args:
        crossing: The pairs.
        measured: What two tables say of them.
        tables: The tables of the folds.
        words: Words of input and output.
    """
    I, O = len(words[0]), len(words[1])  # noqa: E741
    x, y = (side.take(crossing.measured) for side in (crossing.source, crossing.target))
    one, other = measured.one.values - 1, measured.other.values - 1
    for_it = (one > NOTHING) & (other > NOTHING)
    weight = np.where(for_it, one * other / measured.one.spread(measured.one.lengths), 0.0)
    pairs, index = number(word_pairs(x, y, O).values)
    by_pair = np.bincount(index, weight, len(pairs))
    by_word = np.bincount(pairs // O, by_pair, I)
    table = sparse.csr_array(tables[0] + tables[1] + tables[2])
    frequent = table.sum(0) / table.sum()
    times = np.bincount(crossing.source.ids.numpy(), minlength=I)
    results = []
    for i in np.argsort(-by_word, kind="stable")[:MAX_WORDS].tolist():
        if by_word[i] > 0:
            rows = slice(*np.searchsorted(pairs, [i * O, (i + 1) * O]))
            o = int(pairs[rows][by_pair[rows].argmax()] % O)
            row = table[[i]].toarray()[0]
            share, trans = float(by_word[i] / by_word.sum()), float(row[o] / row.sum())
            names = words[0][i], words[1][o]
            results.append(InformativeWord(*names, share, trans, float(frequent[o]), int(times[i])))
    return tuple(results)


def examples(
    crossing: Crossing,
    measured: Measurement,
    by_sentence: Array,
    words: tuple[Sequence[str], Sequence[str]],
) -> tuple[Example, ...]:
    """Sentences from much to little information, each with its most informative output word."""
    order = np.argsort(by_sentence, kind="stable")
    chosen = dict.fromkeys(int(order[int(q * (len(order) - 1))]) for q in QUANTILES)
    row_of = np.cumsum(measured.one.target) - measured.one.target
    results = []
    for m in chosen:
        rows = measured.information[row_of[m] : row_of[m] + measured.one.target[m]]
        t = int(rows.argmax())
        times = (measured.one[m][t] + measured.other[m][t]) / 2
        where = int(crossing.measured[m])
        source, target = crossing.source[where], crossing.target[where]
        results.append(
            Example(
                [words[0][i] for i in source[:LONGEST]],
                [words[1][o] for o in target],
                t,
                times[:LONGEST].tolist(),
                float(by_sentence[m]),
            )
        )
    return tuple(results)
