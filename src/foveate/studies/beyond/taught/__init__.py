"""A focus taught by an auditor, beside the witness: on mosaics of digits and on real bags."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, ClassVar

from foveate.data.files.hub import missing
from foveate.jobs.experiment import EXPERIMENTS, Records, Scale, Work
from foveate.records.published import Cell, PublishedTable
from foveate.settings import Count, NonEmpty, Positive, Settings, one_of
from foveate.studies.published import Reproduction, cell

__all__ = ["METHODS", "SETS", "TaughtSettings", "TaughtStudy"]

METHODS = ("soft", "lvml", "witness", "taught", "taught-em", "taught-boosting")
"""``taught``: g is the auditor; ``taught-em``: with attention as the prior of the E-step;
``taught-boosting``: LVML, its focus supervised by boosted trees that were cross-fitted on the
training bags."""
SETS = (
    *("digits-m20", "mnist-m10", "hockey"),
    *("birds-1", "birds-2", "birds-3", "birds-4", "birds-6", "birds-8"),
)
FILES = {"mnist": "mnist", "birds": "mil_hja_birds", "hockey": "mil_newsgroups_hockey"}
MEASURES = {
    "accuracy %": "accuracy",
    "FT %": "ft",
    "FT by another auditor %": "audited",
}


class TaughtSettings(Settings):
    """Sizes; networks, rates and epochs are those of the study of verdicts, for all methods."""

    sets: NonEmpty[Annotated[str, one_of(SETS)]] = SETS
    """Names of sets of the study of verdicts; some need files."""
    methods: NonEmpty[Annotated[str, one_of(METHODS)]] = METHODS
    """Ways to train."""
    seeds: Count = 3
    """Models of each, and draws of the bags."""
    n: Count = 2000
    """Training bags of mosaics; half as many to test."""
    epochs: Positive = 1.0
    """Share of the usual epochs."""


@EXPERIMENTS.register("taught")
class TaughtStudy(Reproduction):
    """Every method is trained on half of the bags and measured on the other half.

    Its focus is measured with the known relevance, and without it by an auditor of another kind
    than the teacher: a random forest, cross-fitted on the held-out half.
    """

    published = PublishedTable("A focus taught by an auditor, beside the witness")
    about = "a focus taught by an auditor, beside the witness, on mosaics and real bags"
    scales: ClassVar[Mapping[Scale, Settings]] = {
        "smoke": TaughtSettings(sets=("digits-m20",), seeds=1, n=60, epochs=0.1),
        "small": TaughtSettings(),
        "paper": TaughtSettings(seeds=10, n=5000),
    }

    def parts(self, settings: TaughtSettings) -> Mapping[str, Work]:
        from foveate.studies.beyond.taught.training import train_part

        return {name: partial(train_part, settings, name) for name in settings.sets}

    def cells(self, settings: TaughtSettings, records: Records) -> list[Cell]:
        return [
            cell((record.meta["set"], method, measure), "", 100 * record.final[f"{method}/{key}"])
            for record in records.values()
            for method in record.meta["methods"]
            for measure, key in MEASURES.items()
        ]

    def runnable(self, settings: TaughtSettings) -> tuple[Settings, dict[str, str]]:
        absent = missing({prefix: (folder, "none") for prefix, folder in FILES.items()})
        present = tuple(name for name in settings.sets if name.split("-")[0] not in absent)
        return settings.model_copy(update={"sets": present}), absent
