"""The one training loop: ``fit(...) -> Record``, many seeds in one program."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from foveate.bag import Bag
from foveate.checkpoint import load_checkpoint, save_checkpoint
from foveate.errors import FoveateError
from foveate.models.focus import AttentionModel
from foveate.optim import Settings, StackedOptimizer
from foveate.paradigms import PARADIGMS, Paradigm, Progress
from foveate.plan import Plan
from foveate.probes import Reading, measure, read_stack
from foveate.randomness import generator
from foveate.record import Record
from foveate.stack import Batch, Build, Pile, Stack

__all__ = ["Probe", "Training", "fit"]

Probe = Callable[["Training"], Mapping[str, np.ndarray]]
"""From a training as it stands to further quantities by name, each one row a member, (S, …)."""

LOGITS = 2**24  # logits of one step held at a time: beyond, segments are classified in chunks
NUMBERS = 2**25  # of a member's segments in one step, written out: beyond, chunks of the bank
CHUNK = 2**22  # numbers of the segments of such a chunk: 16 MB in single precision


def fit(
    build: Build | Sequence[Build],
    train: Bag | Sequence[Bag],
    test: Bag | Sequence[Bag],
    paradigm: str | Paradigm | Sequence[Paradigm] = "soft",
    *,
    seeds: Sequence[int] = (0,),
    plan: Plan | None = None,
    checkpoint: Path | None = None,
    report: Callable[[int, int], None] | None = None,
    probe: Probe | None = None,
    **settings: Any,
) -> Record:
    """Train one member per seed, all in one program, and measure them on held-out bags.

    Args:
        build: Makes an untrained model, or one such function per member.
        train: Training bags, for all members or one set each.
        test: Held-out bags: measured, never trained or selected on.
        paradigm: How to train: a name, an object, or one object per member.
        seeds: One per member; decides initial weights, the order of bags, and what is sampled.
        plan: Sizes and rates of the training.
        checkpoint: File to keep the state of the training in. If it is there, training goes on
            from it and ends with the same bits as if it had never stopped.
        report: Called as ``report(epochs done, epochs)``.
        probe: Measures further quantities whenever the others are measured, before the first
            epoch and after the last included; they are kept in ``record.values``.
        settings: Fields of :class:`~foveate.plan.Plan`, in place of ``plan`` or on top of it.

    Returns:
        Measures over time, one number a member; at the end scores, attention and predictions for
        every held-out bag; the trained stack as ``record.trained``.
    """
    plan = Plan(**((plan.model_dump() if plan else {}) | settings))
    training = Training(build, train, test, paradigm, seeds, plan, probe)
    if checkpoint is not None and checkpoint.exists():
        training.restore(*load_checkpoint(checkpoint))
    saved = time.monotonic()
    while not training.done:
        training.run_epoch()
        if report is not None:
            report(training.epoch, plan.epochs)
        if checkpoint is not None and time.monotonic() - saved >= plan.save_seconds:
            save_checkpoint(checkpoint, *training.snapshot())
            saved = time.monotonic()
    return training.record()


class Training:
    """The state of a stacked training, an epoch at a time; :func:`fit` runs it to the end."""

    def __init__(
        self,
        build: Build | Sequence[Build],
        train: Bag | Sequence[Bag],
        test: Bag | Sequence[Bag],
        paradigm: str | Paradigm | Sequence[Paradigm],
        seeds: Sequence[int],
        plan: Plan,
        probe: Probe | None = None,
    ) -> None:
        size, dtype = len(seeds), getattr(torch, plan.dtype)
        self.plan, self.seeds, self.probe = plan, tuple(seeds), probe
        self.stack = Stack(build, seeds, dtype)
        self.train, self.test = Pile(train, size, dtype), Pile(test, size, dtype)
        self.rows, self.held_out = _split(self.train.n, self.seeds, plan.validation)
        self.paradigms = self._bounded(_per_member(paradigm, size))
        lr = torch.tensor(_per_member(plan.lr, size), dtype=dtype)
        settings = Settings(plan.momentum, plan.weight_decay)
        self.optimizer = StackedOptimizer(plan.optimizer, lr, self.stack.flat.shape[1], settings)
        self.epoch, self.cpu_seconds = 0, 0.0
        self.active = torch.ones(size, dtype=torch.bool)
        self.calls = torch.zeros(size, dtype=torch.long)
        self.losses: list[Tensor] = []
        self.best = torch.full((size,), torch.inf, dtype=dtype)
        self.since = torch.zeros(size, dtype=torch.long)
        self.kept = self._weights() if plan.patience else {}
        self.times: list[int] = []
        self.values: dict[str, list[np.ndarray]] = {}
        self._read: Reading | None = None  # held-out bags as these weights read them
        self._measure()

    @property
    def done(self) -> bool:
        """Whether all epochs are run or all members have stopped."""
        return self.epoch >= self.plan.epochs or not bool(self.active.any())

    def run_epoch(self) -> None:
        """One pass over the training bags for every member that has not stopped."""
        start = time.process_time()
        self._read = None
        phases = self._phases(self.epoch)
        self._restart(phases)
        order = torch.stack([self._order(i) for i in range(len(self.seeds))])
        groups = _grouped(phases, self.active)
        aux = {phase: self._aux(phase, members) for phase, members in groups.items()}
        total = torch.zeros(len(self.seeds), dtype=self.stack.dtype)
        self.stack.model.train()
        for places in order.split(self.plan.batch, 1):
            total += self._step(places, groups, aux) * places.shape[1]
        self.losses.append(torch.where(self.active, total / order.shape[1], self._last_loss()))
        for phase, members in groups.items():
            self.calls[members] += phase.calls(self.train.m) * order.shape[1]
        self.epoch += 1
        self.cpu_seconds += time.process_time() - start
        self._stop()
        if self.epoch % self.plan.measure_every == 0 or self.done:
            self._measure()

    def _step(
        self, places: Tensor, groups: dict[Paradigm, Tensor], aux: dict[Paradigm, Tensor | None]
    ) -> Tensor:
        """One gradient step of all active members; returns their mean losses, shape (S,)."""
        phase, members = next(iter(groups.items()))
        if len(members) == len(self.seeds):  # the usual case, without copies
            losses, grad = self._gradients(phase, places, aux[phase])
            self.optimizer.step(self.stack.flat, grad)
            return losses
        losses = torch.zeros(len(self.seeds), dtype=self.stack.dtype)
        grad = torch.zeros_like(self.stack.flat)
        for phase, members in groups.items():
            losses[members], grad[members] = self._gradients(phase, places, aux[phase], members)
        active = None if bool(self.active.all()) else self.active.nonzero()[:, 0]
        self.optimizer.step(self.stack.flat, grad, active)
        return losses

    def _gradients(
        self, phase: Paradigm, places: Tensor, aux: Tensor | None, members: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Mean loss and gradient of some members on the bags at their places in the epoch."""
        rows = self.rows if members is None else self.rows[members]
        here = places if members is None else places[members]
        batch = self.train.batch(
            rows.gather(1, here),
            members,
            None if aux is None else aux.gather(1, _as_index(here, aux)),
            whole=not self.stack.mixes_rows,
            with_z=self.stack.model.needs_z or phase.needs_z,
            trim=not phase.whole_bag,
            reuse=True,
        )
        if phase.recalls and batch.aux is not None and batch.mask is not None:
            batch = batch._replace(aux=batch.aux[..., : batch.mask.shape[-1]])
        return self.stack.gradients(_mean_loss, batch, phase, members=members)

    def _order(self, i: int) -> Tensor:
        """The order of member i's training bags in this epoch, which its seed alone decides."""
        chance = generator("order", self.seeds[i], self.epoch)
        return torch.randperm(self.rows.shape[1], generator=chance)

    def _aux(self, phase: Paradigm, members: Tensor) -> Tensor | None:
        """What a paradigm asked for, for every training bag of the epoch, shape (S', n, …)."""
        if phase.recalls:
            return self._recall(phase, members)
        if phase.draws:
            return self._draws(phase.draws, members)
        return self._picks(phase.picks, members) if phase.picks else None

    def _draws(self, count: int, members: Tensor) -> Tensor:
        """Uniform numbers for every training bag, shape (S', n, count)."""
        shape = (self.rows.shape[1], count)
        chances = [generator("draws", self.seeds[i], self.epoch) for i in members.tolist()]
        return torch.stack(
            [torch.rand(shape, generator=c, dtype=self.stack.dtype) for c in chances]
        )

    def _picks(self, count: int, members: Tensor) -> Tensor:
        """Places of segments drawn evenly from every training bag, shape (S', n, count)."""
        drawn = self._draws(count, members)
        mask = self.train.masks(self.rows[members], members)
        if mask is None:
            return (drawn * self.train.m).long()
        nth = (drawn * mask.sum(-1, keepdim=True)).long()
        return torch.searchsorted(mask.long().cumsum(-1), nth + 1)

    @torch.no_grad()
    def _recall(self, phase: Paradigm, members: Tensor) -> Tensor:
        parts = []
        for places in self.rows[members].split(self.plan.batch, 1):
            batch = self.train.batch(places, members)
            parts.append(self.stack.run(_memory, batch, phase, members=members))
        return torch.cat(parts, 1)

    def _phases(self, epoch: int) -> list[Paradigm]:
        """The paradigm in force for each member, from what it has been through."""
        return [
            rule.phase(Progress(epoch, self.plan.epochs, seed, _Past(self.losses, epoch, i)))
            for i, (rule, seed) in enumerate(zip(self.paradigms, self.seeds, strict=True))
        ]

    def _restart(self, phases: list[Paradigm]) -> None:
        before = self._phases(self.epoch - 1) if self.epoch else phases
        new = [
            rule.fresh_optimizer and old != now
            for rule, old, now in zip(self.paradigms, before, phases, strict=True)
        ]
        if any(new):
            self.optimizer.restart(torch.tensor(new))

    def _stop(self) -> None:
        """Retire members that met a stopping rule."""
        if self.plan.stop_below is not None:
            self.active &= self.losses[-1] >= self.plan.stop_below
        if self.plan.patience is None:
            return
        loss = self._validation_loss()
        better = (loss < self.best) & self.active
        self.best = torch.where(better, loss, self.best)
        self.since = torch.where(better, 0, self.since + 1)
        for name, value in self._weights().items():
            self.kept[name][better] = value[better]
        self.active &= self.since < self.plan.patience
        if self.done:
            self.stack.flat = self.kept["flat"].clone()
            self.stack.buffers = {k: self.kept[f"buffers/{k}"].clone() for k in self.stack.buffers}

    def _validation_loss(self) -> Tensor:
        phases = self._phases(self.epoch - 1)
        loss = torch.full_like(self.best, torch.inf)
        for phase, members in _grouped(phases, self.active).items():
            part = read_stack(self.stack, self.train, phase, members, self.held_out[members])
            loss[members] = part.loss.mean(1)
        return loss

    def _measure(self) -> None:
        """Append what is recorded over time, each member read by the phase it is in."""
        measured: dict[str, np.ndarray] = {"train_loss": self._last_loss().double().numpy()}
        self._read = self._reading()
        measured |= measure(self._read, self.test)
        if self.probe is not None:
            measured |= self.probe(self)
        self.times.append(self.epoch)
        for name, value in measured.items():
            self.values.setdefault(name, []).append(value)

    def _reading(self) -> Reading:
        phases = self._phases(max(0, self.epoch - 1))
        groups = _grouped(phases, torch.ones_like(self.active))
        if len(groups) == 1:  # the usual case, without copies
            return read_stack(self.stack, self.test, phases[0])
        readings = [read_stack(self.stack, self.test, rule, who) for rule, who in groups.items()]
        back = torch.cat(list(groups.values())).argsort()
        return Reading(*(torch.cat(part)[back] for part in zip(*readings, strict=True)))

    def _last_loss(self) -> Tensor:
        return self.losses[-1] if self.losses else torch.full_like(self.best, torch.nan)

    def _weights(self) -> dict[str, Tensor]:
        buffers = {f"buffers/{k}": v.clone() for k, v in self.stack.buffers.items()}
        return {"flat": self.stack.flat.clone(), **buffers}

    def _bounded(self, paradigms: list[Paradigm]) -> list[Paradigm]:
        """Where the segments or logits of a step would not fit, go in chunks, member by member."""
        segments = min(self.plan.batch, self.rows.shape[1]) * self.train.m
        width = max(1, prod(self.train.segment_shape))
        if segments * width > NUMBERS and not self.stack.mixes_rows:
            self.stack.together = False
            for pile in (self.train, self.test):
                pile.in_chunks(max(1, CHUNK // width))
        one = self.train.batch(self.rows[:, :1])
        classes = int(self.stack.run(_width, one, paradigms[0])[0])
        if len(self.seeds) * self.plan.batch * self.train.m * classes <= LOGITS:
            return paradigms
        self.stack.together = False
        return [_in_chunks(rule, max(1, LOGITS // classes)) for rule in paradigms]

    def record(self) -> Record:
        """All measurements so far, and every held-out bag as it is read now."""
        reading = self._reading() if self._read is None else self._read
        final = {name: value.float().numpy() for name, value in reading._asdict().items()}
        final |= {"y": self.test.y.numpy(), "losses": torch.stack(self.losses).T.float().numpy()}
        for name in ("z", "mask"):
            if (part := getattr(self.test, name)) is not None:
                final[name] = part.numpy()
        meta = {
            "seeds": list(self.seeds),
            "plan": self.plan.model_dump(),
            "epochs_run": self.epoch,
            "parameters": self.stack.flat.shape[1],
            "cpu_seconds": self.cpu_seconds,
            "classifier_calls": self.calls.tolist(),
            "stopped": (~self.active).tolist(),
        }
        values = {name: np.stack(rows) for name, rows in self.values.items()}
        return Record(np.array(self.times), values, final, meta, trained=self.stack)

    def snapshot(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """All that the coming epochs depend on."""
        tensors = {
            **self._weights(),
            **{f"optimizer/{k}": v for k, v in self.optimizer.state.items()},
            **{f"kept/{k}": v for k, v in self.kept.items()},
            **{f"values/{k}": torch.from_numpy(np.stack(v)) for k, v in self.values.items()},
            **{k: getattr(self, k) for k in ("active", "calls", "best", "since")},
            "losses": torch.stack(self.losses),
            "times": torch.tensor(self.times),
        }
        return tensors, {"epoch": self.epoch, "cpu_seconds": self.cpu_seconds}

    def restore(self, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
        """Go on from what :meth:`snapshot` gave."""
        parts: dict[str, dict[str, Tensor]] = {
            k: {} for k in ("buffers", "optimizer", "kept", "values")
        }
        for name, value in tensors.items():
            part, _, key = name.partition("/")
            if key:
                parts[part][key] = value
        wanted = {k: tuple(v.shape) for k, v in self._weights().items()}
        if any(k not in tensors or tuple(tensors[k].shape) != v for k, v in wanted.items()):
            raise FoveateError("the checkpoint is of another model or another number of seeds")
        self.stack.flat, self.stack.buffers = tensors["flat"], parts["buffers"]
        self.optimizer.state, self.kept = parts["optimizer"], parts["kept"]
        self.values = {k: list(v.numpy()) for k, v in parts["values"].items()}
        for name in ("active", "calls", "best", "since"):
            setattr(self, name, tensors[name])
        self.losses, self.times = list(tensors["losses"]), tensors["times"].tolist()
        self.epoch, self.cpu_seconds = meta["epoch"], meta["cpu_seconds"]
        self._read = None


class _Past(Sequence[float]):
    """One member's training losses up to an epoch, looked up only if a schedule asks."""

    def __init__(self, losses: list[Tensor], epoch: int, member: int) -> None:
        self._losses, self._epoch, self._member = losses, epoch, member

    def __len__(self) -> int:
        return self._epoch

    def __getitem__(self, at: Any) -> Any:
        rows = range(self._epoch)[at]
        if isinstance(rows, range):
            return [float(self._losses[k][self._member]) for k in rows]
        return float(self._losses[rows][self._member])


def _mean_loss(model: AttentionModel, batch: Batch, phase: Paradigm) -> Tensor:
    focus = model.attend(batch.x, batch.mask, batch.z)
    loss = phase.loss(focus.alpha, focus.h, model.g, batch.y, batch.aux)
    return (loss + phase.told(focus.alpha, batch.z) if phase.needs_z else loss).mean()


def _memory(model: AttentionModel, batch: Batch, phase: Paradigm) -> Tensor:
    focus = model.attend(batch.x, batch.mask, batch.z)
    return phase.remember(focus.alpha, focus.h, model.g, batch.y)


def _width(model: AttentionModel, batch: Batch, phase: Paradigm) -> Tensor:
    focus = model.attend(batch.x, batch.mask, batch.z)
    return torch.tensor(phase.log_prob(focus.alpha, focus.h, model.g).shape[-1])


def _split(n: int, seeds: tuple[int, ...], share: float) -> tuple[Tensor, Tensor]:
    """Rows to train on and rows to validate on, for each member, shapes (S, n') and (S, n'')."""
    if share == 0:
        return torch.arange(n).expand(len(seeds), -1), torch.empty(len(seeds), 0, dtype=torch.long)
    cut = round(n * (1 - share))
    if not 0 < cut < n:
        raise FoveateError(f"a validation share of {share} leaves no bags on one side of {n}")
    order = torch.stack([torch.randperm(n, generator=generator("split", seed)) for seed in seeds])
    return order[:, :cut], order[:, cut:]


def _grouped(phases: list[Paradigm], active: Tensor) -> dict[Paradigm, Tensor]:
    """Members by the paradigm they are in; those that stopped are in none."""
    groups: dict[Paradigm, list[int]] = {}
    for i, (phase, goes_on) in enumerate(zip(phases, active.tolist(), strict=True)):
        if goes_on:
            groups.setdefault(phase, []).append(i)
    return {phase: torch.tensor(members) for phase, members in groups.items()}


def _per_member(given: Any, size: int) -> list[Any]:
    """One value per member, from one for all (a paradigm also by name) or one each."""
    if isinstance(given, str):
        given = PARADIGMS.get(given)()
    values = list(given) if isinstance(given, Sequence) else [given] * size
    if len(values) != size:
        raise FoveateError(f"{size} members need as many values, got {len(values)}")
    return values


def _in_chunks(rule: Paradigm, chunk: int) -> Paradigm:
    """The rule, and those within it, with segments classified in chunks."""
    parts: dict[str, Any] = {"chunk": chunk} if getattr(rule, "chunk", 0) is None else {}
    if isinstance(inner := getattr(rule, "paradigm", None), Paradigm):
        parts["paradigm"] = _in_chunks(inner, chunk)
    if isinstance(phases := getattr(rule, "phases", None), tuple):
        parts["phases"] = tuple(_in_chunks(phase, chunk) for phase in phases)
    return replace(rule, **parts) if parts else rule  # type: ignore[type-var]


def _as_index(places: Tensor, given: Tensor) -> Tensor:
    return places.reshape(*places.shape, *[1] * (given.dim() - 2)).expand(
        *places.shape, *given.shape[2:]
    )
