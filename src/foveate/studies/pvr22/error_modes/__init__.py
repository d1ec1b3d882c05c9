"""Accurate models with wrong focus: three error modes over many starts. [pvr22] 4"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
import torch
from pydantic import Field

from foveate.bags.bag import Bag
from foveate.data import DATASETS
from foveate.data.error_modes import MODE_1, MODE_2, MODE_3, Boxes
from foveate.jobs.experiment import EXPERIMENTS, Experiment, Scale, Work
from foveate.records.record import Record
from foveate.settings import AtLeastTwo, Count, Positive, Settings
from foveate.studies.pvr22.error_modes.initialisation import authors_build, random_build
from foveate.studies.pvr22.error_modes.linear_focus import (
    attended_points,
    best_separation,
    exact_ft,
)
from foveate.studies.pvr22.error_modes.outcome import final_values
from foveate.training.loop import fit
from foveate.training.plan import Plan
from foveate.training.stack import Build, Stack
from foveate.types import StepProgress

__all__ = ["BOXES", "ErrorModeSettings", "ErrorModes"]

BOXES: Mapping[int, Boxes] = {1: MODE_1, 2: MODE_2, 3: MODE_3}


class ErrorModeSettings(Settings):
    """Sizes of the trainings on the three modes, and of the comparisons."""

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
    angles: Annotated[int, Field(ge=4)] = 720
    """Directions of the focus at which FT is computed."""
    sums: AtLeastTwo = 8
    """Draws of mosaics on which f = x₁ + x₂ is tried."""


def _mode_criterion() -> str:
    return (
        "From the authors' initial weights, trained as published on fresh mosaics, mean held-out "
        "accuracy is at least .95 and mean FT in [.55, .80]; and of the random starts a share "
        "whose 95 % interval excludes 0 ends with accuracy at least .95 and FT below .85. Holds "
        "with both, in part with one."
    )


@EXPERIMENTS.register("error-modes")
class ErrorModes(Experiment):
    """The three error modes from the authors' initial weights and from random ones."""

    about = (
        "three mosaics that attention solves while looking at the wrong segment, over many seeds"
    )
    criteria: ClassVar[Mapping[str, str]] = {
        "pvr22:C2": _mode_criterion(),
        "pvr22:C3": _mode_criterion(),
        "pvr22:C4": _mode_criterion(),
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
    scales: ClassVar[Mapping[Scale, Settings]] = {
        "smoke": ErrorModeSettings(
            seeds=4,
            authors=2,
            n=250,
            n_test=100,
            epochs=(3, 3, 3),
            every=1,
            angles=36,
            sums=2,
        ),
        "small": ErrorModeSettings(),
        "paper": ErrorModeSettings(
            n_test=1000,
            every=1,
            authors=64,
            sums=32,
        ),
    }

    def parts(self, settings: ErrorModeSettings) -> Mapping[str, Work]:
        from_authors = {f"mode-{k}-authors": partial(_mode_part, settings, k, True) for k in BOXES}
        random = {f"mode-{k}-starts": partial(_mode_part, settings, k, False) for k in BOXES}
        return {"linear-focus": partial(_linear_part, settings), **from_authors, **random}


def _mode_part(
    settings: ErrorModeSettings,
    mode: int,
    authors: bool,
    checkpoint: Path,
    progress: StepProgress,
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
        report=progress,
    )
    return final_values(record, Stack(builds, seeds), test, BOXES[mode])


def _linear_part(settings: ErrorModeSettings, _: Path, progress: StepProgress) -> Record:
    """Exact results for linear focuses: margins, FT by direction, and f = x₁ + x₂ in mode 1."""
    best = [best_separation(boxes) for boxes in BOXES.values()]
    angle = np.linspace(-180, 180, settings.angles + 1)
    w = np.stack([np.cos(np.radians(angle)), np.sin(np.radians(angle))], 1)
    ft = [exact_ft(boxes, w, settings.m).mean(1) for boxes in BOXES.values()]
    accuracy = []
    for seed in range(settings.sums):
        accuracy.append(_sum_focus(settings, seed))
        progress(seed + 1, settings.sums)
    final = {
        "margin": np.array([[solution.margin for solution in best]]),
        "direction": np.stack([solution.w for solution in best])[None],
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
    points = [attended_points(_dense(bag), np.ones(2)) for bag in bags]
    g = LogisticRegression(C=1e4, max_iter=10_000)  # a convex problem: hardly any penalty
    g.fit(points[0], bags[0].y.numpy())
    return float(g.score(points[1], bags[1].y.numpy()))


def _dense(bag: Bag) -> np.ndarray:
    x = bag.x
    if not isinstance(x, torch.Tensor):
        raise TypeError("points of the plane are no mosaics")
    return x.double().numpy()
