"""The finding on claim C15 from the translation experiment. [snell21] A.1"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from foveate.jobs.experiment import Records
from foveate.metrics.agreement import random_level
from foveate.metrics.intervals import Interval
from foveate.records.findings import Finding
from foveate.records.record import Record
from foveate.studies.verdicts import Outcome, at_least, combine, tally_text
from foveate.types import FloatArray

if TYPE_CHECKING:
    from foveate.studies.snell21.translation import TranslationSettings

__all__ = ["findings", "over_pairs", "random_of"]

MAX_GAP = 1e-3  # nats
RECORDED = {"A(α_opt, β)": 0.53, "linear": 38.2, "relu": 37.9}  # BLEU; [snell21] A.1
DRAWS = 4000


def random_of(record: Record) -> float:
    """The random level of agreement over the words that were solved."""
    lengths = np.array(record.meta["lengths"])
    return float(random_level(np.repeat(lengths[:, 0], lengths[:, 1])).mean())


def over_pairs(values: FloatArray, words: NDArray[np.int64]) -> Interval:
    """The mean over words with its 95 % bootstrap interval over sentence pairs.

    Whole pairs are drawn, since the words of a sentence are not independent.

    Args:
        values: One value for each word, pair by pair, shape (R,).
        words: Number of words of each pair, shape (n,).
    """
    total = np.add.reduceat(values, np.concatenate([[0], np.cumsum(words)[:-1]]))
    mean = float(values.mean())
    if len(words) < 2:
        return Interval(mean, None, None)
    picks = np.random.default_rng(0).integers(len(words), size=(DRAWS, len(words)))
    means = total[picks].sum(1) / words[picks].sum(1)
    low, high = np.quantile(means, [0.025, 0.975])
    return Interval(mean, float(low), float(high))


def findings(settings: "TranslationSettings", records: Records) -> list[Finding]:
    """The finding of C15; alignment error is shown in figures and claims nothing."""
    record = records["readout-linear"]
    words = np.array(record.meta["lengths"])[:, 1]
    gap = float(record.last("gap").max())
    trained, untrained = (record.values["opt_beta"][k].mean(0) for k in (-1, 0))
    chance = random_of(record)
    gain = over_pairs(trained - untrained, words)
    outcomes: list[Outcome] = [
        "met" if gap <= MAX_GAP else "missed",
        at_least(over_pairs(trained - 2 * chance, words)),
        at_least(gain),
    ]
    return [
        Finding(
            "snell21:C15",
            combine(outcomes),
            gain.mean,
            gain.low,
            gain.high,
            "A(α_opt, β) of trained minus untrained models over validation words, fair ties; "
            "interval over sentence pairs",
            f"{tally_text(outcomes)} " + _summary(record, records, chance, gap),
            "optimum",
            _deviation(settings, record),
        )
    ]


def _summary(record: Record, records: Records, chance: float, gap: float) -> str:
    first, last = (
        {name: float(record.values[name][k].mean()) for name in record.values} for k in (0, -1)
    )
    words = record.last("gap").shape[1]
    return (
        f"{words:,} words solved, excess loss at most {gap:.1e} nats. A(α_opt, β) "
        f"{last['opt_beta']:.2f} (recorded {RECORDED['A(α_opt, β)']}, random {chance:.3f}; before "
        f"training {first['opt_beta']:.2f}), A(α_opt, α) {last['opt_alpha']:.2f}, A(α, β) "
        f"{last['alpha_beta']:.2f}. Nats a word: {last['loss_uniform']:.2f} with uniform "
        f"attention, {last['loss_alpha']:.2f} with the model's, {last['loss_opt']:.2f} with α_opt. "
        "BLEU "
        f"{_bleu(records, 'linear')} with the linear readout, {_bleu(records, 'relu')} with ReLU "
        f"(recorded {RECORDED['linear']} and {RECORDED['relu']})."
    )


def _bleu(records: Records, readout: str) -> str:
    return f"{float(records[f'readout-{readout}'].last('bleu').mean()):.1f}"


def _deviation(settings: "TranslationSettings", record: Record) -> str:
    notes = []
    if (settings.d, settings.steps, settings.batch) != (256, 36_000, 16):
        notes.append(
            f"states of {settings.d}, {settings.steps:,} steps and batches of "
            f"{settings.batch} in place of 256, "
            "36,000 and 16"
        )
    if settings.data != "multi30k":
        notes.append(f"on '{settings.data}' in place of Multi30k")
    notes.append(f"words of {len(record.meta['lengths'])} validation pairs are solved")
    decoding = "greedy" if settings.beam == 1 else f"a beam of {settings.beam}"
    notes.append(f"BLEU of {settings.translated:,} validation sentences at most, by {decoding}")
    notes.append("the recorded .53 counts ties in the paper's form")
    return "; ".join(notes)
