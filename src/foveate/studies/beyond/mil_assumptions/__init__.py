"""Which paradigms respect the multiple-instance assumption: the unit tests of Raff and Holt."""

from collections.abc import Mapping
from functools import partial
from importlib.util import find_spec
from typing import Annotated, ClassVar

from foveate.data.mil_assumptions import KINDS, Kind
from foveate.jobs.experiment import EXPERIMENTS, Records, Scale, Work
from foveate.records.published import Cell, PublishedTable
from foveate.settings import AtLeastTwo, Count, NonEmpty, NonNegative, Positive, Settings, one_of
from foveate.studies.beyond.mil_assumptions.training import train_part
from foveate.studies.published import Reproduction, cell

__all__ = ["ABMIL", "MEASURES", "METHODS", "MilAssumptions", "MilAssumptionsSettings"]

ABMIL = "abmil"
METHODS = (
    *("soft", "hard", "lvml", "hybrid", "witness", "logit", "additive", "mean"),
    *("max", "noisy-or", "presence", "presence-two-sided"),
)

MEASURES = {"AUC, clue reversed": "reversed", "AUC, as in training": "held_out"}


class MilAssumptionsSettings(Settings):
    """Sizes and rates, the same for all methods; not tuned."""

    kinds: NonEmpty[Kind] = KINDS
    """Which of the three tests."""
    methods: NonEmpty[Annotated[str, one_of(METHODS)]] = METHODS
    """Paradigms; torchmil's ABMIL is added where torchmil is installed."""
    n: Count = 500
    """Training bags."""
    n_test: Count = 500
    """Bags of each test set."""
    m: AtLeastTwo = 9  # Raff & Holt: 1 to 9 background segments
    """Most background segments of a bag."""
    seeds: Count = 5
    features: Count = 64
    attention: Count = 32
    epochs: Count = 40
    batch: Count = 50
    lr: Positive = 3e-3
    weight_decay: NonNegative = 1e-4


@EXPERIMENTS.register("mil-assumptions")
class MilAssumptions(Reproduction):
    """Bag AUC on bags like those of training, and on bags in which the forbidden clue is reversed.

    All methods have the same encoder and linear classifier; only the paradigm differs. A method
    respects the assumption in a test if its AUC on reversed bags is above one half.
    """

    published = PublishedTable(
        "The multiple-instance assumption: bag AUC of every paradigm when the clue is reversed"
    )
    about = "which paradigms respect the multiple-instance assumption (Raff & Holt's unit tests)"
    scales: ClassVar[Mapping[Scale, Settings]] = {
        "smoke": MilAssumptionsSettings(
            methods=("lvml", "presence", "mean"), n=40, n_test=30, m=3, seeds=2, features=8,
            attention=4, epochs=2, batch=20,
        ),
        "small": MilAssumptionsSettings(),
        "paper": MilAssumptionsSettings(n=5000, n_test=2000, seeds=10, epochs=60),
    }  # fmt: skip

    def parts(self, settings: MilAssumptionsSettings) -> Mapping[str, Work]:
        methods = (*settings.methods, *((ABMIL,) if find_spec("torchmil") else ()))
        return {
            f"{kind}-{method}": partial(train_part, settings, kind, method)
            for kind in settings.kinds
            for method in methods
        }

    def cells(self, settings: MilAssumptionsSettings, records: Records) -> list[Cell]:
        return [
            cell((r.meta["kind"], r.meta["method"], measure), "", r.final[name])
            for r in records.values()
            for measure, name in MEASURES.items()
        ]
