"""Corpora to diagnose, and the share of information that remains when outputs are permuted."""

from functools import partial
from pathlib import Path

import numpy as np
import torch
from scipy import sparse

from foveate.records.record import Array, Record
from foveate.studies.snell21.agreement.pairs import available_pairs
from foveate.studies.snell21.agreement.texts import available_texts
from foveate.text.corpora import load_pairs, load_texts
from foveate.text.statistics.cooccurrence import label_targets, lookup
from foveate.text.statistics.cross_fitting import Crossing
from foveate.text.statistics.decision import Verdict
from foveate.text.statistics.diagnosis import diagnose
from foveate.text.statistics.pair_tables import Tables
from foveate.text.tokens import Tokens
from foveate.types import StepProgress

__all__ = ["available_corpora", "diagnosed", "diagnosed_corpus", "left_of_counts"]

CONTROLS = 3
Words = tuple[list[str], list[str]]
Corpus = tuple[Tokens, Tokens, Words]


def available_corpora(texts: tuple[str, ...], pairs: tuple[str, ...]) -> tuple[str, ...]:
    """The corpora whose files are available."""
    return available_texts(texts) + available_pairs(pairs)


def diagnosed_corpus(name: str, pairs: bool, _: Path, progress: StepProgress) -> Record:
    """The forecast for a corpus, as a record like those of the copy tasks; nothing is trained."""
    final, forecast = diagnosed(*(_pairs(name) if pairs else _texts(name)), progress)
    return Record(np.zeros(1), {}, final, {"condition": name, "said": forecast})


def diagnosed(
    source: Tokens,
    target: Tokens,
    words: Words,
    progress: StepProgress = lambda _done, _total: None,
) -> tuple[dict[str, Array], Verdict]:
    """The stored values of a diagnosis, shape (1,) each, as shares of 1; and its verdict."""
    diagnosis = diagnose(source, target, words, report=progress)
    total = diagnosis.information + float(np.mean(diagnosis.control))
    values = {
        "sentences": diagnosis.sentences,
        "information": diagnosis.information,
        "table": diagnosis.table,
        "lift": diagnosis.lift,
        "z": diagnosis.z,
        "without": diagnosis.without,
        "left_of_trans": float(np.mean(diagnosis.control)) / total if total else np.nan,
        "left_of_counts": left_of_counts(source, target, (len(words[0]), len(words[1]))),
    }
    return {name: np.array([value]) for name, value in values.items()}, diagnosis.verdict


def left_of_counts(source: Tokens, target: Tokens, size: tuple[int, int]) -> float:
    r"""Share of information in :math:`C_{i,o} - \bar C_i` that remains with permuted outputs.

    The variance over the positions of a sentence, as a covariance of two tables that share no
    sentence, so that chance adds nothing to it.
    """
    crossing = Crossing(source, target, size, "diagnosis", 0)
    true, *chance = (_variance(crossing, crossing.order(k), size[1]) for k in range(CONTROLS + 1))
    return float(np.mean(chance)) / true if true > 0 else np.nan


def _variance(crossing: Crossing, order: torch.Tensor, outputs: int) -> float:
    tables = crossing.tables(order)
    one, other = (
        crossing.evaluate(order, tables, shift, partial(_centred, outputs)) for shift in (1, 2)
    )
    return float((one.values * other.values).mean())


def _centred(outputs: int, table: sparse.csr_array, x: Tokens, y: Tokens) -> Tables:
    """C − its mean over outputs, less the mean over the positions of the sentence."""
    seen = lookup(table, x, y)
    level = table.sum(1) / outputs
    values = seen.values - level[x.ids.numpy()[seen.column]]
    centred = seen.filled(values)
    return seen.filled(values - seen.spread(centred.sums() / seen.lengths))


def _texts(name: str) -> Corpus:
    data = load_texts(name)
    return (
        data.train,
        label_targets(data.y_train),
        (list(data.vocabulary.words), list(data.classes)),
    )


def _pairs(name: str) -> Corpus:
    data = load_pairs(name, unit="words")
    words = list(data.source_vocabulary.words), list(data.target_vocabulary.words)
    return data.train.source, data.train.target, words
