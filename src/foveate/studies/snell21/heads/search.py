"""Finding good and bad initial weights of a head by rejection. [snell21] Sec. 5.2

A head is good if a model with this head alone learns the permutation task with each of three data
seeds, bad if it fails clearly with each of them, and is dropped otherwise. A candidate is dropped
at the first data seed that contradicts the one before, or that puts it into a class of which there
are enough. A training ends as soon as it has learnt.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from foveate.randomness import generator
from foveate.records.record import Array, Record, load_checkpoint, save_checkpoint
from foveate.text.copy_training import CopyTask, copy_training, model_for
from foveate.text.loop import MemberTraining, built, follow
from foveate.text.models.initialisation import draw_by_module
from foveate.text.models.seq2seq import Seq2Seq
from foveate.types import FloatArray, StepProgress

__all__ = [
    "Search",
    "attempt",
    "bad_heads",
    "chosen_heads",
    "find_heads",
    "good_heads",
    "with_heads",
]

BadHeadRule = Literal["best", "last"]
Attempt = Callable[["Search", int, int], tuple[float, float]]


@dataclass(frozen=True)
class Search:
    """What to search for.

    Args:
        task: The copy task, permutations in the paper.
        steps: Steps at which accuracy is measured; the last is the end.
        wanted_good: Good heads to find.
        wanted_bad: Bad heads to find.
        most: Candidates tried at most.
        seeds: Data seeds that must agree.
        good: A training has learnt when its accuracy exceeds this.
        bad: A training has failed when its accuracy never reaches this.
    """

    task: CopyTask
    steps: tuple[int, ...]
    wanted_good: int
    wanted_bad: int
    most: int
    seeds: int
    good: float
    bad: float


def with_heads(task: CopyTask, *names: tuple[str | int, ...]) -> Seq2Seq:
    """A model whose heads are drawn by their names; every other parameter is one fixed draw."""
    model = built(partial(model_for, task, len(names)), "body of heads")
    assert isinstance(model, Seq2Seq)
    draw_by_module(model, "body of heads")
    bound = task.d**-0.5  # as nn.Linear draws its weights
    with torch.no_grad():
        for weight, name in zip(model.heads.parameters(), names, strict=True):
            weight.uniform_(-bound, bound, generator=generator("head", *name))
    return model


def attempt(search: Search, candidate: int, seed: int) -> tuple[float, float]:
    """Best and last accuracy of a model with this one head; ends once it has learnt."""

    def learnt(measured: Mapping[str, Array]) -> bool:
        return bool(measured["accuracy"] > search.good)

    def member() -> MemberTraining:
        return copy_training(
            search.task, with_heads(search.task, ("candidate", candidate)), seed, learnt
        )

    accuracy = follow([member], search.steps).values["accuracy"][:, 0]
    measured = accuracy[np.isfinite(accuracy)]
    return float(measured.max()), float(measured[-1])


def find_heads(
    search: Search,
    checkpoint: Path,
    progress: StepProgress,
    train: Attempt = attempt,
) -> Record:
    """Try candidates until enough good and bad ones are found.

    Args:
        search: What to search for.
        checkpoint: Written after every training.
        progress: Called with the number of heads found and the number wanted.
        train: Returns best and last accuracy of a candidate with a data seed.

    Returns:
        A record whose ``best`` and ``last`` (1, candidates, seeds) are the accuracies of every
        training, NaN where none was needed.
    """
    accuracies = _restore(checkpoint, search.seeds)
    needed = search.wanted_good + search.wanted_bad
    for candidate in range(search.most):
        counts = _counts(search, accuracies["best"])
        more_good, more_bad = counts[0] < search.wanted_good, counts[1] < search.wanted_bad
        if not (more_good or more_bad):
            break
        if candidate == len(accuracies["best"]):
            empty = np.full((1, search.seeds), np.nan)
            accuracies = {name: np.vstack([rows, empty]) for name, rows in accuracies.items()}
        best, last = accuracies["best"][candidate], accuracies["last"][candidate]
        for seed in _open_seeds(search, best, more_good, more_bad):
            best[seed], last[seed] = train(search, candidate, seed)
            save_checkpoint(
                checkpoint, {k: torch.from_numpy(rows) for k, rows in accuracies.items()}, {}
            )
        progress(sum(_counts(search, accuracies["best"])), needed)
    progress(needed, needed)
    final = {name: rows[None] for name, rows in accuracies.items()}
    return Record(np.zeros(1), {}, final, {"wanted": needed})


def chosen_heads(
    search: Search, accuracies: Mapping[str, Array], bad_by: BadHeadRule = "best"
) -> tuple[list[int], list[int]]:
    """The good heads and the bad ones; where there is none, the best or the worst candidate.

    Args:
        search: What was searched for.
        accuracies: ``best`` and ``last`` of the record, shape (1, candidates, seeds).
        bad_by: Which accuracy must stay below the limit for a head to be bad.
    """
    best, deciding = accuracies["best"][0], accuracies[bad_by][0]
    good = good_heads(search, best) or [int(np.nanmean(best, 1).argmax())]
    return good, bad_heads(search, deciding) or [int(np.nanmean(deciding, 1).argmin())]


def good_heads(search: Search, best: FloatArray) -> list[int]:
    """Candidates that learnt with every data seed, the first ``wanted_good`` of them."""
    return np.flatnonzero((best > search.good).all(1))[: search.wanted_good].tolist()


def bad_heads(search: Search, accuracy: FloatArray) -> list[int]:
    """Candidates that failed with every data seed, the first ``wanted_bad`` of them."""
    return np.flatnonzero((accuracy < search.bad).all(1))[: search.wanted_bad].tolist()


def _counts(search: Search, best: FloatArray) -> tuple[int, int]:
    return len(good_heads(search, best)), len(bad_heads(search, best))


def _open_seeds(search: Search, best: FloatArray, good: bool, bad: bool) -> Iterator[int]:
    """Data seeds to try, as long as all so far agree on a class of which more are wanted.

    Reads ``best`` while the caller fills it.
    """
    for seed in range(search.seeds):
        measured = best[:seed]
        if not (
            (good and (measured > search.good).all()) or (bad and (measured < search.bad).all())
        ):
            return
        if np.isnan(best[seed]):
            yield seed


def _restore(checkpoint: Path, seeds: int) -> dict[str, FloatArray]:
    if not checkpoint.exists():
        return {name: np.empty((0, seeds)) for name in ("best", "last")}
    tensors, _ = load_checkpoint(checkpoint)
    return {name: tensors[name].numpy().copy() for name in ("best", "last")}
