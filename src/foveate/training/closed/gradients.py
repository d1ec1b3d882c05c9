"""Losses and gradients of the members of a stack on a batch, where closed formulas exist.

The general path runs any model under ``torch.func.vmap`` with autograd. For small networks its cost
per operation exceeds the arithmetic. Here models of affine layers with softmax attention are
computed by a fixed sequence of operations on the members together, into memory that every step
reuses. The members are processed in groups whose activations fit the processor cache.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from foveate.attention.paradigms import Paradigm
from foveate.bags.segments import Segments, shared_bank, stored, tensors_of
from foveate.models.focus import FCAM
from foveate.training.closed.embedded import Embedded
from foveate.training.closed.heads import Objective, objective_of
from foveate.training.closed.layouts import Layout, Loaded, layout_of
from foveate.training.closed.networks import Chain, Layer, Memory, Table, layers_of, table_of
from foveate.training.stack import Batch, MemberBags, Stack

__all__ = ["ClosedGradients", "flush_denormals"]

CACHED = 2**19  # numbers of the largest array of a group of members: 2 MB in single precision
SMALLEST = np.finfo(np.float32).tiny  # the smallest normal number
PROGRAMS = 256  # shapes of batches whose programs are stored


class _Networks(NamedTuple):
    """The layers of f and g, and the table whose rows they read, if there is one."""

    f: list[Layer]
    g: list[Layer]
    table: Table | None = None

    @property
    def widest(self) -> int:
        """The largest number of inputs or outputs of a layer."""
        return max(max(layer.outputs, layer.inputs) for net in (self.f, self.g) for layer in net)


class ClosedGradients:
    """Closed gradients of a stack; ``supports`` returns whether they exist for a paradigm.

    Args:
        stack: The models.
    """

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._networks = _networks(stack)
        self._memory = Memory(stack.dtype, stack.flat.device)
        self._programs: dict[tuple[object, ...], list[tuple[slice, _Program]]] = {}

    def supports(self, phase: Paradigm, bags: MemberBags) -> bool:
        """Whether the gradient of a paradigm's loss on these bags is computed here."""
        return (
            self._networks is not None
            and objective_of(phase) is not None
            and bags.chunk is None
            and bags.weight is None
            and self._reads(bags)
        )

    def _reads(self, bags: MemberBags) -> bool:
        """Whether the segments are numbers, or ids of the rows of a table where there is one."""
        if self._networks is not None and self._networks.table is not None:
            return bags.rising_ids
        return bags.stored_dtype == self._stack.dtype and len(bags.segment_shape) > 0

    def gradients(
        self, phase: Paradigm, batch: Batch, members: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Mean loss and gradient of some members on their bags, (S',) and (S', P).

        The gradient is overwritten by the next call.

        Args:
            phase: The paradigm.
            batch: The bags of the members.
            members: Which members; None for all.
        """
        flat = self._stack.flat
        if members is not None:
            parameters = self._memory.of("parameters", len(members), flat.shape[1])
            flat = torch.index_select(flat, 0, members, out=parameters)
        losses = flat.new_zeros(len(flat))
        grad = self._memory.of("gradient", *flat.shape)
        window = batch.map(lambda value: value.unsqueeze(0))
        self._run(phase, window, flat, grad, losses, _nothing)
        return losses / batch.y.shape[1], grad

    def steps(
        self,
        phase: Paradigm,
        windows: Iterable[Batch],
        total: Tensor,
        update: Callable[[Tensor], object],
        members: slice = slice(None),
    ) -> None:
        """Call a function with the gradient (S', P) of each of many steps of members.

        Args:
            phase: The paradigm.
            windows: Batches with a leading axis of steps.
            total: Where the losses are added, summed over bags, shape (S',).
            update: Uses a gradient, which the next step overwrites. Called in inference mode.
            members: Which members; all unless given.
        """
        flat = self._stack.flat[members]
        grad = self._memory.of("gradient", *flat.shape)
        for window in windows:
            self._run(phase, window, flat, grad, total, update)

    def _run(
        self,
        phase: Paradigm,
        window: Batch,
        flat: Tensor,
        grad: Tensor,
        total: Tensor,
        update: Callable[[Tensor], object],
    ) -> None:
        programs = self._programs_of(phase, window, flat, grad)
        count, bags = window.y.shape[0], window.y.shape[2]
        with torch.inference_mode():  # operations cost a tenth less
            if len(programs) == 1:
                program = programs[0][1]
                program.load(window)
                for k in range(count):
                    program.run(k)
                    update(grad)
                total.add_(program.losses().sum(0), alpha=bags)
                return
            parts = [_members(window, member_ids) for member_ids, _ in programs]
            for k in range(count):
                for (member_ids, program), part in zip(programs, parts, strict=True):
                    program.load(_step(part, k))
                    program.run(0)
                    total[member_ids].add_(program.losses()[0], alpha=bags)
                update(grad)

    def _group(self, window: Batch) -> int:
        """How many members are processed at a time."""
        assert self._networks is not None
        shared = shared_bank(window.x)
        columns = stored(window.x).shape[2:4].numel() if shared is None else shared.bank.shape[2]
        return max(1, CACHED // (columns * self._networks.widest))

    def _programs_of(
        self, phase: Paradigm, window: Batch, flat: Tensor, grad: Tensor
    ) -> list[tuple[slice, "_Program"]]:
        """The groups of members that are processed one after another, and their programs."""
        key = (phase, flat.data_ptr(), grad.data_ptr(), _shape(window.x))
        if key not in self._programs:
            if len(self._programs) >= PROGRAMS:
                self._programs.clear()
            objective = objective_of(phase)
            assert objective is not None
            assert self._networks is not None
            size = self._group(window)
            groups = [slice(start, start + size) for start in range(0, len(flat), size)]
            self._programs[key] = [
                (
                    member_ids,
                    _Program(
                        self._networks,
                        objective,
                        x,
                        flat[member_ids],
                        grad[member_ids],
                        self._memory,
                    ),
                )
                for member_ids in groups
                for x in (_members(window, member_ids).x,)
            ]
        return self._programs[key]


class _Program:
    """The operations of a step for batches of one shape."""

    def __init__(
        self,
        networks: _Networks,
        objective: Objective,
        x: Segments,
        flat: Tensor,
        grad: Tensor,
        memory: Memory,
    ) -> None:
        self._layout = layout = _layout(networks.table, x, flat, grad, memory)
        self._f = Chain(networks.f, flat, grad, layout.columns, memory, "f", last_bias=False)
        layout.attach(self._f.outputs[-1])
        columns = layout.columns if objective.head.reads_segments else layout.bags
        g = Chain(networks.g, flat, grad, columns, memory, "g")
        class_weights = objective.class_weights
        weights = None if class_weights is None else flat.new_tensor(class_weights) / layout.bags
        self._head = objective.head(layout, g, memory, weights)
        self._lowest = torch.finfo(flat.dtype).min / 4
        self._loaded: list[Loaded] = []

    def load(self, window: Batch) -> None:
        """Set the batches of the next steps."""
        self._loaded = self._layout.load(window.x)
        self._head.load(window, self._loaded)
        mask = window.mask
        self._hidden = None if mask is None else (~self._layout.arranged(mask)).unbind()

    def run(self, k: int) -> None:
        """Write the gradients of step k."""
        layout, step = self._layout, self._loaded[k]
        layout.prepare(step)
        self._f.forward(step.inputs)
        scores = layout.read_scores(step)
        if self._hidden is not None:
            scores.masked_fill_(self._hidden[k], self._lowest)
        torch._softmax(scores, layout.axis, False, out=layout.alpha)
        self._head.write_scores_grad(k, step)
        self._f.backward(layout.column_grad(step), step.rows, layout.focus_input_grad)
        layout.finish(step)

    def losses(self) -> Tensor:
        """The mean losses of the steps that were run, shape (steps, S)."""
        return self._head.losses()


@contextmanager
def flush_denormals() -> Iterator[None]:
    """Treat numbers below the smallest normal one as 0, which processors compute much faster.

    Late in training the gradients of unlikely classes are so small. Applies to the calling thread.
    """
    before = bool(SMALLEST / 4 == 0)
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


def _layout(table: Table | None, x: Segments, flat: Tensor, grad: Tensor, memory: Memory) -> Layout:
    if table is None:
        return layout_of(x)(x, memory)
    return Embedded(x, memory, table.of(flat), table.of(grad))


def _networks(stack: Stack) -> _Networks | None:
    """The layers of f and g; None if the model is of another kind."""
    model = stack.model
    if type(model) is not FCAM or model.map != "softmax" or stack.buffers:
        return None
    if model._forward_hooks or model._forward_pre_hooks or model.f._forward_hooks:
        return None
    sizes = {name: p.numel() for name, p in model.named_parameters()}
    starts = dict(zip(sizes, accumulate(sizes.values(), initial=0), strict=False))
    table = table_of(model, starts)
    if table is None and model.layer is not None:
        return None
    network, prefix = (model.f, "f") if table is None else (table.network, table.prefix)
    f, g = layers_of(network, prefix, starts), layers_of(model.g, "g", starts)
    if f is None or g is None or f[-1].outputs != 1:
        return None
    return _Networks(f, g, table)


def _nothing(grad: Tensor) -> None:
    """Leave a gradient where it is."""


def _step(window: Batch, k: int) -> Batch:
    """One step of a window, with its axis."""
    return window.map(lambda value: value[k : k + 1])


def _members(window: Batch, part: slice) -> Batch:
    """Some members of a window."""
    return window.map(lambda value: value[:, part])


def _shape(x: Segments) -> tuple[object, ...]:
    """What a program depends on: shapes without the number of steps, and the order of axes."""
    parts = tensors_of(x)
    return (*(part.shape[1:] for part in parts), parts[0].stride(2))
