r"""α, β and Δ of sentence pairs by an encoder–decoder, as numbers: A, τ, and ξ over checkpoints."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foveate.metrics.agreement import contextual, fair_agreement
from foveate.text.probes.reading_numbers import agreement_numbers
from foveate.text.statistics.pair_tables import Tables
from foveate.text.transformers.translation import (
    PiecePair,
    influence,
    read_attention,
    read_evidence,
    right_words,
)

__all__ = ["PairReading", "checkpoint_numbers", "pair_columns", "pair_numbers", "read_pairs_by"]


@dataclass(frozen=True)
class PairReading:
    """Probes of an encoder–decoder on sentence pairs.

    Args:
        alpha: Attention, mean over layers and heads.
        beta: Probability of each target word with all cross-attention on one source word.
        delta: Influence of source words on target words.
        accuracy: Share of target pieces that get the largest probability.
    """

    alpha: Tables
    beta: Tables
    delta: Tables
    accuracy: float


def read_pairs_by(model: Any, pairs: Sequence[PiecePair]) -> PairReading:
    """Read pairs with all probes.

    Args:
        model: An encoder–decoder of the transformers library.
        pairs: Sentence pairs in its pieces.
    """
    log_beta = read_evidence(model, pairs)
    return PairReading(
        read_attention(model, pairs),
        log_beta.filled(np.exp(log_beta.values)),
        influence(model, pairs),
        right_words(model, pairs),
    )


def pair_numbers(reading: PairReading) -> dict[str, Any]:
    """Accuracy, A as published and with fair ties, and τ, means over target words."""
    values = {name: getattr(reading, name).values for name in ("alpha", "beta", "delta")}
    return {
        "pairs": len(reading.alpha),
        "accuracy": reading.accuracy,
        "agreement": agreement_numbers(values, reading.alpha.start),
    }


def checkpoint_numbers(readings: Sequence[PairReading]) -> dict[str, Any]:
    r"""A(α, β) at every checkpoint, and contextual agreement ξ of the last.

    With α the attention of the last checkpoint, :math:`A(\alpha, \alpha(\tau))` is computed for all
    checkpoints τ; ξ is the accuracy of the first whose attention agrees with α better than β of the
    last checkpoint does. Early checkpoints of another training would be compared in the same way.

    Args:
        readings: Of the same pairs, in the order of training, the last one last.
    """
    last = readings[-1]
    start = last.alpha.start
    curve = np.array(
        [fair_agreement(last.alpha.values, r.alpha.values, start).mean() for r in readings]
    )
    level = float(fair_agreement(last.alpha.values, last.beta.values, start).mean())
    performance = np.array([reading.accuracy for reading in readings])
    levels = contextual(level, curve, performance)
    return {
        "accuracy": performance.tolist(),
        "alpha, beta": [
            float(fair_agreement(r.alpha.values, r.beta.values, start).mean()) for r in readings
        ],
        "alpha, last alpha": curve.tolist(),
        "xi": levels.performance,
        "xi_checkpoint": levels.checkpoint,
        "xi_reached": levels.reached,
    }


def pair_columns(
    reading: PairReading, source: Sequence[Sequence[str]], target: Sequence[Sequence[str]]
) -> dict[str, list[Any]]:
    """A table with one row for every target and source word of every pair.

    Args:
        reading: The probes.
        source: Words of the source sentences.
        target: Words of the target sentences.
    """
    cells = [
        (i, t, k, y, x)
        for i, (words, others) in enumerate(zip(source, target, strict=True))
        for t, y in enumerate(others)
        for k, x in enumerate(words)
    ]
    names = ("row", "target_position", "source_position", "target_word", "source_word")
    columns: dict[str, list[Any]] = {
        name: [cell[k] for cell in cells] for k, name in enumerate(names)
    }
    for name in ("alpha", "beta", "delta"):
        columns[name] = np.asarray(getattr(reading, name).values, float).tolist()
    return columns
