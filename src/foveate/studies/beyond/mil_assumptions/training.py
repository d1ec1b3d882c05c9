"""Train one method on one of the tests, and measure it with and without the clue reversed."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from foveate.attention.paradigms import PARADIGMS, Paradigm, Presence
from foveate.bags.bag import Bag
from foveate.data.mil_assumptions import Kind, mil_bags
from foveate.metrics.localisation import segment_auroc
from foveate.randomness import generator
from foveate.records.record import Record
from foveate.training.evaluation import read_stack
from foveate.training.loop import fit
from foveate.training.plan import Plan
from foveate.training.stack import MemberBags
from foveate.types import Array, StepProgress

if TYPE_CHECKING:
    from foveate.studies.beyond.mil_assumptions import MilAssumptionsSettings
    from foveate.studies.beyond.mnist_bags import MnistBagsSettings

__all__ = ["train_part"]

SETS = {"train": False, "held_out": False, "reversed": True}
"""Names of the sets of bags, and whether the clue is reversed in them."""


def train_part(
    settings: "MilAssumptionsSettings",
    kind: Kind,
    method: str,
    checkpoint: Path,
    progress: StepProgress,
) -> Record:
    """One model per seed; ``held_out`` and ``reversed`` are bag AUCs, shape (S,).

    Args:
        settings: Sizes and rates.
        kind: Which test.
        method: A name of ``METHODS``, or "abmil".
        checkpoint: File for the state of the training.
        progress: Called as ``progress(done, total)``.
    """
    sizes = {"train": settings.n, "held_out": settings.n_test, "reversed": settings.n_test}
    bags = {
        name: [_bags(settings, kind, name, sizes[name], seed) for seed in range(settings.seeds)]
        for name in SETS
    }
    read = _train_abmil if method == "abmil" else partial(_train, method, checkpoint)
    probabilities = read(settings, bags.pop("train"), list(bags.values()), progress)
    aucs = {
        name: segment_auroc(p, np.stack([bag.y.numpy() == 1 for bag in bags[name]]))
        for name, p in zip(bags, probabilities, strict=True)
    }
    meta = {"kind": kind, "method": method, "seeds": list(range(settings.seeds))}
    return Record(np.zeros(1), {}, aucs, meta)


def _bags(settings: "MilAssumptionsSettings", kind: Kind, name: str, n: int, seed: int) -> Bag:
    rng = generator("mil-assumptions", kind, name, seed)
    return mil_bags(kind, n=n, m=settings.m, reversed=SETS[name], generator=rng)


def _paradigm(method: str) -> Paradigm:
    return Presence(absent=()) if method == "presence-two-sided" else PARADIGMS.get(method)()


def _train(
    method: str,
    checkpoint: Path,
    settings: "MilAssumptionsSettings",
    train: Sequence[Bag],
    tests: Sequence[Sequence[Bag]],
    progress: StepProgress,
) -> list[Array]:
    """Probability of the positive class in each test set, shape (S, n) each."""
    from foveate.studies.beyond.mnist_bags.networks import attention_model

    rule, seeds = _paradigm(method), range(settings.seeds)
    plan = Plan(
        epochs=settings.epochs, batch=settings.batch, lr=settings.lr,
        weight_decay=settings.weight_decay, every=10_000,
    )  # fmt: skip
    build = partial(attention_model, _architecture(settings), train[0].segment_shape)
    record = fit(
        build, train, tests[0], [rule] * len(seeds), seeds=seeds, plan=plan,
        checkpoint=checkpoint, report=progress,
    )  # fmt: skip
    stacked = [MemberBags(bags, len(seeds)) for bags in tests]
    log_p = [read_stack(record.trained, bags, rule).log_p for bags in stacked]
    return [part[..., 1].double().exp().numpy() for part in log_p]


def _train_abmil(
    settings: "MilAssumptionsSettings",
    train: Sequence[Bag],
    tests: Sequence[Sequence[Bag]],
    progress: StepProgress,
) -> list[Array]:
    """The same for torchmil's ABMIL with the same encoder, optimiser and order of bags."""
    from foveate.studies.beyond.mnist_bags.training import train_abmil
    from foveate.trust.external import External

    models = []
    for seed, bags in enumerate(train):
        models.append(train_abmil(_architecture(settings), bags, seed))
        progress(seed + 1, settings.seeds)
    subject = External([model.eval() for model in models], train[0])
    return [subject.read(bags).p[..., 1] for bags in tests]


def _architecture(settings: "MilAssumptionsSettings") -> "MnistBagsSettings":
    """Encoder and attention of the MNIST-bags study, in the sizes of this one."""
    from foveate.studies.beyond.mnist_bags import MnistBagsSettings

    names = ("features", "attention", "epochs", "batch", "lr", "weight_decay")
    return MnistBagsSettings(encoder="mlp", **{name: getattr(settings, name) for name in names})
