"""Trust, validated: does the label-free score rank models by where they truly look?"""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, ClassVar

from pydantic import Field

from foveate.data.files.hub import locate
from foveate.errors import FoveateError
from foveate.jobs.experiment import EXPERIMENTS, Records, Scale, Work
from foveate.records.published import Cell, PublishedTable
from foveate.settings import AtLeastTwo, Count, Positive, Settings, one_of
from foveate.studies.beyond.trust_validation.sets import CONDITIONS, SETS, Condition
from foveate.studies.beyond.trust_validation.training import train_and_examine
from foveate.studies.published import Reproduction

__all__ = ["TrustValidation", "ValidationSettings", "conditions"]


class ValidationSettings(Settings):
    """Which sets, how many seeds of each condition, and how much training."""

    sets: tuple[Annotated[str, one_of(SETS)], ...] = tuple(SETS)
    """Names of sets; those of MNIST need its files."""
    ways: Annotated[int, Field(ge=1, le=len(CONDITIONS))] = len(CONDITIONS)
    """How many of the ways to train."""
    seeds: AtLeastTwo = 4
    n: Count = 2000
    """Training bags at most."""
    n_test: Count = 500
    epochs: Positive = 1.0
    """Share of the usual epochs."""


@EXPERIMENTS.register("trust-validation")
class TrustValidation(Reproduction):
    """Models of many kinds, each examined without its relevance and then with it."""

    published = PublishedTable("The label-free score of attention against FT")
    about = "the label-free trust score and detector against the truth, on sets not designed on"
    scales: ClassVar[Mapping[Scale, Settings]] = {
        "smoke": ValidationSettings(
            sets=("error-mode-1", "orthogonal"), ways=1, seeds=2, n=200, n_test=60, epochs=0.05
        ),
        "small": ValidationSettings(),
        "paper": ValidationSettings(seeds=10, n_test=1000),
    }

    def parts(self, settings: ValidationSettings) -> Mapping[str, Work]:
        return {c.name: partial(train_and_examine, settings, c) for c in conditions(settings)}

    def cells(self, settings: ValidationSettings, records: Records) -> list[Cell]:
        from foveate.studies.beyond.trust_validation.summary import trust_cells

        return trust_cells(records)

    def runnable(self, settings: ValidationSettings) -> tuple[Settings, dict[str, str]]:
        try:
            locate("mnist", "ylecun/mnist")
        except FoveateError as error:
            left = tuple(name for name in settings.sets if not name.startswith("mnist"))
            return settings.model_copy(update={"sets": left}), {"MNIST": str(error)}
        return settings, {}


def conditions(settings: ValidationSettings) -> list[Condition]:
    """Every set trained in every way."""
    ways = CONDITIONS[: settings.ways]
    return [Condition(name, paradigm, map) for name in settings.sets for paradigm, map in ways]
