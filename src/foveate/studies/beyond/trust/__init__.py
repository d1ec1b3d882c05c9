"""Trust, confirmed: do the estimate and the grade hold on sets that they were not designed on?"""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, ClassVar

from pydantic import Field

from foveate.data.files.hub import missing
from foveate.jobs.experiment import EXPERIMENTS, Records, Scale, Work
from foveate.models.efficientnet import weights_file
from foveate.records.published import Cell, PublishedTable
from foveate.settings import AtLeastTwo, Count, Positive, Settings, one_of
from foveate.studies.beyond.trust.second import SECOND
from foveate.studies.beyond.trust.sets import MODEL_VARIANTS, SETS
from foveate.studies.beyond.trust.third import EVERY, THIRD
from foveate.studies.published import Reproduction

__all__ = ["SecondSettings", "SecondStudy", "ThirdSettings", "ThirdStudy", "TrustSettings",
           "TrustStudy"]  # fmt: skip

FILES = {
    "mnist": ("mnist", "ylecun/mnist"),
    "birds": ("mil_hja_birds", "none"),
    "cifar10": ("cifar10", "uoft-cs/cifar10"),
    "photographs": ("coco_one_person", "none"),
    "hockey": ("mil_newsgroups_hockey", "none"),
    "hatexplain": ("hatexplain", "Hate-speech-CNERG/hatexplain"),
    "sst": ("sst", "stanfordnlp/sst"),
    "fever": ("eraser_fever", "none"),
    "posts": ("newsgroups_baseball_hockey", "none"),
    "news": ("ag_news", "fancyzhx/ag_news"),
    "offensive": ("hatexplain", "Hate-speech-CNERG/hatexplain"),
    "people": ("coco_captions_boxes", "none"),
    "spam": ("sms_spam", "none"),
    "domains": ("multi_domain_sentiment", "none"),
    "films": ("yelp_polarity_sample", "none"),
    "film": ("imdb", "none"),
    "phrase": ("sst2", "none"),
}

ENCODED = ("cifar10", "photographs", "people")  # sets that need the encoder


class TrustSettings(Settings):
    """Which sets, how many bags and how much training."""

    sets: tuple[Annotated[str, one_of(EVERY)], ...] = tuple(
        sorted(SETS, key=lambda name: SETS[name].role)  # confirmation first
    )
    """Names of sets; some need files."""
    ways: Annotated[int, Field(ge=1, le=len(MODEL_VARIANTS))] = len(MODEL_VARIANTS)
    """How many of the ways to train."""
    seeds: AtLeastTwo = 2
    """Models of each way, examined together."""
    n: Count = 600
    """Training bags where bags are made, half as many to examine."""
    epochs: Positive = 1.0
    """Share of the usual epochs."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Decides the bags."""


@EXPERIMENTS.register("trust")
class TrustStudy(Reproduction):
    """Models of many kinds, each examined without its relevance and then with it."""

    published = PublishedTable("Verdicts on attention against FT")
    about = "the auditor's estimate and the grade against known relevance, design and confirmation"
    long = True
    scales: ClassVar[Mapping[Scale, Settings]] = {
        "smoke": TrustSettings(sets=("error-mode-1", "raff-single"), ways=1, n=100, epochs=0.1),
        "small": TrustSettings(n=300),
        "paper": TrustSettings(seeds=5, n=2000),
    }

    def parts(self, settings: TrustSettings) -> Mapping[str, Work]:
        from foveate.studies.beyond.trust.training import train_and_examine

        return {name: partial(train_and_examine, settings, name) for name in settings.sets}

    def cells(self, settings: TrustSettings, records: Records) -> list[Cell]:
        from foveate.studies.beyond.trust.summary import trust_cells

        return trust_cells(records)

    def runnable(self, settings: TrustSettings) -> tuple[Settings, dict[str, str]]:
        absent = missing(FILES)
        if weights_file() is None:
            for prefix in ENCODED:
                absent[prefix] = "the weights of the encoder must be in $FOVEATE_DATA/weights"
        present = tuple(name for name in settings.sets if name.split("-")[0] not in absent)
        return settings.model_copy(update={"sets": present}), absent


class SecondSettings(TrustSettings):
    """The same with the sets of the second protocol."""

    sets: tuple[Annotated[str, one_of(EVERY)], ...] = tuple(SECOND)
    """Names of sets; some need files."""


@EXPERIMENTS.register("trust-second")
class SecondStudy(TrustStudy):
    """The same ways to train, on sets that nobody had looked at before the rule was repaired."""

    published = PublishedTable("Verdicts on attention against FT, second confirmation")
    about = "the same on new sets: the second confirmation, after the first one's repairs"
    scales: ClassVar[Mapping[Scale, Settings]] = {
        "smoke": SecondSettings(sets=("raff-single-2",), ways=1, n=100, epochs=0.1),
        "small": SecondSettings(n=300),
        "paper": SecondSettings(seeds=5, n=2000),
    }


class ThirdSettings(TrustSettings):
    """The same with the sets of the third protocol."""

    sets: tuple[Annotated[str, one_of(EVERY)], ...] = tuple(THIRD)
    """Names of sets; all need files."""


@EXPERIMENTS.register("trust-third")
class ThirdStudy(TrustStudy):
    """The same ways to train, on texts that no study of trust had used."""

    published = PublishedTable("Verdicts on attention against FT, third confirmation")
    about = "the same on unused texts: the third confirmation, of the auditor with a mixture"
    scales: ClassVar[Mapping[Scale, Settings]] = {
        "smoke": ThirdSettings(sets=("spam",), ways=1, n=100, epochs=0.1),
        "small": ThirdSettings(n=300),
        "paper": ThirdSettings(seeds=5, n=2000),
    }
