"""What a frame shows of a member: its plane or its examples, its heat map, its classes."""

import base64
from typing import Any

import numpy as np
import torch
from torch import Tensor

from foveate.attention.maps import log_softmax
from foveate.bags.bag import Bag
from foveate.bags.segments import dense, stored, take
from foveate.lab.live.class_status import ClassStatus, class_status
from foveate.lab.requests import Task
from foveate.lab.segments import pack_segments
from foveate.metrics.focus import ACCURATE, FOCUSED, focus_true
from foveate.models.focus import AttentionModel
from foveate.records.record import Array
from foveate.training.evaluation import Reading
from foveate.training.stack import Stack

__all__ = ["CELLS", "FrameBuilder"]

CELLS = 40  # cells of the plane along each side
ATTENDED = 90  # bags whose attended point is drawn
BACKGROUND_BAGS = 60  # bags whose background segments g is asked about
BASE_POINTS = 240
EXAMPLES = 6


class FrameBuilder:
    """Builds the frames of a training from its held-out bags.

    Args:
        task: What is trained.
        test: Held-out bags with known relevance.
        classes: Names of the classes.
        words: Names of the words, where segments are words.
    """

    def __init__(
        self, task: Task, test: Bag, classes: tuple[str, ...], words: tuple[str, ...] = ()
    ) -> None:
        if test.z is None:
            raise TypeError("tasks of the lab know their relevant segments")
        self.kind, self.classes, self.words = task.kind, classes, words
        self.y, self.z = test.y.numpy(), test.z.numpy()
        self.x = dense(test.x) if task.kind == "plane" else test.x
        self.background = _segments(test, ~test.z[:BACKGROUND_BAGS])
        self.examples = _examples(self.y, len(classes))
        self.test, self.alone = test, self.background
        if task.kind == "plane":
            self.frame = _frame(self.x.numpy())  # type: ignore[union-attr]
            self.alone = torch.cat([self.background, _grid(self.frame)])
            self.attended = self.x[:ATTENDED].double().numpy()  # type: ignore[union-attr]

    def setup(self) -> dict[str, Any]:
        """What does not change during a training."""
        setup: dict[str, Any] = {"kind": self.kind, "classes": list(self.classes)}
        setup |= {"accurate": ACCURATE, "focused": FOCUSED, "m": self.z.shape[1]}
        if self.kind == "plane":
            setup |= {"frame": [round(v, 4) for v in self.frame], "cells": CELLS}
            setup["points"] = self._base_points()
        else:
            setup["examples"] = [self._example(row) for row in self.examples]
        return setup

    def outcomes(self, accuracy: Array, ft: Array) -> list[str]:
        """Outcome of each member: accurate and focused, accurate but misplaced, or inaccurate."""
        return [
            "inaccurate" if a < ACCURATE else "misplaced" if f < FOCUSED else "focused"
            for a, f in zip(accuracy.tolist(), ft.tolist(), strict=True)
        ]

    def detail(self, stack: Stack, member: Tensor, reading: Reading, heat: Array) -> dict[str, Any]:
        """The details of one member now.

        Args:
            stack: The models.
            member: Its row in the stack, shape (1,).
            reading: What it makes of the held-out bags.
            heat: Its heat map of focus and prediction, as it was measured, shape (5, 5).
        """
        alpha, log_p = reading.alpha.double().numpy(), reading.log_p.double().numpy()
        focused = focus_true(reading.s.numpy(), self.z)
        correct = log_p.argmax(-1) == self.y
        score, p = self._alone(stack, member)
        outside = len(self.background)
        status = class_status(
            self.classes, self.y, focused, correct, alpha, self.z, p[:outside].mean(0)
        )
        panels = {"heat": np.round(heat, 4).tolist(), **_status_json(status)}
        if self.kind == "plane":
            return panels | self._plane(score[outside:], p[outside:], alpha, focused)
        return panels | {"examples": self._readings(alpha, log_p, focused)}

    def plane_values(self, stack: Stack, member: Tensor) -> tuple[Array, Array]:
        """Focus score (cells²,) and class probabilities (cells², C) over the plane of a task."""
        score, p = self._alone(stack, member)
        return score[len(self.background) :], p[len(self.background) :]

    def _alone(self, stack: Stack, member: Tensor) -> tuple[Array, Array]:
        """Focus score (N,) and class probabilities (N, C) of single segments.

        The background segments come first, then the cells of the plane where there is one: asked
        together, since a call of the stack costs more than what is in it.
        """
        rows = self.alone.to(stack.dtype) if self.alone.is_floating_point() else self.alone
        with torch.no_grad():
            s, p = stack.run(_scored, rows.expand(1, *rows.shape), members=member)
        return s[0].double().numpy(), p[0].double().numpy()

    def _plane(self, score: Array, p: Array, alpha: Array, focused: Array) -> dict[str, Any]:
        """Focus score and class of g over the plane, and where the attended points lie."""
        low, high = float(score.min()), float(score.max())
        level = np.rint(255 * (score - low) / ((high - low) or 1.0)).astype(np.uint8)
        at = np.einsum("nm,nmd->nd", alpha[:ATTENDED], self.attended)
        marks = np.stack([self.y[:ATTENDED], focused[:ATTENDED]], 1)
        return {
            "focus": _coded(level),
            "low": round(low, 4),
            "high": round(high, 4),
            "regions": _coded(p.argmax(1).astype(np.uint8)),
            "attended": np.round(np.concatenate([at, marks], 1), 3).tolist(),
        }

    def _readings(self, alpha: Array, log_p: Array, focused: Array) -> list[dict[str, Any]]:
        return [
            {
                "alpha": np.round(alpha[row], 4).tolist(),
                "says": self.classes[int(log_p[row].argmax())],
                "p": round(float(np.exp(log_p[row].max())), 4),
                "right": bool(log_p[row].argmax() == self.y[row]),
                "focused": bool(focused[row]),
            }
            for row in self.examples
        ]

    def _base_points(self) -> list[list[float]]:
        """Some segments as points: x, y and their class, −1 for background."""
        flat = self.x.flatten(0, 1).numpy()  # type: ignore[union-attr]
        kind = np.where(self.z, self.y[:, None], -1).ravel()
        inside, outside = np.flatnonzero(kind >= 0), np.flatnonzero(kind < 0)
        half = BASE_POINTS // 2
        rows = np.concatenate([inside[:half], outside[:: max(1, len(outside) // half)][:half]])
        return [[round(float(a), 3), round(float(b), 3), int(kind[i])] for i, (a, b) in
                zip(rows, flat[rows], strict=True)]  # fmt: skip

    def _example(self, row: int) -> dict[str, Any]:
        entry = {"truth": self.classes[int(self.y[row])], "z": self.z[row].tolist()}
        if self.kind == "words":
            return {**entry, "tokens": [self.words[k] for k in self.test.index[row].tolist()]}
        segments = stored(take(self.test.x, slice(row, row + 1)))[0]
        return {**entry, "segments": pack_segments(segments.numpy())}


def _segments(test: Bag, chosen: Tensor) -> Tensor:
    """The chosen segments of the first bags as inputs of a model, shape (N, *)."""
    return dense(take(test.x, slice(0, len(chosen))))[chosen]


def _scored(model: AttentionModel, rows: Tensor) -> tuple[Tensor, Tensor]:
    """Focus scores (N,) and class probabilities (N, C) of single segments, as one long bag."""
    focus = model.attend(rows[None], None)
    return focus.s[0], log_softmax(model.g(dense(focus.h)[0])).exp()


def _frame(x: Array) -> tuple[float, float, float, float]:
    """Left, right, low, high of the plane: all points and some air."""
    low, high = x.reshape(-1, 2).min(0), x.reshape(-1, 2).max(0)
    margin = 0.08 * (high - low)
    left, bottom = (low - margin).tolist()
    right, top = (high + margin).tolist()
    return left, right, bottom, top


def _grid(frame: tuple[float, float, float, float]) -> Tensor:
    """The middles of all cells, rows from the top down, shape (CELLS², 2)."""
    left, right, low, high = frame
    middle = (torch.arange(CELLS) + 0.5) / CELLS
    y, x = torch.meshgrid(
        high - (high - low) * middle, left + (right - left) * middle, indexing="ij"
    )
    return torch.stack([x, y], -1).flatten(0, 1)


def _examples(y: Array, classes: int) -> list[int]:
    """Rows of a few bags, the classes in turn."""
    by_class = [np.flatnonzero(y == k).tolist() for k in range(classes)]
    turns = [rows[turn] for turn in range(EXAMPLES) for rows in by_class if turn < len(rows)]
    return turns[:EXAMPLES]


def _coded(values: Array) -> str:
    return base64.b64encode(values.tobytes()).decode()


def _status_json(status: ClassStatus) -> dict[str, Any]:
    return {
        "classes": [
            {"ft": round(a, 4), "accuracy": round(b, 4), "background": round(c, 4)}
            for a, b, c in zip(status.ft, status.accuracy, status.background, strict=True)
        ],
        "read_from_background": list(status.misplaced),
        "verdict": status.verdict,
        "sentence": status.sentence,
    }
