"""A part of sentence pairs: four models a seed, compared with each other. [snell21] Sec. 3, A.8

What is recorded is described in :mod:`.comparison`; a row is a target word, END left out.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from foveate.errors import FoveateError
from foveate.randomness import generator
from foveate.records.record import Array, Record
from foveate.studies.snell21.agreement.comparison import CHOOSING, REPORTING, SETS, TRAINING
from foveate.studies.snell21.agreement.translators import PairStages
from foveate.text.corpora import PAIRS, Pairs, SentencePairs, load_pairs
from foveate.text.statistics.cooccurrence import count_table, lookup, translations
from foveate.text.translation import joined
from foveate.types import StepProgress

if TYPE_CHECKING:
    from foveate.studies.snell21.agreement import AgreementSettings

__all__ = ["ReadPairs", "available_pairs", "pair_part", "prepared_pairs"]


@dataclass(frozen=True)
class ReadPairs:
    """Training pairs and evaluation pairs.

    Args:
        name: Name of the data set.
        data: Its vocabularies and training pairs.
        sets: Evaluation pairs: two halves of validation pairs and a sample of training pairs.
        trans: Trans(y_t|x_l) of the training pairs' count table, flat over evaluation pairs, (N,).
    """

    name: str
    data: SentencePairs
    sets: tuple[Pairs, Pairs, Pairs]
    trans: Array

    @property
    def read(self) -> Pairs:
        """All evaluation pairs, set by set."""
        return joined(*self.sets)

    @property
    def group(self) -> Array:
        """The set of each pair that is read, shape (n,)."""
        return np.repeat(np.arange(len(SETS)), [len(some) for some in self.sets])


def available_pairs(names: Sequence[str]) -> tuple[str, ...]:
    """Those of the data sets whose files can be read."""
    return tuple(name for name in names if _is_available(name, os.environ.get("FOVEATE_DATA")))


@cache
def _is_available(name: str, _where: str | None) -> bool:
    PAIRS.get(name)  # an unknown name is an error, a missing file is not
    try:
        load_pairs(name, train=1, pieces=100)
    except FoveateError:
        return False
    return True


def prepared_pairs(settings: "AgreementSettings", name: str) -> ReadPairs:
    """The pairs of a data set; halves of the validation pairs are drawn by name."""
    data = load_pairs(name, train=settings.pair_train, pieces=settings.pieces)
    order = torch.randperm(len(data.validation), generator=generator("halves", name))
    order = order[: settings.pair_read]
    sample = torch.randperm(len(data.train), generator=generator("sample", name))[
        : settings.pair_sample
    ]
    sets: list[Pairs] = [data.validation] * len(SETS)
    sets[CHOOSING] = data.validation.take(order[::2])
    sets[REPORTING] = data.validation.take(order[1::2])
    sets[TRAINING] = data.train.take(sample)
    size = len(data.source_vocabulary), len(data.target_vocabulary)
    table = translations(count_table(data.train.source, data.train.target, size))
    trans = np.concatenate([lookup(table, some.source, some.target).values for some in sets])
    return ReadPairs(name, data, (sets[0], sets[1], sets[2]), trans)


def pair_part(
    settings: "AgreementSettings", name: str, checkpoint: Path, progress: StepProgress
) -> Record:
    """Train proxy, standard model, partner and uniform model of each seed, and compare.

    Every kind of model has a separate checkpoint beside ``checkpoint``, which stays until the
    part is done, since later kinds are compared with earlier ones.
    """
    pairs = prepared_pairs(settings, name)
    stages = PairStages(settings, pairs, checkpoint, progress)
    proxy, standard = stages.proxy(), stages.standard()
    best = proxy.values["loss"].argmin(0)
    partner = stages.partner(standard)
    uniform = stages.uniform(standard, proxy.values["evidence"][best, np.arange(settings.seeds)])
    final = {
        "alpha_beta": standard.last("alpha_beta"),
        "random": np.repeat(stages.random[None], settings.seeds, 0),
        "standard_accuracy": standard.last("accuracy"),
        "proxy_epoch": proxy.t[best] / stages.proxy_steps,
    }
    stages.clear()
    return Record(partner.t, {**partner.values, **uniform.values}, final, _meta(settings, pairs))


def _meta(settings: "AgreementSettings", pairs: ReadPairs) -> dict[str, object]:
    counts = {**pairs.data.counts, "read": [len(some) for some in pairs.sets]}
    notes = [
        f"{settings.pair_read:,} validation and {settings.pair_sample:,} training pairs are read"
    ]
    if (settings.pair_d, settings.pair_batch, settings.pair_steps) != (256, 16, 36_000):
        notes.append(
            f"states of {settings.pair_d}, batches of {settings.pair_batch}, "
            f"{settings.pair_steps:,} steps in "
            "place of 256, 16 and 36,000"
        )
    decoding = "greedy" if settings.beam == 1 else f"beam {settings.beam}"
    notes.append(f"BLEU of {settings.pair_translated:,} validation sentences, {decoding}")
    if pairs.data.about:
        notes.append(pairs.data.about)
    return {"data": pairs.name, "kind": "pairs", "counts": counts, "about": ", ".join(notes)}
