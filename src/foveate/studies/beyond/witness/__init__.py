"""The witness compared with every paradigm and the oracle, and all variants that were tried."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, ClassVar

from foveate.bags.bag import Bag
from foveate.data import DATASETS
from foveate.jobs.experiment import EXPERIMENTS, Records, Scale
from foveate.records.published import Cell, PublishedTable
from foveate.settings import Count, Settings, one_of
from foveate.studies.beyond.witness.cells import RULES, witness_cells
from foveate.studies.beyond.witness.sets import SEPARATE_SETS, STUDY, resplit
from foveate.studies.beyond.witness.variants import FINALISTS, VARIANT_PARADIGMS
from foveate.studies.trials import Trial, TrialStudy
from foveate.studies.vr23.table1.rows import Sizes, absent, trial_of
from foveate.training.plan import Plan

__all__ = ["CHOSEN_ON", "CONFIRMED_ON", "WitnessSettings", "WitnessStudy"]

CHOSEN_ON = ("digits-20", "cifar10-5", "cifar10-20")
CONFIRMED_ON = ("mnist-5", "mnist-20")
SetName = Annotated[str, one_of(STUDY)]
VariantName = Annotated[str, one_of(VARIANT_PARADIGMS)]


class WitnessSettings(Settings):
    """Which sets, how many seeds, and how much training."""

    sets: tuple[SetName, ...]
    """Reported on test images."""
    seeds: Count
    few_seeds: Count = 3
    """Seeds of the sets over pixels and over words, which take longest."""
    chosen_on: tuple[SetName, ...] = CHOSEN_ON
    """Sets on whose validation bags the variants were compared."""
    confirmed_on: tuple[SetName, ...] = CONFIRMED_ON
    """Sets on whose validation bags the finalists were compared."""
    tried: tuple[VariantName, ...] = tuple(VARIANT_PARADIGMS)
    finalists: tuple[VariantName, ...] = FINALISTS
    tried_seeds: Count = 3
    sizes: dict[str, Sizes]


SMALL = {
    # Where a training over features reaches its lowest loss; see foveate.data.features.datasets.
    "digits": Sizes(n=2000, n_test=1000, epochs=100, batch=200, lr=1e-3),
    # On validation bags of MNIST every paradigm gains by three times that.
    "mnist": Sizes(n=5000, n_test=2000, epochs=24, batch=256, lr=3e-4),
    "cifar10": Sizes(n=5000, n_test=2000, epochs=8, batch=256, lr=3e-4),
    "cifar100": Sizes(n=5000, n_test=2000, epochs=8, batch=256, lr=1e-3),
    "mnist-pixels": Sizes(n=2000, n_test=1000, epochs=40, batch=200, lr=1e-3),
    "pixels": Sizes(n=1000, n_test=500, epochs=20, batch=100, lr=1e-3),
    "cifar100-pixels": Sizes(n=2000, n_test=1000, epochs=10, batch=100, lr=1e-3),
    # [pvr22] released scripts of modes 1 and 2
    "error-modes": Sizes(n=3000, n_test=1000, epochs=100, batch=250, lr=0.01, optimizer="sgd"),
    "words": Sizes(n=15_383, n_test=1_924, epochs=4, batch=256, lr=2e-3, switch=0.75),
}


@EXPERIMENTS.register("witness")
class WitnessStudy(TrialStudy):
    """Every paradigm and the oracle on mosaics and posts; variants on validation bags alone."""

    published = PublishedTable("The witness beside the published paradigms and the oracle")
    about = "the witness against the published paradigms and the oracle, and what was tried"
    scales: ClassVar[Mapping[Scale, Settings]] = {
        "smoke": WitnessSettings(
            sets=("digits-5",),
            seeds=2,
            chosen_on=("digits-5",),
            confirmed_on=(),
            tried=("LVML, uniform penalty 1", "witness 1, .3"),
            tried_seeds=1,
            sizes={"digits": Sizes(n=60, n_test=30, epochs=2, batch=30, lr=1e-3)},
        ),
        "small": WitnessSettings(
            sets=tuple(name for name in STUDY if name not in SEPARATE_SETS), seeds=10, sizes=SMALL
        ),
        "paper": WitnessSettings(
            sets=tuple(STUDY), seeds=30, few_seeds=10, tried_seeds=10, sizes=SMALL
        ),
    }

    def trials(self, settings: WitnessSettings) -> dict[str, Trial]:
        """What is trained, by the name of its part: variants first, then what is reported."""
        compared = dict.fromkeys(settings.chosen_on, settings.tried)
        compared |= dict.fromkeys(settings.confirmed_on, settings.finalists)
        tried = {
            f"tried-{name}-{list(VARIANT_PARADIGMS).index(rule):02d}": _variant(
                settings, name, rule
            )
            for name, rules in compared.items()
            for rule in rules
        }
        return tried | {
            f"{name}-{rule}": _trial(settings, name, rule)
            for name in settings.sets
            for rule in RULES
        }

    def cells(self, settings: WitnessSettings, records: Records) -> list[Cell]:
        return witness_cells(settings.sets, records)

    def differs(self, settings: WitnessSettings, records: Records) -> list[str]:
        return [
            "Nothing of this is published: the paradigms are trained as in Table 1 at the same "
            "sizes, and the witness beside them.",
            "Variants were compared on validation bags, cut from a fifth of the training images "
            "that was held out, before the sets of test images were read.",
        ]

    def runnable(self, settings: WitnessSettings) -> tuple[Settings, dict[str, str]]:
        named = (*settings.sets, *settings.chosen_on, *settings.confirmed_on)
        reasons = absent({name: STUDY[name] for name in named})
        left = {
            key: tuple(name for name in getattr(settings, key) if name not in reasons)
            for key in ("sets", "chosen_on", "confirmed_on")
        }
        return settings.model_copy(update=left), {
            STUDY[k].group: reason for k, reason in reasons.items()
        }


def _trial(settings: WitnessSettings, name: str, rule: str) -> Trial:
    row = STUDY[name]
    seeds = settings.few_seeds if row.words or row.setting == "pixels" else settings.seeds
    return trial_of(row, rule, settings.sizes, seeds)


def _variant(settings: WitnessSettings, name: str, rule: str) -> Trial:
    """A variant on bags cut from four fifths of the training images, read on the rest."""
    row = STUDY[name]
    baseline = trial_of(row, "lvml", settings.sizes, settings.tried_seeds)
    data, sizes = DATASETS.get(row.data)(), settings.sizes[row.sizes]

    def bags(split: str, seed: int) -> Bag:
        def load(count: int) -> Bag:
            return data.load("train", n=count, m=row.m, seed=seed)

        sides = resplit(load, len(data.classes), sizes.n, sizes.n_test, seed)
        return sides[split == "test"]

    plan = Plan(**(baseline.plan.model_dump() | {"every": sizes.epochs}))
    meta = {"variant": rule, "set": name}
    return replace(baseline, bags=bags, rule=VARIANT_PARADIGMS[rule], plan=plan, meta=meta)
