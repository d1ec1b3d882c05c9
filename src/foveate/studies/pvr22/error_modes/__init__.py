"""Accurate models that look at the wrong segment: three error modes over many starts. [pvr22] 4"""

from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
import torch
from pydantic import Field, field_validator

from foveate.attention.paradigms import PARADIGMS
from foveate.bags.bag import Bag
from foveate.data import DATASETS
from foveate.data.error_modes import MODE_1, MODE_2, MODE_3, Boxes
from foveate.data.files.hub import locate
from foveate.errors import FoveateError
from foveate.jobs.experiment import EXPERIMENTS, Experiment, Scale, Work
from foveate.models.focus import FCAM
from foveate.models.nets import direct, linear
from foveate.records.findings import Revision
from foveate.records.record import Record
from foveate.settings import AtLeastTwo, Count, NonEmpty, Positive, Settings
from foveate.studies.pvr22.error_modes.initialisation import authors_build, random_build
from foveate.studies.pvr22.error_modes.linear_focus import attended, best_separation, exact_ft
from foveate.studies.pvr22.error_modes.outcome import settled
from foveate.training.evaluation import read_stack
from foveate.training.loop import fit
from foveate.training.plan import Plan
from foveate.training.stack import Build, MemberBags, Stack

__all__ = ["BOXES", "DIRECT_CLAIM", "DIRECT_SETS", "ErrorModeSettings", "ErrorModes"]

BOXES: Mapping[int, Boxes] = {1: MODE_1, 2: MODE_2, 3: MODE_3}
DIRECT_SETS = ("error-mode-1", "error-mode-2", "error-mode-3", "digits")
DIRECT_CLAIM = "cifar10"
"""The data set that the claim about the direct classifier is about."""


