"""Several heads: better dynamics, not more to express. [snell21] Sec. 5.2"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
import torch
from pydantic import Field

from foveate.jobs.experiment import EXPERIMENTS, Experiment, Scale, Work
from foveate.randomness import generator
from foveate.records.record import Record
from foveate.settings import AtLeastTwo, Count, Positive, Settings
from foveate.studies.snell21.copying.training import CopyTask, course
from foveate.studies.snell21.heads.search import Search, find_heads, sorted_out, with_heads
from foveate.text.loop import Course, follow

__all__ = ["SCENARIOS", "Heads", "HeadsSettings"]

Unit = Annotated[float, Field(gt=0, le=1)]

SCENARIOS = {"all-bad": "All heads bad", "one-good": "One good head", "random": "Random heads"}


class HeadsSettings(Settings):
    """Sizes of the search and of the trainings that follow it."""

    heads: Count = 8  # [snell21] Sec. 5.2
    wanted: Count = 20  # [snell21] released code: good and bad heads found by rejection
    most: Count = 400  # ours: an end to the search
    data_seeds: Count = 3  # released code
    draws: Count = 20  # [snell21] Figure 2: curves of each scenario
    good: Unit = 0.95  # released code
    bad: Unit = 0.6  # released code
    length: AtLeastTwo = 40  # [snell21] Sec. 3.3
    d: Count = 256  # [snell21] A.8
    batch: Count = 128  # released code
    held_out: Count = 50  # released code
    probed: Count = 1  # β is not what this is about
    lr: Positive = 1e-3  # released code
    steps: Count = 200  # [snell21] Figure 2
    every: Count = 10  # released code

    def search(self) -> Search:
        """The search these settings describe."""
        task = CopyTask(
            "permutation", self.length, self.d, self.batch, self.held_out, self.probed, self.lr
        )
        at = tuple(np.unique([*range(0, self.steps + 1, self.every), self.steps]).tolist())
        return Search(
            task, at, self.wanted, self.most, self.data_seeds, good=self.good, bad=self.bad
        )


@EXPERIMENTS.register("heads")
class Heads(Experiment):
    """Heads found good or bad by themselves, combined: all bad, one good among them, random."""

    about = "eight heads on the permutation task: all bad, one good, random initial weights"
    long = True
    criteria: ClassVar[Mapping[str, str]] = {
        "snell21:C7": "A training has learnt when its accuracy exceeds .95 at a measurement within "
        "200 steps. Shares of draws that learn: (a) eight bad heads at most one half; (b) one good "
        "and seven bad at least nine tenths; (c) eight random at least nine tenths. Holds with all "
        "three; in part with two, or with (a) below both others by at least a quarter.",
    }
    scales: ClassVar[Mapping[Scale, Settings]] = {
        "smoke": HeadsSettings(
            heads=2,
            wanted=1,
            most=4,
            data_seeds=2,
            draws=2,
            good=0.2,
            bad=0.2,
            length=6,
            d=16,
            batch=16,
            held_out=8,
            steps=20,
        ),
        "small": HeadsSettings(wanted=4, most=40, draws=4, heads=4, d=128, batch=64),
        "paper": HeadsSettings(),
    }

    needs: ClassVar[Mapping[str, tuple[str, ...]]] = dict.fromkeys(SCENARIOS, ("search",))

    def parts(self, settings: HeadsSettings) -> Mapping[str, Work]:
        found: Work = partial(_search_part, settings)
        return {"search": found} | {name: partial(_part, settings, name) for name in SCENARIOS}


def _search_part(
    settings: HeadsSettings, checkpoint: Path, tell: Callable[[int, int], None]
) -> Record:
    """Find the heads."""
    return find_heads(settings.search(), checkpoint, tell)


def _part(
    settings: HeadsSettings, scenario: str, checkpoint: Path, tell: Callable[[int, int], None]
) -> Record:
    """Train every draw of one scenario; the search stands beside it in the run's folder."""
    found = Record.load(checkpoint.parent.parent / "search" / "record.npz").final["best"][0]
    good, bad = sorted_out(settings.search(), found)
    members = [
        partial(_member, settings, _names(settings, scenario, draw, good, bad), draw)
        for draw in range(settings.draws)
    ]
    at = settings.search().at
    return follow(members, at, checkpoint=checkpoint, report=tell, meta={"scenario": scenario})


def _names(
    settings: HeadsSettings, scenario: str, draw: int, good: list[int], bad: list[int]
) -> list[tuple[str | int, ...]]:
    """The names of the heads of one draw: candidates of the search, or fresh ones."""
    if scenario == "random":
        return [("random", draw, k) for k in range(settings.heads)]
    ones = 1 if scenario == "one-good" else 0
    chosen = _pick(good, ones, scenario, draw) + _pick(bad, settings.heads - ones, scenario, draw)
    return [("candidate", candidate) for candidate in chosen]


def _pick(heads: list[int], count: int, scenario: str, draw: int) -> list[int]:
    """``count`` of ``heads``, each at most once unless there are too few."""
    chance = generator("heads of a draw", scenario, draw, count)
    if len(heads) < count:
        return [heads[int(i)] for i in torch.randint(len(heads), (count,), generator=chance)]
    return [heads[int(i)] for i in torch.randperm(len(heads), generator=chance)[:count]]


def _member(settings: HeadsSettings, names: list[tuple[str | int, ...]], draw: int) -> Course:
    task = settings.search().task
    # Data seeds of their own: those of the search chose the heads.
    return course(task, with_heads(task, *names), 1000 + draw)
