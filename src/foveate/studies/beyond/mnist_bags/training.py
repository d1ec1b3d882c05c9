"""Train one method on one number of bags; read bag AUC and segment AUROC on test bags."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from foveate.attention.paradigms import PARADIGMS
from foveate.bags.bag import Bag
from foveate.data import DATASETS
from foveate.metrics.localisation import pointing_game, segment_auroc
from foveate.randomness import generator
from foveate.records.record import Array, Record
from foveate.studies.beyond.mnist_bags.networks import abmil, attention_model
from foveate.training.loop import fit
from foveate.training.plan import Plan
from foveate.trust.external import External
from foveate.trust.subject import Reading, Stacked, Subject
from foveate.types import StepProgress

if TYPE_CHECKING:
    from foveate.studies.beyond.mnist_bags import MnistBagsSettings

__all__ = ["final_scores", "train_abmil", "trained"]


def trained(
    settings: "MnistBagsSettings", method: str, n: int, checkpoint: Path, progress: StepProgress
) -> Record:
    """One model per seed; the seed determines bags, weights and order for every method.

    Args:
        settings: Sizes and rates, the same for all methods.
        method: A paradigm, or "abmil".
        n: Training bags.
        checkpoint: Where a paradigm's training keeps its state.
        progress: Called as ``tell(done, total)``.
    """
    data, seeds = DATASETS.get(settings.data)(), range(settings.seeds)
    train = [data.load("train", n=n, m=settings.m, seed=seed) for seed in seeds]
    test = [data.load("test", n=settings.n_test, m=settings.m, seed=seed) for seed in seeds]
    subject: Subject
    if method == "abmil":
        models = []
        for seed, bags in zip(seeds, train, strict=True):
            models.append(train_abmil(settings, bags, seed))
            progress(len(models), settings.seeds)
        subject = External([model.eval() for model in models], test[0])
    else:
        plan = Plan(
            epochs=settings.epochs, batch=settings.batch,
            lr=settings.lr, weight_decay=settings.weight_decay,
            optimizer="adam", every=10_000,
        )  # fmt: skip
        build = partial(attention_model, settings, train[0].segment_shape)
        record = fit(
            build,
            train,
            test,
            method,
            seeds=seeds,
            plan=plan,
            checkpoint=checkpoint,
            report=progress,
        )
        subject = Stacked(record.trained, PARADIGMS.get(method)())
    meta = {"method": method, "bags": n, "seeds": list(seeds)}
    return Record(np.zeros(1), {}, final_scores(subject.read(test), test), meta)


def train_abmil(settings: "MnistBagsSettings", bags: Bag, seed: int) -> nn.Module:
    """torchmil's model and loss under Adam, the bags in the order in which ours see them."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = abmil(settings, bags.segment_shape)
    steps = torch.optim.Adam(model.parameters(), settings.lr, weight_decay=settings.weight_decay)
    for epoch in range(settings.epochs):
        order = torch.randperm(len(bags), generator=generator("order", seed, epoch))
        for rows in order.split(settings.batch):
            batch = bags.take(rows)
            used = batch.m if batch.mask is None else int(batch.mask.sum(1).max())
            mask = None if batch.mask is None else batch.mask[:, :used]
            steps.zero_grad()
            _, losses = model.compute_loss(batch.y, batch.dense()[:, :used], mask)  # type: ignore[operator]
            sum(losses.values()).backward()
            steps.step()
    return model


def final_scores(reading: Reading, test: Sequence[Bag]) -> dict[str, Array]:
    """Of each member, shape (S,).

    ``bag_auc``: chance that a positive bag is rated above a negative one. ``segment_auroc``: chance
    that a nine has more attention than another digit of its bag, and ``pointing``: how often the
    most attended digit is a nine; both means over positive bags.
    """
    y, z, mask = (
        np.stack([np.asarray(getattr(bag, name)) for bag in test]) for name in ("y", "z", "mask")
    )
    return {
        "bag_auc": segment_auroc(reading.p[..., 1], y == 1),
        "segment_auroc": np.nanmean(segment_auroc(reading.alpha, z, mask), 1),
        "pointing": np.nanmean(pointing_game(reading.alpha, z, mask), 1),
    }
