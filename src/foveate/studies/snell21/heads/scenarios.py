"""Trainings with several heads: all bad, one good among them, random. [snell21] Sec. 5.2"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from foveate.randomness import generator
from foveate.records.record import Array, Record
from foveate.studies.snell21.heads.search import Search, chosen_heads, with_heads
from foveate.text.copy_training import copy_training
from foveate.text.loop import MemberTraining, follow
from foveate.types import StepProgress

if TYPE_CHECKING:
    from foveate.studies.snell21.heads import HeadsSettings

__all__ = ["SCENARIOS", "head_names", "train_scenario"]

SCENARIOS = {
    "all-bad": "All heads bad",
    "one-good": "One good head",
    "random": "Random heads",
    "all-bad-last": "All heads bad (by last accuracy)",
}
HeadName = tuple[str | int, ...]


def train_scenario(
    settings: "HeadsSettings",
    variant: str,
    scenario: str,
    checkpoint: Path,
    progress: StepProgress,
) -> Record:
    """Train every draw of one scenario; the record of the search is in the run's folder.

    A training ends at the measurement at which it has learnt.
    """
    search, run = settings.search(variant), checkpoint.parent.parent
    accuracies = Record.load(run / f"{search.task.cell}-search" / "record.npz").final
    good, bad = chosen_heads(search, accuracies)
    meta = {"scenario": scenario, "variant": variant}
    if scenario == "all-bad-last":
        by_last = chosen_heads(search, accuracies, bad_by="last")[1]
        if by_last == bad:  # the same heads: nothing to train again
            same = Record.load(run / f"{variant}-all-bad" / "record.npz")
            return Record(same.t, same.values, {}, {**meta, "same_as": "all-bad"})
        bad = by_last
    members = [
        partial(_member, search, head_names(settings.heads, scenario, draw, good, bad), draw)
        for draw in range(settings.draws)
    ]
    return follow(members, search.steps, checkpoint=checkpoint, report=progress, meta=meta)


def head_names(
    count: int, scenario: str, draw: int, good: list[int], bad: list[int]
) -> list[HeadName]:
    """The names of the heads of one draw: candidates of the search, or new ones."""
    if scenario == "random":
        return [("random", draw, k) for k in range(count)]
    ones = 1 if scenario == "one-good" else 0
    stream = scenario.removesuffix("-last")
    chosen = _choose_heads(good, ones, stream, draw) + _choose_heads(
        bad, count - ones, stream, draw
    )
    return [("candidate", candidate) for candidate in chosen]


def _choose_heads(heads: list[int], count: int, stream: str, draw: int) -> list[int]:
    """``count`` of ``heads``, each at most once unless there are too few."""
    rng = generator("heads of a draw", stream, draw, count)
    if len(heads) < count:
        return [heads[int(i)] for i in torch.randint(len(heads), (count,), generator=rng)]
    return [heads[int(i)] for i in torch.randperm(len(heads), generator=rng)[:count]]


def _member(search: Search, names: list[HeadName], draw: int) -> MemberTraining:
    def learnt(measured: Mapping[str, Array]) -> bool:
        return bool(measured["accuracy"] > search.good)

    # Data seeds of the search chose the heads; these are others.
    return copy_training(search.task, with_heads(search.task, *names), 1000 + draw, learnt)
