"""Word alignments against gold links: AER, precision, recall, F1; files in Pharaoh format.

A link (i, j) says that source word i and target word j belong together, both counted from 0. The
links of a sentence pair are a set, those of a corpus a sequence of sets. Gold links are sure (S) or
possible (P).
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from foveate.errors import FoveateError
from foveate.metrics.intervals import Interval
from foveate.records.record import write_atomically
from foveate.types import Array

__all__ = [
    "Links",
    "Scores",
    "alignment_intervals",
    "alignment_scores",
    "pharaoh",
    "read_pharaoh",
    "write_pharaoh",
]

Links = AbstractSet[tuple[int, int]]
Corpus = Sequence[Links]

CELLS = 1 << 22  # weights of resampled sentences in memory at once


class Scores(NamedTuple):
    """Alignment error rate, precision, recall and F1, from 0 to 1; nan where undefined."""

    aer: Any
    precision: Any
    recall: Any
    f1: Any


def alignment_scores(predicted: Corpus, sure: Corpus, possible: Corpus | None = None) -> Scores:
    r"""Scores of the predicted links A, over the corpus.

    .. math:: \mathrm{AER} = 1 - \frac{|A \cap S| + |A \cap (S \cup P)|}{|A| + |S|},\quad
        \text{precision} = \frac{|A \cap (S \cup P)|}{|A|},\quad
        \text{recall} = \frac{|A \cap S|}{|S|}

    and F1 is the harmonic mean of the last two. Where all gold links are sure, AER = 1 − F1.

    Args:
        predicted: Links A of each sentence pair.
        sure: Sure gold links S.
        possible: Possible gold links P, which may leave out the sure ones; none by default.

    Example:
        >>> alignment_scores([{(0, 0), (1, 1)}], [{(0, 0)}], [{(1, 1), (2, 1)}])
        Scores(aer=0.0, precision=1.0, recall=1.0, f1=1.0)
    """
    totals = _match_counts(predicted, sure, possible).sum(0, keepdims=True)
    return Scores(*(float(score[0]) for score in _scores(totals)))


def alignment_intervals(
    predicted: Corpus,
    sure: Corpus,
    possible: Corpus | None = None,
    *,
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> Scores:
    """The scores with percentile bootstrap intervals over sentence pairs.

    Each resample draws sentence pairs and scores them as a corpus: the scores are ratios of sums,
    not means over sentences.

    Args:
        predicted: Links A of each sentence pair.
        sure: Sure gold links S.
        possible: Possible gold links P.
        level: Coverage.
        draws: Resamples.
        seed: Decides the resamples, so that a report repeats.

    Returns:
        Four :class:`Interval`, whose ends are None for a single pair.
    """
    counts = _match_counts(predicted, sure, possible)
    totals = [float(score[0]) for score in _scores(counts.sum(0, keepdims=True))]
    n = len(counts)
    if n < 2:
        return Scores(*(Interval(mean, None, None) for mean in totals))
    rng, sums, step = np.random.default_rng(seed), [], max(1, CELLS // n)
    for done in range(0, draws, step):
        size = min(step, draws - done)
        sums.append(rng.multinomial(n, np.full(n, 1 / n), size=size) @ counts)
    ends = np.quantile(_scores(np.concatenate(sums)), [(1 - level) / 2, (1 + level) / 2], axis=1)
    return Scores(*map(Interval, totals, *ends.tolist()))


def pharaoh(links: Links) -> str:
    """Links in Pharaoh format, by source and then by target word.

    Example:
        >>> pharaoh({(2, 0), (0, 1)})
        '0-1 2-0'
    """
    return " ".join(f"{i}-{j}" for i, j in sorted(links))


def read_pharaoh(path: Path) -> list[set[tuple[int, int]]]:
    """Links from a file of one line of ``i-j`` pairs per sentence pair; an empty line has none."""
    try:
        lines = Path(path).read_text("utf-8").splitlines()
    except OSError as error:
        raise FoveateError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise FoveateError(f"{path} must be UTF-8: byte {error.start} is not") from None
    return [
        {_link(word, path, number) for word in line.split()} for number, line in enumerate(lines, 1)
    ]


def write_pharaoh(path: Path, corpus: Corpus) -> None:
    """Write one line of ``i-j`` pairs per sentence pair, atomically."""
    text = "".join(f"{pharaoh(links)}\n" for links in corpus)
    write_atomically(path, lambda file: file.write(text.encode()))


def _link(word: str, path: Path, line: int) -> tuple[int, int]:
    i, dash, j = word.partition("-")
    if not (dash and i.isascii() and i.isdigit() and j.isascii() and j.isdigit()):
        raise FoveateError(f"{path}, line {line}: links must be pairs like 0-1, got '{word}'")
    return int(i), int(j)


def _match_counts(predicted: Corpus, sure: Corpus, possible: Corpus | None) -> Array:
    """|A ∩ S|, |A ∩ (S ∪ P)|, |A| and |S| of each sentence pair, shape (n, 4)."""
    likely: Corpus = [set()] * len(sure) if possible is None else possible
    if not len(predicted) == len(sure) == len(likely):
        raise FoveateError(
            f"predicted, sure and possible links must be of the same sentence pairs, got "
            f"{len(predicted)}, {len(sure)} and {len(likely)}"
        )
    rows = [
        (len(A & S), len(A & (S | P)), len(A), len(S))
        for A, S, P in zip(predicted, sure, likely, strict=True)
    ]
    return np.array(rows, dtype=float).reshape(-1, 4)


def _scores(counts: Array) -> Array:
    """AER, precision, recall and F1 of rows of tallies (R, 4), shape (4, R)."""
    on_sure, on_any, predicted, sure = counts.T
    with np.errstate(invalid="ignore"):
        precision, recall = on_any / predicted, on_sure / sure
        aer = 1 - (on_sure + on_any) / (predicted + sure)
        f1 = 2 * precision * recall / (precision + recall)
    return np.stack([aer, precision, recall, f1])
