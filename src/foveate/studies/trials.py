"""Trials: one cell of a published table, trained by one rule on one data set over seeds."""

import math
import time
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from foveate.attention.paradigms import Paradigm, Progress
from foveate.bags.bag import Bag
from foveate.bags.segments import shared_bank
from foveate.data import Split
from foveate.jobs.experiment import Work
from foveate.models.focus import AttentionModel
from foveate.records.record import Record
from foveate.studies.image_splits import read_released
from foveate.studies.published import Reproduction
from foveate.training.loop import Training, fit
from foveate.training.plan import Plan
from foveate.types import PartProgress, StepProgress

__all__ = ["Trial", "TrialStudy", "choose_rate", "run_trial", "seconds_of"]

HELD_OUT = 0.2  # share of the training bags on which a rate is chosen


@dataclass(frozen=True)
class Trial:
    """The training of one cell.

    Args:
        bags: From split and seed to bags.
        build: From the training bags of a seed to an untrained model.
        rule: The paradigm.
        seeds: How many.
        plan: Epochs, batches and rates.
        notes: Returns irregularities of the data as sentences.
        rates: Learning rates to choose from, see :func:`choose_rate`; the plan's own if empty.
        meta: Further entries of its record's ``meta``.
        released: From a seed to mosaics of the training images, on which the trained models are
            read too; None for the clean split alone.
    """

    bags: Callable[[Split, int], Bag]
    build: Callable[[Bag], AttentionModel]
    rule: Paradigm
    seeds: int
    plan: Plan
    notes: Callable[[], tuple[str, ...]] = tuple
    rates: tuple[float, ...] = ()
    meta: Mapping[str, str] = field(default_factory=dict)
    released: Callable[[int], Bag] | None = None


def run_trial(trial: Trial, checkpoint: Path, progress: StepProgress) -> Record:
    """Train all seeds of a trial; its record has the notes on the data and the chosen rate.

    Where the segments are in a bank, as the images of mosaics, the record has their number.
    """
    seeds = range(trial.seeds)
    train, test = ([trial.bags(split, seed) for seed in seeds] for split in ("train", "test"))
    meta = {"n": len(train[0]), "m": train[0].m, "notes": list(trial.notes())}
    if (bank := shared_bank(train[0].x)) is not None:
        meta["images"] = len(bank.bank)
    plan = trial.plan
    if trial.rates:
        lr, accuracy = choose_rate(trial, train[0], checkpoint.with_name("rates.npz"))
        plan = plan.model_copy(update={"lr": lr})
        meta |= {"rate": lr, "rates": dict(zip(map(str, trial.rates), accuracy, strict=True))}
    record = fit(
        lambda: trial.build(train[0]),
        train,
        test,
        trial.rule,
        seeds=seeds,
        plan=plan,
        checkpoint=checkpoint,
        report=progress,
    )
    if trial.released is not None:
        released = [trial.released(seed) for seed in seeds]
        record = read_released(record, train, released, trial.rule)
    return replace(record, meta={**record.meta, **meta, **trial.meta})


def choose_rate(trial: Trial, train: Bag, checkpoint: Path) -> tuple[float, list[float]]:
    """The learning rate with the highest accuracy on held-out training bags, and all accuracies.

    One model per rate is trained on the first four fifths of the training bags of the first seed
    and read on the rest; test bags are not used. Of equal accuracies the larger rate is taken.

    Args:
        trial: What is trained, with its ``rates``.
        train: Training bags of the first seed.
        checkpoint: Where an interrupted choice resumes.
    """
    train_size = len(train) - max(1, round(HELD_OUT * len(train)))
    record = fit(
        lambda: trial.build(train),
        train.take(slice(0, train_size)),
        train.take(slice(train_size, len(train))),
        trial.rule,
        seeds=[0] * len(trial.rates),
        plan=trial.plan.model_copy(update={"lr": trial.rates, "every": trial.plan.epochs}),
        checkpoint=checkpoint,
    )
    accuracy = record.last("accuracy").tolist()
    best = max(zip(accuracy, trial.rates, strict=True))
    return best[1], accuracy


def seconds_of(trial: Trial) -> float:
    """Estimated seconds of all seeds of a trial on this machine, from one step of each phase.

    Evaluation on held-out bags is left out; a choice among rates counts as one seed a rate. Seeds
    that are trained together are timed together.
    """
    train = trial.bags("train", 0)
    epochs = trial.plan.epochs
    phases = Counter(trial.rule.phase(Progress(epoch, epochs)) for epoch in range(epochs))
    steps = math.ceil(len(train) / trial.plan.batch)
    batch = train.take(slice(0, trial.plan.batch))
    times = {phase: _step(trial, batch, phase) for phase in phases}
    seeds = sum(count * times[phase].seeds for phase, count in phases.items())
    one = sum(count * times[phase].one for phase, count in phases.items())
    return (seeds + (1 - HELD_OUT) * len(trial.rates) * one) * steps


class TrialStudy(Reproduction):
    """A reproduction whose parts are trials."""

    @abstractmethod
    def trials(self, settings: Any) -> Mapping[str, Trial]:
        """Trials by the name of their part."""

    def parts(self, settings: Any) -> Mapping[str, Work]:
        return {name: partial(run_trial, trial) for name, trial in self.trials(settings).items()}

    def seconds(self, settings: Any, report: PartProgress | None = None) -> float:
        return _seconds_of_all(self.trials(settings), report)


def _seconds_of_all(trials: Mapping[str, Trial], report: PartProgress | None) -> float:
    """Estimated seconds of all trials, see :func:`seconds_of`."""
    total = 0.0
    for done, trial in enumerate(trials.values(), 1):
        total += seconds_of(trial)
        if report is not None:
            report("a step of each part", done, len(trials))
    return total


class _StepTime(NamedTuple):
    """Seconds of one step of one seed, and of all seeds of a trial."""

    one: float
    seeds: float


def _step(trial: Trial, batch: Bag, phase: Paradigm) -> _StepTime:
    """Seconds of a step, after a first one that is not counted."""
    one, all_seeds = _timed_step(trial, batch, phase, 1)
    if trial.seeds == 1 or not all_seeds:
        return _StepTime(one, one * trial.seeds)
    return _StepTime(one, _timed_step(trial, batch, phase, trial.seeds)[0])


def _timed_step(trial: Trial, batch: Bag, phase: Paradigm, seeds: int) -> tuple[float, bool]:
    """Seconds of a step of some seeds, and whether seeds are trained together."""
    plan = Plan(**(trial.plan.model_dump() | {"epochs": 2, "every": 2, "stop_below": None}))
    two_bags = batch.take(slice(0, 2))
    training = Training(lambda: trial.build(batch), batch, two_bags, phase, range(seeds), plan)
    training.run_epoch()
    start, before = time.monotonic(), training.cpu_seconds
    training.run_epoch()
    seconds = min(time.monotonic() - start, training.cpu_seconds - before)
    return seconds, training.stack.together
