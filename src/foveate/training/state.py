"""The state of a stacked training, an epoch at a time."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from foveate.attention.paradigms import Paradigm, Progress
from foveate.bags.bag import Bag
from foveate.randomness import generator
from foveate.records.record import Record
from foveate.training.closed import flush_denormals
from foveate.training.early_stopping import EarlyStopping
from foveate.training.epoch_inputs import (
    EpochInputs,
    Group,
    grouped,
    member_progress,
    per_member,
    split,
    split_at,
)
from foveate.training.evaluation import Reading, measure, read_stack
from foveate.training.optimisers import Settings, StackedOptimizer
from foveate.training.plan import Plan
from foveate.training.stack import Build, MemberBags, Stack
from foveate.training.step_gradients import StepGradients, limit_memory

__all__ = ["Probe", "Training"]

Probe = Callable[["Training"], Mapping[str, np.ndarray]]
"""From a training to further quantities by name, each with one row per member, (S, …)."""


class Training:
    """The state of a stacked training; :func:`~foveate.training.loop.fit` runs it by epochs."""

    def __init__(
        self,
        build: Build | Sequence[Build],
        train: Bag | Sequence[Bag],
        test: Bag | Sequence[Bag],
        paradigm: str | Paradigm | Sequence[Paradigm],
        seeds: Sequence[int],
        plan: Plan,
        probe: Probe | None = None,
        validation_rows: Sequence[Tensor] | None = None,
    ) -> None:
        size, dtype = len(seeds), getattr(torch, plan.dtype)
        self.plan, self.seeds, self.probe = plan, tuple(seeds), probe
        self.stack = Stack(build, seeds, dtype)
        device = self.stack.device
        bags = MemberBags(train, size, dtype, device), MemberBags(test, size, dtype, device)
        rows = (
            split(bags[0].n, self.seeds, plan.validation)
            if validation_rows is None
            else split_at(bags[0].n, validation_rows)
        )
        self.rows, self.held_out = (part.to(device) for part in rows)
        self._in_order = validation_rows is None and plan.validation == 0  # rows are 0 … n−1
        self.paradigms, self.train, self.test, self.part, self.stack.together = limit_memory(
            self.stack, *bags, per_member(paradigm, size), self.rows, plan.batch
        )
        at_once = plan.batch if self.part is None else max(1, self.part // self.train.m)
        self._prepare = EpochInputs(self.stack, self.train, self.rows, self.seeds, at_once)
        self.gradients = StepGradients(self.stack, self.train, self.rows, self.part)
        lr = torch.tensor(per_member(plan.lr, size), dtype=dtype, device=device)
        settings = Settings(plan.momentum, plan.weight_decay)
        self.optimizer = StackedOptimizer(plan.optimizer, lr, self.stack.flat.shape[1], settings)
        self.patience = (
            EarlyStopping(plan.patience, self.stack.state(), dtype) if plan.patience else None
        )
        self.epoch, self.cpu_seconds = 0, 0.0
        self.active = torch.ones(size, dtype=torch.bool, device=device)
        self._all_active = True
        self._last_groups: tuple[list[Paradigm], list[Group]] | None = None
        self.calls = torch.zeros(size, dtype=torch.long, device=device)
        self.losses: list[Tensor] = []
        self.times: list[int] = []
        self.values: dict[str, list[np.ndarray]] = {}
        self._read: Reading | None = None  # evaluation of the current weights
        self._tops: Tensor | None = None  # most attended segments at the last evaluation
        self._measure()

    @property
    def done(self) -> bool:
        """Whether all epochs are run or all members have stopped."""
        return self.epoch >= self.plan.epochs or not (self._all_active or bool(self.active.any()))

    def run_epoch(self) -> None:
        """One pass over the training bags for every member that has not stopped."""
        start = time.process_time()
        self._read = None
        self._restart()
        order = self._prepare.order(self.epoch)
        groups = self._trained_groups()
        aux = [self._prepare.aux(*group, self.epoch) for group in groups]
        if not self.stack.model.training:
            self.stack.model.train()
        with flush_denormals():
            total = self._steps(order, groups, aux)
        self._count(total / order.shape[1], groups, order.shape[1])
        self.epoch += 1
        self.cpu_seconds += time.process_time() - start
        self._stop()
        if self.epoch % self.plan.measure_every == 0 or self.done:
            self._measure()

    def _steps(self, order: Tensor, groups: list[Group], aux: list[Tensor | None]) -> Tensor:
        """The steps of an epoch; returns the losses of members, summed over bags, shape (S,)."""
        total = self.stack.flat.new_zeros(len(self.seeds))
        phase = groups[0].phase
        together = len(groups[0].members) == len(self.seeds)
        if together and aux[0] is None and self.gradients.in_windows(phase):
            rows = order if self._in_order else self.rows.gather(1, order)
            windows = self.train.windows(rows, self.plan.batch)
            update = partial(self.optimizer.step, self.stack.flat)
            self.gradients.closed.steps(phase, windows, total, update)
            return total
        steps = order.split(self.plan.batch, 1)
        for step, positions in enumerate(steps):
            if self.train.from_file and step + 1 < len(steps):
                self.gradients.prefetch(steps[step + 1], groups)
            with self._dropout_numbers(step):
                total.add_(self._step(positions, groups, aux), alpha=positions.shape[1])
        return total

    @contextmanager
    def _dropout_numbers(self, step: int) -> Iterator[None]:
        """Random numbers for the dropout of a step, drawn by seeds, epoch and step alone."""
        if not self.stack.draws:
            yield
            return
        with torch.random.fork_rng(devices=[]):
            stream = generator("dropout", *self.seeds, self.epoch, step)
            torch.manual_seed(stream.initial_seed())
            yield

    def _step(self, positions: Tensor, groups: list[Group], aux: list[Tensor | None]) -> Tensor:
        """One gradient step of all active members; returns their mean losses, shape (S,)."""
        if len(groups[0].members) == len(self.seeds):  # the common case, without copies
            losses, grad = self.gradients(groups[0].phase, positions, aux[0])
            self.optimizer.step(self.stack.flat, grad)
            return losses
        losses = self.stack.flat.new_zeros(len(self.seeds))
        grad = torch.zeros_like(self.stack.flat)
        for (phase, members), draws in zip(groups, aux, strict=True):
            losses[members], grad[members] = self.gradients(
                phase, positions[members], draws, members
            )
        active = None if bool(self.active.all()) else self.active.nonzero()[:, 0]
        self.optimizer.step(self.stack.flat, grad, active)
        return losses

    def _progress(self, epoch: int) -> list[tuple[Paradigm, Progress]]:
        """The paradigm and the progress of each member at the start of an epoch."""
        progress = member_progress(self.seeds, epoch, self.plan.epochs, self.losses)
        return list(zip(self.paradigms, progress, strict=True))

    def _phases(self, epoch: int) -> list[Paradigm]:
        return [rule.phase(progress) for rule, progress in self._progress(epoch)]

    def readings(self) -> list[Paradigm]:
        """The paradigm whose inference applies to each member now."""
        current = self._progress(max(0, self.epoch - 1))
        return [rule.reading(progress) for rule, progress in current]

    def _in_final_phase(self, epoch: int) -> Tensor:
        """Which members are in their last phase after an epoch, shape (S,)."""
        final = [rule.in_final_phase(progress) for rule, progress in self._progress(epoch)]
        return torch.tensor(final, device=self.stack.device)

    def _groups(self, phases: list[Paradigm], active: Tensor) -> list[Group]:
        """Members that are trained or evaluated together; one by one if steps are split."""
        return grouped(phases, active, separate=self.part is not None)

    def _trained_groups(self) -> list[Group]:
        """The groups of active members in this epoch, those of the epoch before if unchanged."""
        phases = self._phases(self.epoch)
        if self._all_active and self._last_groups is not None and phases == self._last_groups[0]:
            return self._last_groups[1]
        groups = self._groups(phases, self.active)
        self._last_groups = (phases, groups) if self._all_active else None
        return groups

    def _count(self, losses: Tensor, groups: list[Group], bags: int) -> None:
        """Append the losses (S,) of an epoch over so many bags, and add its classifier calls."""
        if not self._all_active:
            losses = torch.where(self.active, losses, self._last_loss())
        self.losses.append(losses)
        for phase, members in groups:
            calls = phase.calls(self.train.m) * bags
            if len(members) == len(self.seeds):
                self.calls += calls
            else:
                self.calls[members] += calls

    def _restart(self) -> None:
        """Reset the optimiser of members that enter a phase which requires it."""
        if not any(rule.fresh_optimizer for rule in self.paradigms):
            return
        current = self._phases(self.epoch)
        before = self._phases(self.epoch - 1) if self.epoch else current
        new = [
            rule.fresh_optimizer and old != phase
            for rule, old, phase in zip(self.paradigms, before, current, strict=True)
        ]
        if any(new):
            self.optimizer.restart(torch.tensor(new, device=self.stack.device))
        if self.plan.switched_lr is not None:
            second = [
                rule.has_switch and rule.in_final_phase(progress)
                for rule, progress in self._progress(self.epoch)
            ]
            self.optimizer.lr[torch.tensor(second, device=self.stack.device)] = (
                self.plan.switched_lr
            )

    def _stop(self) -> None:
        """Deactivate members that meet a stopping rule in their last phase."""
        if self.plan.stop_below is None and self.patience is None:
            return
        final = self._in_final_phase(self.epoch - 1)
        if self.plan.stop_below is not None:
            self.active &= ~final | (self.losses[-1] >= self.plan.stop_below)
        if self.patience is not None:
            if self.epoch > 1:
                self.patience.restart(final & ~self._in_final_phase(self.epoch - 2))
            loss = self._validation_loss()
            self.active &= ~final | self.patience.update(loss, self.active, self.stack.state())
        self._all_active = bool(self.active.all())
        if self.patience is not None and self.done:
            self.stack.restore({k: v.clone() for k, v in self.patience.best_weights.items()})

    def _validation_loss(self) -> Tensor:
        loss = self.stack.flat.new_full((len(self.seeds),), torch.inf)
        for phase, members in self._groups(self.readings(), self.active):
            rows = self.held_out[members]
            part = read_stack(self.stack, self.train, phase, members, rows)
            loss[members] = self.train.mean(part.loss.to(loss.device), rows, members)
        return loss

    def _measure(self) -> None:
        """Append the recorded metrics, each member evaluated by its current phase."""
        measured: dict[str, np.ndarray] = {"train_loss": self._last_loss().cpu().double().numpy()}
        self._read = self._reading()
        measured |= measure(self._read, self.test)
        measured["same_top"] = self._same_top(self._read.alpha)
        if self.probe is not None:
            measured |= self.probe(self)
        self.times.append(self.epoch)
        for name, value in measured.items():
            self.values.setdefault(name, []).append(value)

    def _same_top(self, alpha: Tensor) -> np.ndarray:
        """Share of held-out bags with the same top segment as one evaluation before, (S,)."""
        before, self._tops = self._tops, alpha.argmax(-1)
        if before is None:
            return np.full(len(alpha), np.nan)
        return (before == self._tops).double().mean(1).numpy()

    def _reading(self) -> Reading:
        groups = self._groups(self.readings(), torch.ones_like(self.active))
        if len(groups) == 1:  # the common case, without copies
            return read_stack(self.stack, self.test, groups[0].phase)
        readings = [
            read_stack(self.stack, self.test, rule, member_ids) for rule, member_ids in groups
        ]
        back = torch.cat([group.members for group in groups]).argsort().cpu()
        return Reading(*(torch.cat(part)[back] for part in zip(*readings, strict=True)))

    def _last_loss(self) -> Tensor:
        none = self.stack.flat.new_full((len(self.seeds),), torch.nan)
        return self.losses[-1] if self.losses else none

    def record(self) -> Record:
        """All measurements so far, and the current evaluation of every held-out bag."""
        reading = self._reading() if self._read is None else self._read
        final = {name: value.float().numpy() for name, value in reading._asdict().items()}
        final["y"] = self.test.y.cpu().numpy()
        final["losses"] = torch.stack(self.losses).T.float().cpu().numpy()
        for name in ("z", "mask"):
            if (part := getattr(self.test, name)) is not None:
                final[name] = part.cpu().numpy()
        meta = {
            "seeds": list(self.seeds),
            "plan": self.plan.model_dump(),
            "epochs_run": self.epoch,
            "parameters": self.stack.flat.shape[1],
            "cpu_seconds": self.cpu_seconds,
            "classifier_calls": self.calls.tolist(),
            "stopped": (~self.active).tolist(),
        }
        if not any(rule.uses_attention for rule in self.paradigms):
            meta["uses_attention"] = False
        values = {name: np.stack(rows) for name, rows in self.values.items()}
        return Record(
            np.array(self.times), values, final, meta, trained=self.stack.on(torch.device("cpu"))
        )

    def snapshot(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """The state to store in a checkpoint."""
        tensors = {
            **self.stack.state(),
            **{f"optimizer/{k}": v for k, v in self.optimizer.state.items()},
            **{f"values/{k}": torch.from_numpy(np.stack(v)) for k, v in self.values.items()},
            **(self.patience.state() if self.patience else {}),
            **({} if self._tops is None else {"tops": self._tops}),
            **{"active": self.active, "calls": self.calls},
            **{"losses": torch.stack(self.losses), "times": torch.tensor(self.times)},
        }
        meta = {"epoch": self.epoch, "cpu_seconds": self.cpu_seconds}
        return {k: v.cpu() for k, v in tensors.items()}, meta

    def restore(self, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
        """Load what :meth:`snapshot` returned."""
        self.stack.restore(tensors)
        device, state = self.stack.device, _with_prefix("optimizer/", tensors)
        self.optimizer.state = {k: v.to(device) for k, v in state.items()}
        self.values = {k: list(v.numpy()) for k, v in _with_prefix("values/", tensors).items()}
        if self.patience is not None:
            self.patience.restore(tensors)
        self.active, self.calls = tensors["active"].to(device), tensors["calls"].to(device)
        self._all_active, self._last_groups = bool(self.active.all()), None
        self.losses = list(tensors["losses"].to(device))
        self.times = tensors["times"].tolist()
        self.epoch, self.cpu_seconds = meta["epoch"], meta["cpu_seconds"]
        self._read, self._tops = None, tensors.get("tops")


def _with_prefix(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
