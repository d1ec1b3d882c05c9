"""A part of labelled texts: five models a seed, compared with each other. [snell21] Sec. 3, A.6"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from foveate.errors import FoveateError
from foveate.randomness import generator
from foveate.records.record import Array, Record
from foveate.studies.snell21.agreement.comparison import CHOOSING, REPORTING, TRAINING
from foveate.studies.snell21.agreement.readers import ReaderStages
from foveate.text.corpora import TEXTS, load_texts
from foveate.text.statistics.cooccurrence import count_table, label_targets, lookup, translations
from foveate.text.tokens import Tokens, Vocabulary, truncate
from foveate.types import StepProgress

if TYPE_CHECKING:
    from foveate.studies.snell21.agreement import AgreementSettings

__all__ = ["Texts", "available_texts", "prepared", "text_part"]


@dataclass(frozen=True)
class Texts:
    """Training texts and evaluation texts.

    Args:
        name: Name of the data set.
        train: Training texts.
        y_train: Their labels, shape (n,).
        read: Validation texts, then the sample of training texts.
        y_read: Their labels.
        group: The set of each text that is read, see :data:`.comparison.SETS`.
        trans: Trans(y|x_l) of the training texts' count table, for the evaluation texts, (N,).
        vocabulary: Words.
        about: Description of these texts.
    """

    name: str
    train: Tokens
    y_train: Tensor
    read: Tokens
    y_read: Tensor
    group: Array
    trans: Array
    vocabulary: Vocabulary
    about: str


def available_texts(names: Sequence[str]) -> tuple[str, ...]:
    """Those of the data sets whose files can be read."""
    return tuple(name for name in names if _is_available(name, os.environ.get("FOVEATE_DATA")))


@cache
def _is_available(name: str, _where: str | None) -> bool:
    TEXTS.get(name)  # an unknown name is an error, a missing file is not
    try:
        load_texts(name, train=1, validation=1, least=1)
    except FoveateError:
        return False
    return True


def prepared(settings: "AgreementSettings", name: str) -> Texts:
    """The texts of a data set; halves of the validation texts are drawn by name."""
    texts = load_texts(name, train=settings.train, validation=settings.validation)
    train, held_out = (
        truncate(texts.train, settings.longest),
        truncate(texts.validation, settings.longest),
    )
    half = torch.randperm(len(held_out), generator=generator("halves", name)) % 2
    sample = torch.randperm(len(train), generator=generator("sample", name))[: settings.sample]
    read = _joined(held_out, train.take(sample))
    y_read = torch.cat([texts.y_validation, texts.y_train[sample]])
    halves = torch.where(half == 0, CHOOSING, REPORTING)
    group = torch.cat([halves, torch.full((len(sample),), TRAINING)]).numpy()
    counts = count_table(train, label_targets(texts.y_train), (len(texts.vocabulary), 2))
    trans = lookup(translations(counts), read, label_targets(y_read)).values
    return Texts(
        name,
        train,
        texts.y_train,
        read,
        y_read,
        group,
        trans,
        texts.vocabulary,
        texts.about,
    )


def _joined(first: Tokens, second: Tokens) -> Tokens:
    start = torch.cat([first.start, second.start[1:] + len(first.ids)])
    return Tokens(torch.cat([first.ids, second.ids]), start)


def text_part(
    settings: "AgreementSettings", name: str, checkpoint: Path, progress: StepProgress
) -> Record:
    """Train proxy, standard model, partner, uniform and frozen model of each seed, and compare.

    Every kind of model has a separate checkpoint beside ``checkpoint``, which stays until the
    part is done, since later kinds are compared with earlier ones.
    """
    texts = prepared(settings, name)
    stages = ReaderStages(settings, texts, checkpoint, progress)
    proxy, standard = stages.proxy(), stages.standard()
    best = proxy.values["loss"][:, :, CHOOSING].argmin(0)
    seeds = np.arange(settings.seeds)
    evidence = proxy.values["evidence"][best, seeds]  # (S, words)
    partner = stages.partner(standard)
    uniform = stages.uniform(standard, evidence)
    frozen = stages.frozen(standard)
    values = {**partner.values, **uniform.values, **frozen.values}
    final = {
        "alpha_beta": standard.last("alpha_beta"),
        "random": np.repeat(stages.random[None], settings.seeds, 0),
        "standard_accuracy": standard.last("accuracy"),
        "proxy_accuracy": proxy.values["accuracy"][best, seeds],
        "proxy_epoch": best + 1.0,
    }
    stages.clear()
    return Record(partner.t, values, final, _meta(texts))


def _meta(texts: Texts) -> dict[str, object]:
    counts = {
        "train": len(texts.train),
        "read": np.bincount(texts.group, minlength=3).tolist(),
        "median length": int(texts.train.lengths.median()),
        "vocabulary": len(texts.vocabulary),
        "positive": round(float(texts.y_train.double().mean()), 4),
    }
    return {"data": texts.name, "kind": "texts", "counts": counts, "about": texts.about}
