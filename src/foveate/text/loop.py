"""Resumable training loop for text models, one member after the other.

:mod:`foveate.training.loop` stacks members, which is faster for small models. The matrix products
of a recurrent network with 256 units use a whole core, so that stacking gains nothing: here members
are trained one after another, and parts in parallel.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count, takewhile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from foveate.errors import FoveateError
from foveate.randomness import generator
from foveate.records.record import Array, Record, load_checkpoint, save_checkpoint
from foveate.settings import current_device
from foveate.types import StepProgress

__all__ = ["MemberTraining", "built", "even_steps", "follow", "measurement_steps"]

SAVE_EVERY = 20.0  # seconds between checkpoints

Measurements = dict[str, Array]


@dataclass(frozen=True)
class MemberTraining:
    """One training: the model, what it learns from at each step, what is measured.

    Args:
        model: Its parameters that require a gradient are trained, by Adam.
        loss: The loss of step 1, 2, …, on a batch determined by the step.
        measure: What is measured after a step (0: before the first), arrays of fixed shape.
        lr: Learning rate.
        should_stop: Whether the training may end after a measurement; later values are NaN.
    """

    model: nn.Module
    loss: Callable[[int], Tensor]
    measure: Callable[[int], Measurements]
    lr: float = 1e-3
    should_stop: Callable[[Mapping[str, Array]], bool] = lambda _: False


def built(make: Callable[[], nn.Module], *name: str | int) -> nn.Module:
    """A model whose initial weights depend on ``name``, not on torch's global generator."""
    if current_device().type != "cpu":
        raise FoveateError("models of texts are trained on the CPU: leave the device out")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(generator("weights", *name).initial_seed() % 2**63)
        return make()


def measurement_steps(steps: int) -> list[int]:
    """Steps to measure at: 0, 25, 50, 100, … and the last.

    Example:
        >>> measurement_steps(150)
        [0, 25, 50, 100, 150]
    """
    rising = takewhile(lambda step: step < steps, (25 * 2**k for k in count()))
    return [0, *rising, steps]


def even_steps(steps: int, every: int) -> list[int]:
    """Steps to measure at: 0, the multiples of ``every``, and the last.

    Example:
        >>> even_steps(50, 20)
        [0, 20, 40, 50]
    """
    return [*range(0, steps, every), steps]


def follow(
    trainings: Sequence[Callable[[], MemberTraining]],
    steps: Sequence[int],
    *,
    checkpoint: Path | None = None,
    report: StepProgress = lambda _done, _total: None,
    meta: Mapping[str, Any] | None = None,
) -> Record:
    """Train one member after another and measure each at these steps.

    A killed call continues from its checkpoint and ends with the same numbers.

    Args:
        trainings: One call per member that sets its training up.
        steps: Steps to measure at, rising, 0 for the start; the last is the end.
        checkpoint: Where to keep the state, written periodically and after every member.
        report: Called as ``report(steps done, steps in all)``.
        meta: Metadata of the record.

    Returns:
        A record with t = ``steps`` and values of shape (T, S, …).
    """
    progress_state = _Progress(tuple(steps), checkpoint)
    total = len(trainings) * steps[-1]
    for member in range(len(progress_state.done), len(trainings)):
        progress_state.member(
            trainings[member](), partial(_report_step, report, member * steps[-1], total)
        )
    names = progress_state.done[0] if progress_state.done else {}
    values = {name: np.stack([rows[name] for rows in progress_state.done], 1) for name in names}
    return Record(np.asarray(steps), values, {}, dict(meta or {}))


def _report_step(report: StepProgress, before: int, total: int, step: int) -> None:
    report(before + step, total)


class _Progress:
    """Finished members and the one in training, as stored in a checkpoint."""

    def __init__(self, steps: tuple[int, ...], checkpoint: Path | None) -> None:
        self.steps, self.path = steps, checkpoint
        self.done: list[Measurements] = []
        self.restored: tuple[dict[str, Tensor], dict[str, Any]] | None = None
        if checkpoint is not None and checkpoint.exists():
            tensors, meta = load_checkpoint(checkpoint)
            for member in range(meta["done"]):
                self.done.append(_numbers(tensors, f"done/{member}/"))
            self.restored = (tensors, meta) if meta["step"] is not None else None

    def member(self, training: MemberTraining, progress: Callable[[int], None]) -> None:
        """Train one member, from the checkpoint if there is one."""
        trained = [p for p in training.model.parameters() if p.requires_grad]
        optimizer = torch.optim.Adam(trained, training.lr, fused=True)
        rows: list[Measurements] = []
        step = self._restore(training.model, optimizer, rows) if self.restored else 0
        saved = time.monotonic()
        over = False
        while not over:
            if step in self.steps[len(rows) : len(rows) + 1]:
                rows.append(training.measure(step))
                progress(step)
                over = step == self.steps[-1] or training.should_stop(rows[-1])
            if over:
                break
            if time.monotonic() - saved > SAVE_EVERY:
                self._save(step, training.model, optimizer, rows)
                saved = time.monotonic()
            step += 1
            optimizer.zero_grad(set_to_none=True)
            training.loss(step).backward()
            optimizer.step()
        self.done.append(_table(rows, len(self.steps)))
        self._save(None, None, None, [])

    def _save(
        self,
        step: int | None,
        model: nn.Module | None,
        optimizer: torch.optim.Optimizer | None,
        rows: list[Measurements],
    ) -> None:
        if self.path is None:
            return
        tensors: dict[str, Tensor] = {}
        for member, table in enumerate(self.done):
            tensors |= {f"done/{member}/{k}": torch.from_numpy(v) for k, v in table.items()}
        if rows:
            so_far = _table(rows, len(rows))
            tensors |= {f"rows/{k}": torch.from_numpy(v) for k, v in so_far.items()}
        if model is not None and optimizer is not None:
            tensors |= {f"model/{k}": v for k, v in model.state_dict().items()}
            for i, state in optimizer.state_dict()["state"].items():
                tensors |= {f"adam/{i}/{k}": v for k, v in state.items()}
        save_checkpoint(self.path, tensors, {"done": len(self.done), "step": step})

    def _restore(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, rows: list[Measurements]
    ) -> int:
        assert self.restored is not None  # the caller has checked
        tensors, meta = self.restored
        self.restored = None
        model.load_state_dict(_with_prefix(tensors, "model/"))
        state: dict[int, dict[str, Tensor]] = {}
        for key, value in _with_prefix(tensors, "adam/").items():
            i, _, name = key.partition("/")
            state.setdefault(int(i), {})[name] = value
        optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
        columns = _numbers(tensors, "rows/")
        count = len(next(iter(columns.values()))) if columns else 0
        rows += [{name: column[k] for name, column in columns.items()} for k in range(count)]
        return int(meta["step"])


def _with_prefix(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}


def _numbers(tensors: Mapping[str, Tensor], prefix: str) -> Measurements:
    return {name: value.numpy() for name, value in _with_prefix(tensors, prefix).items()}


def _table(rows: list[Measurements], length: int) -> Measurements:
    """Measurements as columns over time, filled up with NaN where a training ended early."""
    columns = {}
    for name in rows[0]:
        column = np.stack([np.asarray(row[name], np.float64) for row in rows])
        padding = np.full((length - len(rows), *column.shape[1:]), np.nan)
        columns[name] = np.concatenate([column, padding])
    return columns
