"""A live training: several paradigms side by side, one epoch each in turn."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from foveate.attention.paradigms import PARADIGMS
from foveate.bags.bag import Bag
from foveate.lab.live.frames import FrameBuilder
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


def train_live(channel: WorkerChannel, request: dict[str, Any]) -> None:
    """Train until done or stopped; the last frame has every member in detail.

    Args:
        channel: Where commands come from and messages go.
        request: A :class:`~foveate.lab.requests.TrainJob`.
    """
    trainer = Trainer(TrainJob(**request))
    channel.send("setup", view=trainer.frames.setup(), seeds=trainer.seeds, epochs=trainer.epochs)

    def send_frame(detailed: bool) -> None:
        watched = [seed for seed in channel.watched if seed in trainer.seeds] if detailed else []
        channel.send("frame", **trainer.news(), details=trainer.details(watched))

    try:
        send_frame(True)
        while not trainer.done:
            channel.poll_commands(send_frame)
            trainer.advance(lambda: channel.maybe_send_frame(send_frame))
        channel.poll_commands(send_frame, over=True)
    except Stopped:
        channel.send("frame", **trainer.news(), details=trainer.details(trainer.seeds))
        raise
    channel.send("frame", **trainer.news(), details=trainer.details(trainer.seeds))


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
        self.frames = FrameBuilder(TASKS[job.task], ready.test, ready.classes, ready.words)
        self._sent = dict.fromkeys(job.paradigms, 0)

    @property
    def done(self) -> bool:
        """Whether every paradigm is."""
        return all(training.done for training in self.trainings.values())

    def advance(self, between: Callable[[], None] = lambda: None) -> None:
        """Run one epoch of every paradigm that is not done, and call ``between`` after each."""
        for training in self.trainings.values():
            if not training.done:
                training.run_epoch()
                between()

    def news(self) -> dict[str, Any]:
        """Every measurement that was not sent yet, and the outcome of each member."""
        rows, outcomes = {}, {}
        for name, training in self.trainings.items():
            since = self._sent[name]
            self._sent[name] = len(training.times)
            fresh = {
                key: [_digits(row) for row in training.values[key][since:]]
                for key in metric_names()
                if key in training.values
            }
            rows[name] = {"t": training.times[since:], **fresh}
            outcomes[name] = self.frames.outcomes(
                training.values["accuracy"][-1], training.values["ft"][-1]
            )
        epoch = max(training.epoch for training in self.trainings.values())
        return {"epoch": epoch, "rows": rows, "outcomes": outcomes}

    def details(self, seeds: list[int]) -> dict[str, dict[str, Any]]:
        """The details of some members, by seed and paradigm."""
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
        return self.frames.detail(training.stack, member, only, training.values["heat"][-1][row])


def _training(
    build: Build, train: Bag, test: Bag, name: str, seeds: list[int], plan: Plan
) -> Training:
    return Training(build, train, test, PARADIGMS.get(name)(), seeds, plan)


def _digits(row: np.ndarray) -> list[float | None]:
    """Rounded to four digits, more than a screen shows; null where not finite."""
    return [round(x, 4) if abs(x) < np.inf else None for x in row.tolist()]
