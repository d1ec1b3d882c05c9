"""Finding good and bad initial weights of a head by rejection. [snell21] Sec. 5.2

A head is good if a model with this head alone learns the permutation task with each of three data
seeds, bad if it fails clearly with each of them, and of no use otherwise. A candidate is given up
at the first data seed that contradicts the one before, or shows it to be of the sort of which there
are enough; a training ends as soon as it has learnt or, once only bad heads are wanted, as soon as
it has not failed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from foveate.randomness import generator
from foveate.records.checkpoint import load_checkpoint, save_checkpoint
from foveate.records.record import Record
from foveate.studies.snell21.copying.training import CopyTask, course, model_for
from foveate.text.loop import Course, built, follow
from foveate.text.models.seq2seq import Seq2Seq

__all__ = ["Search", "attempt", "bad_heads", "find_heads", "good_heads", "sorted_out", "with_heads"]


@dataclass(frozen=True)
class Search:
    """What is looked for.

    Args:
        task: The copy task, permutations in the paper.
        at: Steps at which accuracy is read; the last is the end.
        wanted: Heads wanted of either sort.
        most: Candidates tried at most.
        seeds: Data seeds that must agree.
        good: A training has learnt when its accuracy exceeds this.
        bad: A training has failed when its accuracy never reaches this.
    """

    task: CopyTask
    at: tuple[int, ...]
    wanted: int
    most: int
    seeds: int
    good: float
    bad: float


def with_heads(task: CopyTask, *names: tuple[str | int, ...]) -> Seq2Seq:
    """A model whose body is one fixed draw and whose heads are drawn by their names."""
    model = built(partial(model_for, task, len(names)), "body of heads")
    assert isinstance(model, Seq2Seq)
    bound = task.d**-0.5  # as nn.Linear draws its weights
    with torch.no_grad():
        for weight, name in zip(model.heads.parameters(), names, strict=True):
            weight.uniform_(-bound, bound, generator=generator("head", *name))
    return model


def attempt(settings: Search, candidate: int, seed: int, enough: float) -> float:
    """The best accuracy of a model with this one head; ends once it exceeds ``enough``."""

    def member() -> Course:
        model = with_heads(settings.task, ("candidate", candidate))
        return course(settings.task, model, seed, lambda now: bool(now["accuracy"] > enough))

    record = follow([member], settings.at)
    return float(np.nanmax(record.values["accuracy"]))


def find_heads(
    settings: Search,
    checkpoint: Path,
    tell: Callable[[int, int], None],
    accuracy: Callable[[Search, int, int, float], float] = attempt,
) -> Record:
    """Try candidates until enough of both sorts are found.

    Args:
        settings: What is looked for.
        checkpoint: Kept up to date after every training.
        tell: Called with the heads found and the heads wanted.
        accuracy: The best accuracy of a candidate with a data seed, read until it is enough.

    Returns:
        A record whose ``best`` (1, candidates, seeds) is the best accuracy of every training, NaN
        where none was needed.
    """
    best = _restored(checkpoint, settings.seeds)
    for candidate in range(settings.most):
        if min(len(good_heads(settings, best)), len(bad_heads(settings, best))) >= settings.wanted:
            break
        if candidate == len(best):
            best = np.vstack([best, np.full((1, settings.seeds), np.nan)])
        good, bad = (
            len(sort(settings, best)) < settings.wanted for sort in (good_heads, bad_heads)
        )
        enough = settings.good if good else settings.bad
        for seed in _open_seeds(settings, best[candidate], good, bad):
            best[candidate, seed] = accuracy(settings, candidate, seed, enough)
            save_checkpoint(checkpoint, {"best": torch.from_numpy(best)}, {})
        found = min(len(good_heads(settings, best)), settings.wanted)
        tell(found + min(len(bad_heads(settings, best)), settings.wanted), 2 * settings.wanted)
    tell(2 * settings.wanted, 2 * settings.wanted)
    return Record(np.zeros(1), {}, {"best": best[None]}, {"wanted": settings.wanted})


def sorted_out(settings: Search, best: NDArray[np.float64]) -> tuple[list[int], list[int]]:
    """The good heads and the bad ones; where none was found, the best or the worst stands in.

    Args:
        settings: What was looked for.
        best: Best accuracy of every training, shape (candidates, seeds).
    """
    tried = np.nanmean(best, 1)
    good = good_heads(settings, best) or [int(tried.argmax())]
    return good, bad_heads(settings, best) or [int(tried.argmin())]


def good_heads(settings: Search, best: NDArray[np.float64]) -> list[int]:
    """Candidates that learnt with every data seed, the first ``wanted`` of them."""
    return np.flatnonzero((best > settings.good).all(1))[: settings.wanted].tolist()


def bad_heads(settings: Search, best: NDArray[np.float64]) -> list[int]:
    """Candidates that failed with every data seed, the first ``wanted`` of them."""
    return np.flatnonzero((best < settings.bad).all(1))[: settings.wanted].tolist()


def _open_seeds(
    settings: Search, best: NDArray[np.float64], good: bool, bad: bool
) -> Iterator[int]:
    """Data seeds still to be tried, as long as all so far tell of the same sort, and it is wanted.

    Reads ``best`` live.
    """
    for seed in range(settings.seeds):
        so_far = best[:seed]
        if not (
            (good and (so_far > settings.good).all()) or (bad and (so_far < settings.bad).all())
        ):
            return
        if np.isnan(best[seed]):
            yield seed


def _restored(checkpoint: Path, seeds: int) -> NDArray[np.float64]:
    if not checkpoint.exists():
        return np.empty((0, seeds))
    return load_checkpoint(checkpoint)[0]["best"].numpy()
