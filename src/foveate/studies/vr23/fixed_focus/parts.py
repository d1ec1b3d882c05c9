"""The trainings of the fixed-focus experiment, each of which leaves a record."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

from torch import nn

from foveate.data import DATASETS
from foveate.data.orthogonal import linear_orthogonal
from foveate.models.nets import pair
from foveate.records.record import Record
from foveate.studies.vr23.fixed_focus.settings import AUTHORS, OWN_RATE, FixedFocusSettings
from foveate.studies.vr23.fixed_focus.training import (
    Line,
    measure_orthogonal,
    measure_weights,
    population,
    shrink,
    train_fixed,
    zero_linear,
)
from foveate.studies.vr23.incentive import measure_incentive
from foveate.training.plan import Plan
from foveate.types import StepProgress

__all__ = ["mosaics_part", "orthogonal_part", "theorem_part"]

CLASSES = SEGMENTS = 20  # [vr23] Sec. 4, Fig. 2 and 3: C = m = 20, d = 21


def theorem_part(settings: FixedFocusSettings, checkpoint: Path, progress: StepProgress) -> Record:
    """Full-batch gradient descent on the population, at several steps."""
    epochs = round(settings.until / settings.steps[-1])
    plan = Plan(
        epochs=epochs,
        batch=2 * CLASSES,
        optimizer="sgd",
        momentum=0.0,
        dtype="float64",
        every=max(1, epochs // settings.orthogonal_points),
    )
    g, bag = partial(zero_linear, CLASSES), population(CLASSES, SEGMENTS)
    lines = list(product(AUTHORS["orthogonal"], settings.steps))
    record = train_fixed(
        g, [(bag, bag)], lines, settings.alphas, plan, measure_weights, checkpoint, progress
    )
    return replace(record, meta={**record.meta, "until": settings.until, "classes": CLASSES})


def orthogonal_part(
    settings: FixedFocusSettings, checkpoint: Path, progress: StepProgress
) -> Record:
    """The linear classifier from zero weights on sampled bags."""
    load = linear_orthogonal(CLASSES, SEGMENTS).load
    bags = [
        (
            load("train", n=settings.orthogonal_n, m=SEGMENTS, seed=seed),
            load("test", n=settings.n_test, m=SEGMENTS, seed=seed),
        )
        for seed in range(settings.seeds)
    ]
    plan = Plan(
        epochs=settings.orthogonal_epochs,
        batch=settings.orthogonal_batch,
        optimizer="sgd",
        momentum=settings.orthogonal_momentum,
        every=max(1, settings.orthogonal_epochs // settings.orthogonal_points),
    )
    g, rates = partial(zero_linear, CLASSES), _rates("orthogonal", settings.orthogonal_lr)
    record = train_fixed(
        g, bags, _lines(rates), settings.alphas, plan, measure_orthogonal, checkpoint, progress
    )
    return replace(record, meta={**record.meta, "rates": rates, "classes": CLASSES})


def mosaics_part(
    settings: FixedFocusSettings, name: str, checkpoint: Path, progress: StepProgress
) -> Record:
    """A classifier of images on mosaics."""
    data, seeds = DATASETS.get(name)(), range(settings.seeds)
    train = [data.load("train", n=settings.n, m=settings.m, seed=seed) for seed in seeds]
    test = [data.load("test", n=settings.n_test, m=settings.m, seed=seed) for seed in seeds]
    net = settings.digits_net
    if name == "cifar10":
        net = settings.cifar10_net
        train, test = shrink(train, settings.cifar10_side), shrink(test, settings.cifar10_side)
    shape, classes = train[0].segment_shape, len(data.classes)
    plan = Plan(
        epochs=settings.epochs,
        batch=settings.batch,
        optimizer="sgd",  # [vr23] released code, as the momentum
        momentum=0.9,
        every=max(1, settings.epochs // settings.points),
    )
    rates, bags = _rates(name, settings.lr), list(zip(train, test, strict=True))

    def g() -> nn.Module:
        return pair(net, shape, classes).g

    record = train_fixed(
        g, bags, _lines(rates), settings.alphas, plan, measure_incentive, checkpoint, progress
    )
    return replace(record, meta={**record.meta, "rates": rates, "classes": classes})


def _rates(name: str, lr: float) -> dict[str, dict[str, float]]:
    """The learning rate of each paradigm: equal, and in the authors' proportions."""
    rates = {paradigm: rate / OWN_RATE * lr for paradigm, rate in AUTHORS[name].items()}
    return {"equal": dict.fromkeys(rates, lr), "authors": rates}


def _lines(rates: Mapping[str, Mapping[str, float]]) -> list[Line]:
    """Every paradigm at every rate it is to have, once."""
    return list(dict.fromkeys(line for choice in rates.values() for line in choice.items()))
