"""A live training: several paradigms side by side, an epoch each in turn, shown as they go."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from foveate.attention.paradigms import PARADIGMS
from foveate.bags.bag import Bag
from foveate.lab.live.frames import Scene
from foveate.lab.live.tasks import prepared
from foveate.lab.live.worker_channel import Stopped, WorkerChannel
from foveate.lab.requests import TASKS, TrainJob
from foveate.metrics.metric import curve_metrics, summary_metrics
from foveate.training.evaluation import Reading, read_stack
from foveate.training.loop import Training
from foveate.training.plan import Plan
from foveate.training.stack import Build

__all__ = ["Trainer", "metric_names", "train_live"]

ALWAYS = ("accuracy", "ft", "saif", "a_z", "ent", "train_loss", "ftpt", "ffpt", "ftpf", "ffpf")


def train_live(desk: WorkerChannel, given: dict[str, Any]) -> None:
    """Train as the desk allows; the last message has every member in detail.

    Args:
        desk: Where commands come from and messages go.
        given: A :class:`~foveate.lab.requests.TrainJob`.
    """
    trainer = Trainer(TrainJob(**given))
    desk.send("hello", scene=trainer.scene.stage(), seeds=trainer.seeds, epochs=trainer.epochs)

    def show(whole: bool) -> None:
        watched = [seed for seed in desk.watched if seed in trainer.seeds] if whole else []
        desk.send("frame", **trainer.news(), details=trainer.details(watched))

    try:
        show(True)
        while not trainer.done:
            desk.poll_commands(show)
            trainer.advance(lambda: desk.maybe_send_frame(show))
        desk.poll_commands(show, over=True)
    except Stopped:
        desk.send("frame", **trainer.news(), details=trainer.details(trainer.seeds))
        raise
    desk.send("frame", **trainer.news(), details=trainer.details(trainer.seeds))


def metric_names() -> list[str]:
    """What is sent of a live training over time: what the page draws, and registered metrics."""
    extra = [item.name for item in (*summary_metrics(), *curve_metrics())]
    return list(dict.fromkeys((*ALWAYS, *extra)))


class Trainer:
    """Trainings that share bags and seeds and differ in their paradigm.

    Args:
        job: What to train.
    """

    def __init__(self, job: TrainJob) -> None:
        ready = prepared(job)
        self.seeds = list(range(job.first, job.first + job.seeds))
        self.epochs = job.epochs
        self.trainings = {
            name: _training(ready.build, ready.train, ready.test, name, self.seeds, ready.plan)
            for name in job.paradigms
        }
        self.scene = Scene(TASKS[job.task], ready.test, ready.classes, ready.words)
        self._told = dict.fromkeys(job.paradigms, 0)

    @property
    def done(self) -> bool:
        """Whether every paradigm is."""
        return all(training.done for training in self.trainings.values())

    def advance(self, between: Callable[[], None] = lambda: None) -> None:
        """One epoch of every paradigm that is not done, with something done between them."""
        for training in self.trainings.values():
            if not training.done:
                training.run_epoch()
                between()

    def news(self) -> dict[str, Any]:
        """Every measurement that was not told yet, and how each member stands."""
        rows, ends = {}, {}
        for name, training in self.trainings.items():
            since = self._told[name]
            self._told[name] = len(training.times)
            fresh = {
                key: [_digits(row) for row in training.values[key][since:]]
                for key in metric_names()
                if key in training.values
            }
            rows[name] = {"t": training.times[since:], **fresh}
            ends[name] = self.scene.ends(training.values["accuracy"][-1], training.values["ft"][-1])
        epoch = max(training.epoch for training in self.trainings.values())
        return {"epoch": epoch, "rows": rows, "ends": ends}

    def details(self, seeds: list[int]) -> dict[str, dict[str, Any]]:
        """All that is shown of some members, by seed and paradigm."""
        return {
            str(seed): {
                name: self._detail(training, self.seeds.index(seed))
                for name, training in self.trainings.items()
            }
            for seed in seeds
        }

    def _detail(self, training: Training, row: int) -> dict[str, Any]:
        member = torch.tensor([row])
        rule = training.readings()[row]
        reading = read_stack(training.stack, training.test, rule, member)
        only = Reading(*(part[0] for part in reading))
        return self.scene.detail(training.stack, member, only, training.values["heat"][-1][row])


def _training(
    build: Build, train: Bag, test: Bag, name: str, seeds: list[int], plan: Plan
) -> Training:
    return Training(build, train, test, PARADIGMS.get(name)(), seeds, plan)


def _digits(row: np.ndarray) -> list[float | None]:
    """Four digits are more than a screen can show; what is no number is null."""
    return [round(x, 4) if abs(x) < np.inf else None for x in row.tolist()]
