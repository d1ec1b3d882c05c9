"""Copying, live: translators that learn to copy sequences, one kind after another."""

from functools import partial
from typing import Any

import numpy as np
import torch

from foveate.lab.live.worker_channel import Stopped, WorkerChannel
from foveate.lab.requests import TASKS, TrainJob
from foveate.randomness import generator
from foveate.text.copy_training import CopyTask, copy_training, model_for
from foveate.text.corpora.copying import copying, numerals
from foveate.text.loop import MemberTraining, built, follow
from foveate.text.models.seq2seq import Seq2Seq, shifted

__all__ = ["train_copying_live"]

LENGTH, SIZE, BATCH, RATE = 10, 64, 32, 5e-3  # shorter than [snell21], to be seen in a minute
MEASURED = 20  # steps between measurements


def train_copying_live(channel: WorkerChannel, request: dict[str, Any]) -> None:
    """Train one translator a kind and tell accuracy, attention and evidence as they grow."""
    job = TrainJob(**request)
    view = {"kind": "copy", "classes": [], "length": LENGTH}
    channel.send("setup", view=view, seeds=[job.first], epochs=job.epochs)
    for kind in job.paradigms:
        _one_kind(channel, job, kind)


def _one_kind(channel: WorkerChannel, job: TrainJob, kind: str) -> None:
    task = CopyTask(kind, LENGTH, SIZE, BATCH, TASKS["copying"].n_test, 16, RATE)
    rows: dict[str, list[Any]] = {"t": []}
    model: list[Seq2Seq] = []

    def send_frame(_detailed: bool) -> None:
        fresh = {name: list(values) for name, values in rows.items()}
        for values in rows.values():
            values.clear()
        details = {str(job.first): {kind: _matrix(model[0], kind)}}
        channel.send("frame", epoch=max(fresh["t"], default=0), rows={kind: fresh}, outcomes={},
                  details=details)  # fmt: skip

    def measure(training: MemberTraining, step: int) -> dict[str, Any]:
        measured = training.measure(step)
        rows["t"].append(step)
        for name, value in measured.items():
            rows.setdefault(name, []).append([round(float(value), 4)])
        return measured

    def set_up() -> MemberTraining:
        net: Seq2Seq = built(lambda: model_for(task), "lab copying", job.first)  # type: ignore[assignment]
        model.append(net)
        training = copy_training(task, net, job.first)
        return MemberTraining(net, training.loss, partial(measure, training), training.lr)

    at = sorted({*range(0, job.epochs, MEASURED), job.epochs})
    try:
        follow(
            [set_up],
            at,
            report=lambda done, total: channel.poll_commands(send_frame, over=done == total),
        )
    except Stopped:
        send_frame(True)
        raise


@torch.no_grad()
def _matrix(model: Seq2Seq, kind: str) -> dict[str, Any]:
    """Attention of every output word over the input of one held-out sequence, (L, L)."""
    x, y = copying(kind, 1, generator("copies to show", kind), LENGTH)
    reading = model.read(x, shifted(y))
    alpha = reading.alpha.mean(0)[0].numpy()
    names = numerals(kind, LENGTH)
    return {
        "source": names.decode(x[0].tolist()),
        "target": names.decode(y[0].tolist()),
        "alpha": np.round(alpha, 4).tolist(),
    }
