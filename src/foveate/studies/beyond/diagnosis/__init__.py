"""Diagnosis: does the forecast before training rank copy tasks by how fast they are learnt?"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from foveate.jobs.experiment import EXPERIMENTS, Records, Scale, Work
from foveate.records.published import Cell, PublishedTable
from foveate.records.record import Record
from foveate.settings import AtLeastTwo, Count, Positive, Settings
from foveate.studies.beyond.diagnosis.cells import diagnosis_cells
from foveate.studies.beyond.diagnosis.corpora import available_corpora, diagnosed_corpus
from foveate.studies.beyond.diagnosis.training import Condition, condition_training, predicted
from foveate.studies.published import Reproduction
from foveate.text.loop import even_steps, follow
from foveate.types import StepProgress

__all__ = ["Diagnosed", "DiagnosisSettings", "conditions"]


class DiagnosisSettings(Settings):
    """Sizes of the tasks and lengths of the trainings."""

    seeds: Count = 20  # [snell21] Figure 2
    length: AtLeastTwo = 40  # [snell21] Sec. 3.3
    words: tuple[AtLeastTwo, ...] = (41, 42, 45, 50, 60, 80)
    """Numbers of words that sequences are drawn from; 60 is the paper's."""
    d: Count = 256  # [snell21] A.8
    batch: Count = 128  # released code; the paper does not specify it
    held_out: Count = 50  # released code
    lr: Positive = 1e-3  # released code
    steps: Count = 200  # [snell21] Figure 2
    every: Count = 10  # released code
    learnt: Annotated[float, Field(gt=0, le=1)] = 0.95  # [snell21] 5.2, for heads
    diagnosed: Annotated[int, Field(ge=30)] = 2000  # ours: sequences that the diagnosis reads
    texts: tuple[str, ...] = ("sst", "imdb", "sms")
    """Sets of labelled texts that are diagnosed too; nothing is trained on them here."""
    pairs: tuple[str, ...] = ("multi30k",)
    """Sets of sentence pairs, likewise, of whole words."""


@EXPERIMENTS.register("diagnosis")
class Diagnosed(Reproduction):
    """Copy tasks with little to much word knowledge, diagnosed and trained; and real corpora."""

    published = PublishedTable(
        "Will attention be learnt? Said before training, and what became of it"
    )
    about = "the diagnosis against the truth: copy tasks ranked by what co-occurrence promises"
    scales: ClassVar[Mapping[Scale, Settings]] = {
        "smoke": DiagnosisSettings(
            seeds=2,
            length=6,
            words=(9,),
            d=16,
            batch=16,
            held_out=8,
            lr=5e-3,
            steps=20,
            diagnosed=200,
            texts=("keywords",),
            pairs=("made-up",),
        ),
        "small": DiagnosisSettings(
            seeds=6,
            length=20,
            words=(21, 22, 25, 30, 40),
            d=64,
            batch=32,
            lr=3e-3,
            steps=250,
            every=5,
        ),
        "paper": DiagnosisSettings(),
    }

    def parts(self, settings: DiagnosisSettings) -> Mapping[str, Work]:
        corpora = {
            name: partial(diagnosed_corpus, name, name in settings.pairs)
            for name in available_corpora(settings.texts, settings.pairs)
        }
        return {c.name: partial(_part, settings, c) for c in conditions(settings)} | corpora

    def cells(self, settings: DiagnosisSettings, records: Records) -> list[Cell]:
        return diagnosis_cells(settings, records)

    def runnable(self, settings: DiagnosisSettings) -> tuple[Settings, dict[str, str]]:
        present = available_corpora(settings.texts, settings.pairs)
        absent = [name for name in settings.texts + settings.pairs if name not in present]
        left = {
            key: tuple(name for name in getattr(settings, key) if name in present)
            for key in ("texts", "pairs")
        }
        return settings.model_copy(update=left), dict.fromkeys(absent, "its files are not here")


def conditions(settings: DiagnosisSettings) -> list[Condition]:
    """Permutations, the mixture of two sets of them, and draws from ever more words."""
    L = settings.length
    return [
        Condition("permutation", L, L),
        Condition("mixture", L, L, sets=2),
        *(Condition(f"{L}-of-{n}", L, n) for n in settings.words),
    ]


def _part(
    settings: DiagnosisSettings, task: Condition, checkpoint: Path, progress: StepProgress
) -> Record:
    """Diagnose one condition, then train every seed until it has learnt."""
    steps = even_steps(settings.steps, settings.every)
    members = [partial(condition_training, settings, task, seed) for seed in range(settings.seeds)]
    record = follow(members, steps, checkpoint=checkpoint, report=progress)
    final, forecast = predicted(task, settings.diagnosed)
    return Record(record.t, record.values, final, {"condition": task.name, "said": forecast})
