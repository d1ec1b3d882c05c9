"""Distribution shift: comparison of new bags with a summary of the training bags."""

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from foveate.bags.mapped import is_mapped, sampled_rows
from foveate.errors import FoveateError
from foveate.io.collection import Collection
from foveate.io.tokenisation import words as words_of
from foveate.io.view import View
from foveate.records.checksums import advice, seal_json, verify_json
from foveate.records.record import write_atomically
from foveate.text.tokens import Vocabulary
from foveate.types import Array, FloatArray

__all__ = ["ColumnSummary", "Shift", "TrainingSummary", "compare", "load_summary"]

SUMMARY = "training_summary.json"
OUTSIDE = 0.01  # share of segments beyond the training range that is worth a warning
MARGIN = 0.5  # of the training range, beyond which a number is unusual
SPREAD = 10.0  # ratio of interquartile ranges that is worth a warning
CENTRE = 3.0  # interquartile ranges between medians that are worth a warning
MIN_VALUES = 20  # numbers below which medians and spreads are not compared
MISSING = 0.2  # growth of the share of missing numbers, or of unknown words
LENGTH = 2.0  # times the longest bag, or a fraction of the shortest
MIN_SHARE = 1e-6
SAMPLED = 2**24  # numbers of bags in a mapped file that are compared


class ColumnSummary(NamedTuple):
    """Range, quartiles and missing share of one column over the training segments."""

    low: float
    quarter: float
    median: float
    three_quarters: float
    high: float
    missing: float


@dataclass(frozen=True)
class TrainingSummary:
    """What new bags are compared with.

    Args:
        shortest: Segments of the shortest training bag.
        longest: Segments of the longest.
        columns: Summary of each column of numbers; of images, of brightness and contrast.
        unknown: Share of words of the validation bags that are not in the vocabulary; None unless
            segments are texts.
    """

    shortest: int
    longest: int
    columns: dict[str, ColumnSummary]
    unknown: float | None

    @classmethod
    def of(
        cls,
        collection: Collection,
        train: Tensor,
        validation: Tensor,
        vocabulary: Vocabulary | None,
    ) -> "TrainingSummary":
        """The summary of training bags.

        Args:
            collection: All bags of a fit.
            train: Rows of the training bags.
            validation: Rows of the validation bags.
            vocabulary: Words of the training bags, if segments are texts.
        """
        bags = collection.take(train)
        names, values, _ = _values(bags)
        columns = {name: _summary(values[:, k]) for k, name in enumerate(names)}
        lengths = View(bags).lengths
        unknown = None
        if vocabulary is not None:
            unknown = float(_unknown(collection.take(validation), vocabulary).mean())
        return cls(int(lengths.min()), int(lengths.max()), columns, unknown)

    def save(self, folder: Path) -> None:
        """Write into a run directory."""
        write_atomically(folder / SUMMARY, seal_json(asdict(self), indent=1))


@dataclass(frozen=True)
class Shift:
    """How new bags differ from the training bags.

    Args:
        warnings: A sentence for each column, or for lengths or words, that differs.
        unusual: For each bag the names of what is unusual, separated by "; ", else empty.
    """

    warnings: tuple[str, ...]
    unusual: tuple[str, ...]


def load_summary(folder: Path) -> TrainingSummary | None:
    """The summary in a run directory; None in runs of older versions."""
    path = folder / SUMMARY
    try:
        content = verify_json(path, json.loads(path.read_text("utf-8")))
        columns = {name: ColumnSummary(*value) for name, value in content["columns"].items()}
        return TrainingSummary(content["shortest"], content["longest"], columns, content["unknown"])
    except FileNotFoundError:
        return None
    except FoveateError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FoveateError(f"{path} is damaged: {error}{advice(path)}") from None


def compare(
    summary: TrainingSummary, collection: Collection, vocabulary: Vocabulary | None = None
) -> Shift:
    """Ranges, missing shares, unknown words and lengths of new bags beside those of training.

    Args:
        summary: Of the training bags.
        collection: New bags.
        vocabulary: Words of the training bags, if segments are texts.
    """
    view = View(collection)
    of_bag: list[list[str]] = [[] for _ in range(len(collection))]
    sentences = []
    names, values, start = _values(collection)
    for k, name in enumerate(names):
        if name in summary.columns:
            sentences += _compare_column(name, values[:, k], summary.columns[name], start, of_bag)
    odd = (view.lengths > LENGTH * summary.longest) | (view.lengths < summary.shortest / LENGTH)
    if odd.any():
        _add_note(of_bag, odd, "length")
        sentences.append(
            f"length: {int(odd.sum()):,} of {len(odd):,} bags are much shorter or longer than the "
            f"{summary.shortest:,} to {summary.longest:,} segments of training bags"
        )
    if vocabulary is not None and summary.unknown is not None:
        share = _unknown(collection, vocabulary)
        _add_note(of_bag, share > summary.unknown + 2 * MISSING, "words")
        if float(share.mean()) > summary.unknown + MISSING:
            sentences.append(
                f"words: {100 * float(share.mean()):.0f} % of the words of a bag were not seen in "
                f"training, {100 * summary.unknown:.0f} % in validation bags"
            )
    return Shift(tuple(sentences), tuple("; ".join(names) for names in of_bag))


