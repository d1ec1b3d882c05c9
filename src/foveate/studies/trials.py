"""Trials: one cell of a published table, a model trained one way on one data set over seeds."""

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from foveate.attention.paradigms import Paradigm, Progress
from foveate.bags.bag import Bag
from foveate.data import Split
from foveate.models.focus import AttentionModel
from foveate.records.record import Record
from foveate.training.loop import Training, fit
from foveate.training.plan import Plan

__all__ = ["Trial", "run_trial", "seconds_of", "seconds_of_all"]


@dataclass(frozen=True)
class Trial:
    """What is trained for one cell.

    Args:
        bags: From split and seed to bags.
        build: From the training bags of a seed to an untrained model.
        rule: How it is trained and read.
        seeds: How many.
        plan: Epochs, batches and rates.
        notes: From nothing to what is odd in the data, by name.
        said: What its record says of itself besides.
    """

    bags: Callable[[Split, int], Bag]
    build: Callable[[Bag], AttentionModel]
    rule: Paradigm
    seeds: int
    plan: Plan
    notes: Callable[[], tuple[str, ...]] = tuple
    said: Mapping[str, str] = field(default_factory=dict)


def run_trial(trial: Trial, checkpoint: Path, tell: Callable[[int, int], None]) -> Record:
    """Train all seeds of a trial; its record carries the notes on the data."""
    seeds = range(trial.seeds)
    train, test = ([trial.bags(split, seed) for seed in seeds] for split in ("train", "test"))
    record = fit(
        lambda: trial.build(train[0]),
        train,
        test,
        trial.rule,
        seeds=seeds,
        plan=trial.plan,
        checkpoint=checkpoint,
        report=tell,
    )
    meta = {"n": len(train[0]), "m": train[0].m, "notes": list(trial.notes())}
    return replace(record, meta={**record.meta, **meta, **trial.said})


def seconds_of(trial: Trial) -> float:
    """Seconds that all seeds of a trial would take on this machine, from one step of each phase.

    Measuring on held-out bags is left out.
    """
    train = trial.bags("train", 0)
    epochs = trial.plan.epochs
    phases = Counter(trial.rule.phase(Progress(epoch, epochs)) for epoch in range(epochs))
    steps = math.ceil(len(train) / trial.plan.batch)
    some = train.take(slice(0, trial.plan.batch))
    each = sum(count * _step(trial, some, phase) for phase, count in phases.items())
    return trial.seeds * steps * each


def seconds_of_all(
    trials: Mapping[str, Trial], report: Callable[[str, int, int], None] | None = None
) -> float:
    """Seconds that all trials would take one after another, see :func:`seconds_of`.

    Args:
        trials: By name.
        report: Called as ``report("a step of each part", done, total)``.
    """
    total = 0.0
    for done, trial in enumerate(trials.values(), 1):
        total += seconds_of(trial)
        if report is not None:
            report("a step of each part", done, len(trials))
    return total


def _step(trial: Trial, some: Bag, phase: Paradigm) -> float:
    """Seconds of one step, after a first one that is not counted."""
    plan = Plan(**(trial.plan.model_dump() | {"epochs": 2, "every": 2, "stop_below": None}))
    training = Training(lambda: trial.build(some), some, some.take(slice(0, 2)), phase, (0,), plan)
    training.run_epoch()
    start, before = time.monotonic(), training.cpu_seconds
    training.run_epoch()
    return min(time.monotonic() - start, training.cpu_seconds - before)
