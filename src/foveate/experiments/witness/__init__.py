"""The witness held against every paradigm and the oracle, and all that was tried on the way."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field

from foveate.bag import Bag
from foveate.data import DATASETS
from foveate.experiments.experiment import EXPERIMENTS, Experiment, Finding, Records, Scale, Work
from foveate.experiments.table1.rows import Sizes, trial_of
from foveate.experiments.trials import Trial, run_trial
from foveate.experiments.witness.sets import STUDY, recut
from foveate.experiments.witness.tried import TRIED
from foveate.plan import Checked, Plan
from foveate.record import Record

__all__ = ["CHOSEN_ON", "RULES", "WitnessSettings", "WitnessStudy"]

RULES = ("soft", "hard", "lvml", "hybrid", "witness", "oracle")
CHOSEN_ON = ("digits-20", "cifar10-5", "cifar10-20", "mnist-5")
Count = Annotated[int, Field(ge=1)]


class WitnessSettings(Checked):
    """Which sets, how many seeds, and how much training."""

    sets: tuple[str, ...]
    """Names in STUDY, reported on test images."""
    seeds: Count
    pixel_seeds: Count = 3
    """Seeds of the sets over pixels of photographs and MNIST."""
    chosen_on: tuple[str, ...] = CHOSEN_ON
    """Sets on whose validation bags the variants were compared."""
    tried: tuple[str, ...] = tuple(TRIED)
    """Names in TRIED."""
    tried_seeds: Count = 3
    sizes: dict[str, Sizes]


SMALL = {
    # Where a training over features reaches its lowest loss; see foveate.features.datasets.
    "digits": Sizes(n=2000, n_test=1000, epochs=100, batch=200, lr=1e-3),
    "mnist": Sizes(n=5000, n_test=2000, epochs=8, batch=256, lr=3e-4),
    "cifar10": Sizes(n=5000, n_test=2000, epochs=8, batch=256, lr=3e-4),
    "cifar100": Sizes(n=5000, n_test=2000, epochs=8, batch=256, lr=1e-3),
    "mnist-pixels": Sizes(n=2000, n_test=1000, epochs=40, batch=200, lr=1e-3),
    "pixels": Sizes(n=1000, n_test=500, epochs=20, batch=100, lr=1e-3),
    "words": Sizes(n=15_383, n_test=1_924, epochs=4, batch=256, lr=2e-3, switch=0.75),
}


@EXPERIMENTS.register("witness")
class WitnessStudy(Experiment):
    """Every paradigm and the oracle on mosaics and posts; variants on validation bags alone."""

    about = "the witness against the published paradigms and the oracle, and what was tried"
    scales: ClassVar[Mapping[Scale, Checked]] = {
        "smoke": WitnessSettings(
            sets=("digits-5",),
            seeds=2,
            chosen_on=("digits-5",),
            tried=("LVML, silence 1", "witness 1, .3"),
            tried_seeds=1,
            sizes={"digits": Sizes(n=60, n_test=30, epochs=2, batch=30, lr=1e-3)},
        ),
        "small": WitnessSettings(sets=tuple(STUDY), seeds=10, sizes=SMALL),
        "paper": WitnessSettings(
            sets=tuple(STUDY), seeds=30, pixel_seeds=10, tried_seeds=10, sizes=SMALL
        ),
    }

    def parts(self, use: WitnessSettings) -> Mapping[str, Work]:
        tried = {
            f"tried-{name}-{number:02d}": partial(_choose, use, name, rule)
            for name in use.chosen_on
            for number, rule in enumerate(use.tried)
        }
        reported = {
            f"{name}-{rule}": partial(run_trial, _trial(use, name, rule))
            for name in use.sets
            for rule in RULES
        }
        return tried | reported

    def findings(self, use: WitnessSettings, records: Records) -> list[Finding]:
        return []  # no claim of a paper's; the figures and the summary carry it

    def figures(self, use: WitnessSettings, records: Records) -> Mapping[str, Any]:
        from foveate.experiments.witness.figures import witness_figures

        return witness_figures(use, records)


def _trial(use: WitnessSettings, name: str, rule: str) -> Trial:
    seeds = use.pixel_seeds if STUDY[name].setting == "pixels" else use.seeds
    return trial_of(STUDY[name], rule, use.sizes, seeds)


def _choose(
    use: WitnessSettings,
    name: str,
    rule: str,
    checkpoint: Path,
    tell: Callable[[int, int], None],
) -> Record:
    """Train a variant on bags cut from four fifths of the training images, read on the rest."""
    row, sizes = STUDY[name], use.sizes[STUDY[name].sizes]
    data = DATASETS.get(row.data)()
    usual = trial_of(row, "lvml", use.sizes, use.tried_seeds)

    def bags(split: str, seed: int) -> Bag:
        def load(count: int) -> Bag:
            return data.load("train", n=count, m=row.m, seed=seed)

        sides = recut(load, len(data.classes), sizes.n, sizes.n_test, seed)
        return sides[split == "test"]

    plan = Plan(**(usual.plan.model_dump() | {"every": sizes.epochs}))
    trial = replace(usual, bags=bags, rule=TRIED[rule], plan=plan)
    record = run_trial(trial, checkpoint, tell)
    return replace(record, meta={**record.meta, "variant": rule, "set": name})