def _compare_column(
    name: str, values: FloatArray, training: ColumnSummary, start: Array, of_bag: list[list[str]]
) -> list[str]:
    """Sentences about one column; bags with unusual numbers are marked."""
    absent = np.isnan(values)
    margin = MARGIN * (training.high - training.low) or MIN_SHARE * max(1.0, abs(training.high))
    outside = (values < training.low - margin) | (values > training.high + margin)
    _add_note(of_bag, np.add.reduceat(outside, start) > 0, name)
    present = values[~absent]
    sentences = []
    reach = f"{training.low:.4g} to {training.high:.4g} in training"
    if len(present) and outside.sum() > OUTSIDE * len(present):
        sentences.append(
            f"column '{name}': {100 * outside.sum() / len(present):.0f} % of segments are far "
            f"outside the range of {reach} (here {present.min():.4g} to {present.max():.4g})"
        )
    moved = _shift_text(present, training)
    if moved:
        _add_note(of_bag, np.ones(len(of_bag), bool), name)
    if moved and not sentences:
        sentences.append(f"column '{name}': {moved} ({reach})")
    if absent.mean() > training.missing + MISSING:
        share = (
            f"{100 * absent.mean():.0f} % of segments, {100 * training.missing:.0f} % in training"
        )
        sentences.append(f"column '{name}': missing in {share}")
        _add_note(of_bag, np.add.reduceat(absent, start) > 0, f"{name} missing")
    return sentences


def _shift_text(values: FloatArray, training: ColumnSummary) -> str:
    """Differences in centre and spread of a column from training."""
    spread = training.three_quarters - training.quarter
    if len(values) < MIN_VALUES or spread <= 0:
        return ""
    quarter, median, three_quarters = np.quantile(values, [0.25, 0.5, 0.75])
    ratio = (three_quarters - quarter) / spread
    if not 1 / SPREAD < ratio < SPREAD:
        return f"its spread is {ratio:.2g} times that of training"
    if abs(median - training.median) > CENTRE * spread:
        return f"its median is {median:.4g}, {training.median:.4g} in training"
    return ""


def _add_note(of_bag: list[list[str]], which: Array, name: str) -> None:
    for row in np.flatnonzero(which):
        if name not in of_bag[row]:
            of_bag[row].append(name)


def _values(collection: Collection) -> tuple[tuple[str, ...], FloatArray, Array]:
    """Names and numbers to compare, one row per segment, and the first row of each bag.

    Of bags in a mapped file they are those of every k-th segment of a bag.
    """
    view = View(collection)
    if collection.kind == "text":
        return (), np.zeros((int(view.lengths.sum()), 0)), view.start
    if collection.kind == "image":
        pixels = view.segments()
        pixels = pixels.reshape(len(pixels), -1)
        values = np.stack([pixels.mean(1), pixels.std(1)], 1)
        return ("brightness", "contrast"), values, view.start
    bank = collection.bag.bank
    if not is_mapped(bank):
        return collection.columns, view.segments_with_nan().astype(np.float64), view.start
    rows = view.rows()
    step = math.ceil(len(rows) * bank.shape[1] / SAMPLED)
    position = np.arange(len(rows)) - np.repeat(view.start, view.lengths)
    lengths = (view.lengths - 1) // step + 1
    sample = sampled_rows(bank, torch.from_numpy(rows[position % step == 0])).double().numpy()
    return collection.columns, sample, np.cumsum(lengths) - lengths


def _summary(values: FloatArray) -> ColumnSummary:
    absent = np.isnan(values)
    present = values[~absent]
    if not len(present):
        return ColumnSummary(0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    quartiles: list[Any] = np.quantile(present, [0.0, 0.25, 0.5, 0.75, 1.0]).tolist()
    return ColumnSummary(*[*quartiles, float(absent.mean())])


def _unknown(collection: Collection, vocabulary: Vocabulary) -> FloatArray:
    """Share of the words of each bag that are not in the vocabulary, (n,)."""
    known, view = set(vocabulary.words), View(collection)
    texts = collection.words or ()
    counts = np.array([_counts(texts[row], known) for row in view.rows()], np.float64)
    unknown, total = np.add.reduceat(counts, view.start).T
    share: FloatArray = unknown / np.maximum(total, 1)
    return share


def _counts(text: str, known: set[str]) -> tuple[int, int]:
    words = words_of(text)
    return sum(word not in known for word in words), len(words)
