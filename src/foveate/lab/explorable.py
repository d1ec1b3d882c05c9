"""The interactive explanation: one small training per paradigm, tabulated over the plane.

A page without Python can then let a reader move the segments of a bag: the attention of a segment
is its tabulated weight over the sum of the weights in the bag, and what the classifier says of a
point is looked up. Nothing is trained or solved in the page.
"""

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from foveate.attention.paradigms import PARADIGMS as REGISTERED
from foveate.attention.paradigms import Paradigm
from foveate.bags.bag import Bag
from foveate.bags.segments import dense
from foveate.lab.live.frames import CELLS
from foveate.lab.live.trainer import Trainer
from foveate.lab.requests import TrainJob
from foveate.models.focus import AttentionModel
from foveate.records.record import Array

__all__ = ["PARADIGMS", "build_explorable", "incentive"]

PARADIGMS = ("soft", "hard", "lvml", "witness")
SEED = 1  # a start that all four paradigms bring to the right segment
EPOCHS = 100
MOMENTS = (*range(0, 20), *range(20, 40, 2), *range(40, EPOCHS + 1, 5))  # epochs that are kept
EXAMPLES = 3


def incentive(model: AttentionModel, paradigm: Paradigm, bag: Bag) -> float:
    r"""Mean fall of the loss per attention moved to the relevant segment.

    .. math:: \delta = -\sum_j \frac{\partial L}{\partial\alpha_j} \frac{d\alpha_j}{da_z},
              \qquad \frac{d\alpha_j}{da_z} = \begin{cases} 1 & j = z \\\\
              -\alpha_j / (1 - a_z) & j \ne z \end{cases}

    Args:
        model: Focus and classifier, held.
        paradigm: Whose loss.
        bag: Bags with known relevance of one segment each.
    """
    if bag.z is None:
        raise TypeError("the incentive needs bags with known relevance")
    with torch.no_grad():
        focus = model.attend(bag.x, bag.mask)
    alpha = focus.alpha.detach().requires_grad_()
    loss = paradigm.loss(alpha, focus.h, model.g, bag.y)
    (slope,) = torch.autograd.grad(loss.sum(), alpha)
    z = bag.z.to(alpha.dtype)
    on = (alpha * z).sum(1, keepdim=True)
    moved = z - (1 - z) * alpha / (1 - on).clamp_min(1e-12)
    delta = -(slope * moved.detach()).sum(1)
    return float(delta.mean())


def build_explorable(paradigms: Sequence[str] = PARADIGMS, epochs: int = EPOCHS) -> dict[str, Any]:
    """Train one start under each paradigm and tabulate focus and classifier over the plane.

    Args:
        paradigms: Which.
        epochs: Passes over the bags.

    Returns:
        ``t`` epochs; ``frame`` left, right, low, high of the plane with ``cells`` along each side;
        ``bags`` to begin with; and for each paradigm ``weights`` (T, cells², float32) with
        e^f up to a factor, ``p`` (T, cells², C, uint8) of the classifier, both in base64, and the
        curves ``alpha`` (mean attention on the relevant segment), ``accuracy`` and ``incentive``.
    """
    job = TrainJob(task="error-mode-1", paradigms=tuple(paradigms), seeds=1, first=SEED,
                   epochs=epochs)  # fmt: skip
    trainer = Trainer(job)
    moments = [t for t in MOMENTS if t <= epochs]
    tables: dict[str, dict[str, list[Any]]] = {name: {} for name in paradigms}
    for epoch in range(epochs + 1):
        if epoch in moments:
            for name in paradigms:
                for key, value in _snapshot(trainer, name).items():
                    tables[name].setdefault(key, []).append(value)
        if epoch < epochs:
            trainer.advance()
    setup = trainer.frames.setup()
    return {
        "t": moments,
        "frame": setup["frame"],
        "cells": CELLS,
        "classes": setup["classes"],
        "points": setup["points"],
        "bags": _bags(trainer),
        "paradigms": {name: _encode(table) for name, table in tables.items()},
    }


def _snapshot(trainer: Trainer, name: str) -> dict[str, Any]:
    training = trainer.trainings[name]
    model = training.stack.member(0)
    score, p = trainer.frames.plane_values(training.stack, torch.tensor([0]))
    test = trainer.frames.test
    with torch.no_grad():
        alpha = model.attend(dense(test.x), test.mask).alpha
    paradigm = REGISTERED.get(name)().objective()
    return {
        "weights": np.exp(score - score.max()).astype(np.float32),
        "p": np.rint(255 * p).astype(np.uint8),
        "alpha": float((alpha * test.z).sum(1).mean()),  # type: ignore[operator]
        "accuracy": float(training.values["accuracy"][-1][0]),
        "incentive": incentive(model, paradigm, test),
    }


def _bags(trainer: Trainer) -> list[dict[str, Any]]:
    """A bag of each class to begin with: its points, and which one decides."""
    frames = trainer.frames
    rows = [int(np.flatnonzero(frames.y == c)[0]) for c in range(len(frames.classes))][:EXAMPLES]
    x = dense(frames.test.x)
    return [
        {
            "truth": int(frames.y[row]),
            "points": np.round(x[row].numpy().astype(float), 3).tolist(),
            "z": frames.z[row].tolist(),
        }
        for row in rows
    ]


def _encode(table: dict[str, list[Any]]) -> dict[str, Any]:
    arrays = {key: _base64(np.stack(table[key])) for key in ("weights", "p")}
    curves = {key: [round(x, 5) for x in table[key]] for key in ("alpha", "accuracy", "incentive")}
    return {**arrays, **curves}


def _base64(values: Array) -> str:
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode()