class ErrorModeSettings(Settings):
    """Sizes of the trainings on the three modes, and of what is held against them."""

    seeds: AtLeastTwo = 256
    """Random starts of each mode."""
    authors: AtLeastTwo = 8
    """Trainings from the authors' initial weights, each on fresh mosaics."""
    m: AtLeastTwo = 9  # [pvr22] Sec. 4
    n: Count = 3000  # [pvr22] released scripts; the text says 200
    n_test: Count = 500  # the scripts hold out 1,000; half is enough for 256 starts
    epochs: tuple[Count, Count, Count] = (100, 100, 150)  # [pvr22] released scripts
    batch: Count = 250  # [pvr22] released scripts
    lr: Positive = 0.01  # [pvr22] released scripts: SGD with momentum .9, Adam in mode 3
    every: Count = 2
    """Epochs between measurements of the random starts; the authors' own are measured in each."""
    tied: bool = False
    """Draw f and g from the same random numbers, as the released scripts do."""
    direct_sets: tuple[str, ...] = DIRECT_SETS
    """Data sets of the direct classifier: generated ones, digits, and CIFAR-10."""
    direct_seeds: AtLeastTwo = 4
    direct_n: NonEmpty[Count] = (3000, 200)  # the released scripts', and the text's
    direct_epochs: Count = 100  # the paper is silent; most stop earlier, by their loss
    direct_lr: Positive = 1e-3  # the paper is silent
    direct_stop: Positive = 0.01  # [pvr22] appendix: training stops at a loss of .01
    angles: Annotated[int, Field(ge=4)] = 720
    """Directions of the focus at which FT is computed."""
    sums: AtLeastTwo = 8
    """Draws of mosaics on which f = x₁ + x₂ is tried."""

    @field_validator("direct_sets")
    @classmethod
    def _has_those_of_the_figure(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        if not set(DIRECT_SETS) <= set(given):
            raise ValueError(f"must have {', '.join(DIRECT_SETS)}, which the figure shows")
        return given


def _mode_criterion() -> str:
    return (
        "From the authors' initial weights, trained as published on fresh mosaics, mean held-out "
        "accuracy is at least .95 and mean FT in [.55, .80]; and of the random starts a share "
        "whose 95 % interval excludes 0 ends with accuracy at least .95 and FT below .85. Holds "
        "with both, in part with one."
    )


@EXPERIMENTS.register("error-modes")
class ErrorModes(Experiment):
    """The three error modes from the authors' weights and from many others, and why."""

    about = (
        "three mosaics that attention solves while looking at the wrong segment, over many seeds"
    )
    criteria: ClassVar[Mapping[str, str]] = {
        "pvr22:C2": _mode_criterion(),
        "pvr22:C3": _mode_criterion(),
        "pvr22:C4": _mode_criterion(),
        "pvr22:C5": "A ReLU network on the concatenated mosaic of CIFAR-10 images, trained on "
        "3,000 mosaics until its training loss is below .01 or its epochs are over, has (i) a mean "
        "training accuracy of at least .95 and (ii) a held-out accuracy of at most chance + .15, "
        "the upper end of the 95 % interval over seeds included.",
        "pvr22:C9": "In models with accuracy of at least .95, over held-out bags predicted right "
        "with a wrong focus: (i) more than half have an attention entropy of at least 1 bit, as if "
        "spread over two equal segments (95 % interval over models above .5); (ii) their mean "
        "entropy exceeds that of the same model's bags predicted right with the right focus "
        "(interval of the difference above 0). Models with fewer than 10 such bags are left out. "
        "Holds if (i) and (ii) in all three modes, in part if (i) in at least one.",
        "pvr22:C10": "Epochs until held-out accuracy first reaches .95, over trainings that end "
        "with accuracy of at least .95 and FT below .85: the mean of mode 1 exceeds that of mode 2 "
        "and that of mode 3, with the 95 % interval of each difference above 0, over random starts "
        "and over trainings from the authors' weights. Holds with all four comparisons, in part "
        "with some.",
        "pvr22:C12": "The largest margin by which a linear focus (weights at most 1 in absolute "
        "value) puts every corner of the foreground boxes above every corner of the background, by "
        "linear programming, is above 1e-6 in modes 1 and 3 and not in mode 2; and in mode 1 "
        "f = x₁ + x₂ has an exact FT in [.60, .72] while a linear g on its attended points is at "
        "least .98 accurate on fresh mosaics. Holds with both, in part with one.",
    }
    revisions: ClassVar[Mapping[str, Revision]] = {
        "pvr22:C5": Revision(
            "2026-11-18",
            "It was judged on the error modes and on digits, where nine segments of two numbers or "
            "64 pixels can be told apart from a few thousand mosaics; the claim is about mosaics "
            "of CIFAR images.",
            "A ReLU network on the concatenated mosaic, trained on 3,000 mosaics until its "
            "training loss is below .01 or its epochs are over, has mean training accuracy of at "
            "least .95 and mean held-out accuracy of at most chance + .15. Holds if so on all "
            "three modes and on mosaics of digits, in part if on some.",
            "does not hold",
        )
    }
    scales: ClassVar[Mapping[Scale, Settings]] = {
        "smoke": ErrorModeSettings(
            seeds=4,
            authors=2,
            n=250,
            n_test=100,
            epochs=(3, 3, 3),
            every=1,
            direct_seeds=2,
            direct_n=(100, 50),
            direct_epochs=2,
            angles=36,
            sums=2,
        ),
        "small": ErrorModeSettings(direct_sets=(*DIRECT_SETS, DIRECT_CLAIM)),
        "paper": ErrorModeSettings(
            n_test=1000,
            every=1,
            authors=64,
            direct_sets=(*DIRECT_SETS, DIRECT_CLAIM),
            direct_seeds=10,
            sums=32,
        ),
    }

    def parts(self, settings: ErrorModeSettings) -> Mapping[str, Work]:
        own = {f"mode-{k}-authors": partial(_mode_part, settings, k, True) for k in BOXES}
        random = {f"mode-{k}-starts": partial(_mode_part, settings, k, False) for k in BOXES}
        plain = {
            f"direct-{name}-{n}": partial(_direct_part, settings, name, n)
            for name in filter(_is_here, settings.direct_sets)
            for n in settings.direct_n
        }
        return {"linear-focus": partial(_linear_part, settings), **own, **random, **plain}


def _mode_part(
    settings: ErrorModeSettings,
    mode: int,
    authors: bool,
    checkpoint: Path,
    tell: Callable[[int, int], None],
) -> Record:
    """One mode under soft attention; a seed decides a member's bags, order and random weights."""
    data = DATASETS.get(f"error-mode-{mode}")()
    seeds = range(settings.authors if authors else settings.seeds)
    builds: list[Build] = [
        authors_build(mode, first=seed == 0) if authors else random_build(mode, settings.tied)
        for seed in seeds
    ]
    test = [data.load("test", n=settings.n_test, m=settings.m, seed=seed) for seed in seeds]
    plan = Plan(
        epochs=settings.epochs[mode - 1],
        batch=settings.batch,
        lr=settings.lr,
        optimizer=data.recipe.optimizer,  # type: ignore[arg-type]
        every=1 if authors else settings.every,
    )
    record = fit(
        builds,
        [data.load("train", n=settings.n, m=settings.m, seed=seed) for seed in seeds],
        test,
        "soft",
        seeds=seeds,
        plan=plan,
        checkpoint=checkpoint,
        report=tell,
    )
    return settled(record, Stack(builds, seeds), test, BOXES[mode])


def _is_here(name: str) -> bool:
    """Whether a data set can be had: CIFAR-10 only where its files are, or the hub is."""
    if name != DIRECT_CLAIM:
        return True
    try:
        locate("cifar10", "uoft-cs/cifar10")
    except FoveateError:
        return False
    return True


def _direct_part(
    settings: ErrorModeSettings,
    name: str,
    n: int,
    checkpoint: Path,
    tell: Callable[[int, int], None],
) -> Record:
    """A classifier of the concatenated mosaic, and how well it knows its training mosaics."""
    data, seeds = DATASETS.get(name)(), range(settings.direct_seeds)
    train = [data.load("train", n=n, m=settings.m, seed=seed) for seed in seeds]
    test = [data.load("test", n=settings.n_test, m=settings.m, seed=seed) for seed in seeds]
    record = fit(
        partial(_direct_model, train[0], len(data.classes)),
        train,
        test,
        "direct",
        seeds=seeds,
        plan=Plan(
            epochs=settings.direct_epochs,
            batch=settings.batch,
            lr=settings.direct_lr,
            stop_below=settings.direct_stop,
        ),
        checkpoint=checkpoint,
        report=tell,
    )
    pile = MemberBags(train, len(seeds))
    seen = read_stack(record.trained, pile, PARADIGMS.get("direct")())
    fitted = (seen.log_p.argmax(-1) == pile.y).double().mean(1).numpy()
    final = {"train_accuracy": fitted, "test_accuracy": record.last("accuracy")}
    return Record(record.t, record.values, final, {**record.meta, "classes": len(data.classes)})


def _direct_model(bag: Bag, classes: int) -> FCAM:
    idle = linear(prod(bag.segment_shape), 1)  # a model has a focus, but this one is never asked
    return FCAM(idle, direct(bag.segment_shape, bag.m, classes), "uniform")


def _linear_part(settings: ErrorModeSettings, _: Path, tell: Callable[[int, int], None]) -> Record:
    """What linear focuses can do: the best margins, FT by direction, and f = x₁ + x₂ in mode 1."""
    best = [best_separation(boxes) for boxes in BOXES.values()]
    angle = np.linspace(-180, 180, settings.angles + 1)
    w = np.stack([np.cos(np.radians(angle)), np.sin(np.radians(angle))], 1)
    ft = [exact_ft(boxes, w, settings.m).mean(1) for boxes in BOXES.values()]
    accuracy = []
    for seed in range(settings.sums):
        accuracy.append(_sum_focus(settings, seed))
        tell(seed + 1, settings.sums)
    final = {
        "margin": np.array([[found.margin for found in best]]),
        "direction": np.stack([found.w for found in best])[None],
        "angle": angle[None],
        "ft": np.stack(ft)[None],
        "sum_ft": exact_ft(MODE_1, np.ones((1, 2)), settings.m),
        "sum_accuracy": np.array(accuracy)[None],
    }
    return Record(np.zeros(1), {}, final, {"modes": list(BOXES)})


def _sum_focus(settings: ErrorModeSettings, seed: int) -> float:
    """Held-out accuracy of a linear g on the attended points of f = x₁ + x₂. [pvr22] Sec. 4.1"""
    from sklearn.linear_model import LogisticRegression

    data = DATASETS.get("error-mode-1")()
    bags = [data.load("train", n=settings.n, m=settings.m, seed=seed)]
    bags += [data.load("test", n=settings.n, m=settings.m, seed=seed)]
    points = [attended(_dense(bag), np.ones(2)) for bag in bags]
    g = LogisticRegression(C=1e4, max_iter=10_000)  # a convex problem: hardly any penalty
    g.fit(points[0], bags[0].y.numpy())
    return float(g.score(points[1], bags[1].y.numpy()))


def _dense(bag: Bag) -> np.ndarray:
    x = bag.x
    if not isinstance(x, torch.Tensor):
        raise TypeError("points of the plane are no mosaics")
    return x.double().numpy()
