"""Word counts: the first step of the proxy, and its equality with IBM Model 1. [snell21]"""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, ClassVar

from pydantic import Field

from foveate.jobs.experiment import EXPERIMENTS, Experiment, Scale, Work
from foveate.settings import AtLeastTwo, Count, Settings

__all__ = ["WordCounts", "WordCountsSettings"]

Dimensions = Annotated[tuple[AtLeastTwo, ...], Field(min_length=2)]  # a slope is measured


class WordCountsSettings(Settings):
    """Sizes of the corpora and dimensions of the proxy."""

    seeds: AtLeastTwo = 20  # ours: the paper proves the limit, and draws nothing
    dimensions: Dimensions = (64, 128, 256, 512, 1024, 2048, 4096)  # ours
    pairs: Count = 300  # ours: sentence pairs of the made-up languages
    multi30k: Annotated[int, Field(ge=0)] = 29_000
    """Pairs of Multi30k to count, where its files exist; 0 leaves it out."""
    grid: Count = 100
    """Steps along each edge of the simplex on which the example's loss is drawn."""


@EXPERIMENTS.register("word-counts")
class WordCounts(Experiment):
    """The derivative at initialisation, the count tables, and the pathological example."""

    about = "what the proxy learns first: derivative at initialisation, IBM-1 counts, count tables"
    criteria: ClassVar[Mapping[str, str]] = {
        "snell21:C8": "On made-up sentence pairs the relative deviation (Frobenius norm) of ∂γ/∂τ "
        "at τ = 0 from 2(C − mean C), and of ∂θ/∂τ from that divided by |O|, falls with every "
        "larger d in the mean over seeds, with a slope of log deviation against log d between −.6 "
        "and −.4; the limit of θ without 1/|O| stays off by more than .5. Holds with all, in part "
        "with the logits alone.",
        "snell21:C9": "The counts of the first iteration of IBM Model 1 from a uniform start, as "
        "EM computes them, differ from the table C by less than 1e-12 of its largest entry, on the "
        "made-up pairs and, where its files are at hand, on Multi30k.",
        "snell21:C13": "For the paper's γ the first position has the largest β, the solver's α is "
        "within 1e-3 of (0, ½, ½) with a certificate below 1e-6 nats, and no point of a grid on "
        "the simplex has a lower loss than the certificate allows.",
    }
    scales: ClassVar[Mapping[Scale, Settings]] = {
        "smoke": WordCountsSettings(
            seeds=3, dimensions=(64, 256, 1024), pairs=60, multi30k=0, grid=20
        ),
        "small": WordCountsSettings(),
        "paper": WordCountsSettings(seeds=100, dimensions=tuple(2**k for k in range(6, 15))),
    }

    def parts(self, settings: WordCountsSettings) -> Mapping[str, Work]:
        from foveate.studies.snell21.word_counts import parts

        return {
            "derivative": partial(parts.derivative, settings),
            "counts": partial(parts.counts, settings),
            "example": partial(parts.example, settings),
            "tables": partial(parts.tables, settings),
        }
