"""Train every method on one set, and measure focus and accuracy on the other bags."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from foveate.attention.paradigms import (
    PARADIGMS,
    Marginal,
    Paradigm,
    Taught,
    TaughtFocus,
    TopMarginal,
    WithFocus,
)
from foveate.bags.bag import Bag
from foveate.metrics.localisation import pointing_game
from foveate.models.focus import FCAM
from foveate.models.nets import pair
from foveate.records.record import Record
from foveate.studies.beyond.trust.sets import SETS, Sample, TrustSet
from foveate.training.loop import fit
from foveate.trust.auditor import audit
from foveate.trust.subject import as_subject
from foveate.types import Array, StepProgress

if TYPE_CHECKING:
    from foveate.studies.beyond.taught import TaughtSettings

__all__ = ["train_part"]

LIKELY = 0.5  # probability of being evidence from which on the boosted auditor marks a segment


def train_part(
    settings: "TaughtSettings", name: str, checkpoint: Path, progress: StepProgress
) -> Record:
    """Accuracy, FT, and FT as a forest estimates it, one number per draw of the bags.

    Args:
        settings: Sizes and methods.
        name: A set of the study of verdicts.
        checkpoint: Not used: a method takes seconds.
        progress: Called as ``progress(done, total)``.
    """
    del checkpoint
    trust_set, total = SETS[name], settings.seeds * len(settings.methods)
    values: dict[str, list[float]] = {}
    for seed in range(settings.seeds):
        sample = trust_set.load(settings.n, seed)
        teacher, other = (
            _audited(sample.train, trust_set, "boosting"),
            _audited(sample.test, trust_set),
        )
        for number, method in enumerate(settings.methods):
            numbers = _measured(trust_set, sample, method, seed, settings.epochs, teacher, other)
            for key, value in numbers.items():
                values.setdefault(f"{method}/{key}", []).append(value)
            progress(seed * len(settings.methods) + number + 1, total)
    final = {key: np.array(value) for key, value in values.items()}
    meta = {"set": name, "methods": list(settings.methods), "seeds": list(range(settings.seeds))}
    return Record(np.zeros(1), {}, final, meta)


def _audited(bag: Bag, trust_set: TrustSet, classifier: str = "forest") -> Array:
    """Probability of every segment of being evidence of its bag's class, shape (n, m)."""
    result = audit([replace(bag, z=None)], len(trust_set.classes), classifiers=(classifier,))
    a = np.zeros(bag.shape)
    a[result.bag_index] = result.a[0]
    return a


def _paradigm(method: str) -> Paradigm:
    if method == "taught-em":
        return Taught(phases=(TaughtFocus(1.0), TopMarginal()))
    return WithFocus(Marginal()) if method == "taught-boosting" else PARADIGMS.get(method)()


def _measured(
    trust_set: TrustSet,
    sample: Sample,
    method: str,
    seed: int,
    epochs: float,
    teacher: Array,
    other: Array,
) -> dict[str, float]:
    """Train one model and measure it on the held-out bags of graded classes."""
    train = sample.train
    if method == "taught-boosting":
        train = replace(train, z=torch.from_numpy(teacher >= LIKELY))
    plan = {**trust_set.plan, "epochs": max(1, round(trust_set.plan["epochs"] * epochs))}
    rule = _paradigm(method)
    build = partial(_built, trust_set, train.segment_shape)
    record = fit(
        build, train, replace(sample.test, z=None), rule, seeds=[seed], every=10_000, **plan
    )
    read = as_subject(record.trained, rule).read([sample.test])
    test = sample.test
    mask = np.ones(test.shape, bool) if test.mask is None else test.mask.numpy()
    z, y, alpha = np.asarray(test.z) & mask, test.y.numpy(), read.alpha[0]
    known = z.any(1) & np.isin(y, trust_set.graded)
    top = np.where(mask, alpha, -np.inf).argmax(1)
    return {
        "accuracy": float((read.p[0].argmax(-1) == y).mean()),
        "ft": float(np.nanmean(pointing_game(alpha[known], z[known], mask[known]))),
        "audited": float(other[np.arange(len(y)), top][known].mean()),
    }


def _built(trust_set: TrustSet, shape: tuple[int, ...]) -> FCAM:
    f, g, layer = pair(trust_set.net, shape, len(trust_set.classes))
    return FCAM(f, g, "softmax", layer)
