"""Many models of one architecture, their parameters the rows of one matrix, run together."""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from foveate.errors import FoveateError
from foveate.models.focus import AttentionModel
from foveate.settings import current_device

__all__ = ["Build", "Stack"]

Build = Callable[[], AttentionModel]
Task = Callable[..., Any]

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.RNNBase)


class _Bound(nn.Module):
    """A module whose call runs any task on the model, so that the task sees swapped parameters."""

    def __init__(self, model: AttentionModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, task: Task, *args: Any) -> Any:
        return task(self.model, *args)


class Stack:
    """S models of one architecture with their parameters in the rows of one matrix.

    Members whose networks are matrix products run together under ``vmap``. Convolutions run one
    member after another: stacked they become grouped convolutions, on a CPU three times as slow.

    Args:
        builds: A function that makes the model, or one per member (equal architectures).
        seeds: The seed of each member, which decides its initial weights.
        dtype: Number type of parameters and activations.
        device: Where they are; :func:`~foveate.settings.current_device` unless given. Initial
            weights are drawn on the CPU.
    """

    def __init__(
        self,
        builds: Build | Sequence[Build],
        seeds: Sequence[int],
        dtype: torch.dtype = torch.float32,
        device: torch.device | None = None,
    ) -> None:
        _keep_freed_memory()
        self.device = current_device() if device is None else device
        if self.device.type == "mps" and dtype == torch.float64:
            raise FoveateError("the device mps has no float64: use float32, or the device cpu")
        each_build = [builds] * len(seeds) if callable(builds) else list(builds)
        models = [
            _built(build, seed).to(dtype) for build, seed in zip(each_build, seeds, strict=True)
        ]
        self.dtype, self.seeds = dtype, tuple(seeds)
        self.model = models[0].to(self.device)
        self._bound = _Bound(self.model)
        self._shapes = {k: p.shape for k, p in self.model.named_parameters()}
        if any({k: p.shape for k, p in m.named_parameters()} != self._shapes for m in models):
            raise FoveateError("models of one stack must have the same parameters")
        self.flat = torch.stack([_flattened(model).to(self.device) for model in models])
        names = [k for k, _ in self.model.named_buffers()]
        self.buffers = {
            k: torch.stack([dict(m.named_buffers())[k].to(self.device) for m in models])
            for k in names
        }
        kinds = [type(module) for module in self.model.modules()]
        self.together = not any(issubclass(kind, CONVOLUTIONS) for kind in kinds)
        self.draws = any(issubclass(kind, nn.Dropout) for kind in kinds)
        self.mixes_rows = any(issubclass(kind, nn.modules.batchnorm._BatchNorm) for kind in kinds)

    def __len__(self) -> int:
        return len(self.flat)

    def on(self, device: torch.device) -> "Stack":
        """The same members on a device; this stack if it is there already."""
        if device == self.device:
            return self
        stack = copy.copy(self)
        stack.device, stack.flat = device, self.flat.to(device)
        stack.buffers = {k: v.to(device) for k, v in self.buffers.items()}
        stack.model = copy.deepcopy(self.model).to(device)
        stack._bound = _Bound(stack.model)
        return stack

    def run(
        self, task: Task, *args: Any, flat: Tensor | None = None, members: Tensor | None = None
    ) -> Any:
        """``task(model, *args)`` for every member, results stacked.

        Args:
            task: Called once under ``vmap`` or once per member.
            args: Tensors with a leading axis of members, named tuples of them, and other things,
                which all members share.
            flat: Parameters to use instead of those of the stack, shape (S', P).
            members: Which members run; ``args`` have their rows only. None for all.
        """
        flat = self._rows(members) if flat is None else flat
        with self._member_buffers(members) as buffers:
            if self.together and len(flat) > 1:
                dims = (0, 0, *(_axes(arg) for arg in args))
                call = partial(self._call, task)
                randomness = "different" if self.draws else "error"
                return vmap(call, in_dims=dims, randomness=randomness)(flat, buffers, *args)
            return _stacked([self._one(task, i, flat[i], buffers, args) for i in range(len(flat))])

    def gradients(
        self, task: Task, *args: Any, members: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The scalar ``task(model, *args)`` of every member and its gradient, (S',) and (S', P).

        Without ``vmap`` the graph of a member is freed before that of the next one is built, and a
        task that recomputes in the backward pass uses the parameters of its member.
        """
        flat = self._rows(members).detach()
        if self.together and len(flat) > 1:
            flat.requires_grad_()
            losses = self.run(task, *args, flat=flat, members=members)
            return losses.detach(), torch.autograd.grad(losses.sum(), flat)[0]

        def with_gradient(row: Tensor) -> Task:
            def both(model: AttentionModel, *inputs: Any) -> tuple[Tensor, Tensor]:
                loss = task(model, *inputs)
                return loss.detach(), torch.autograd.grad(loss, row)[0]

            return both

        rows = [row.requires_grad_() for row in flat.unbind()]
        with self._member_buffers(members) as buffers:
            pairs = [
                self._one(with_gradient(row), i, row, buffers, args) for i, row in enumerate(rows)
            ]
        losses, grads = zip(*pairs, strict=True)
        return torch.stack(losses), torch.stack(grads)

    def _call(self, task: Task, row: Tensor, buffers: dict[str, Tensor], *inputs: Any) -> Any:
        state = {f"model.{k}": v for k, v in (self.unflatten(row) | buffers).items()}
        return functional_call(self._bound, state, (task, *inputs), tie_weights=False)

    def _one(
        self, task: Task, i: int, row: Tensor, buffers: dict[str, Tensor], args: tuple[Any, ...]
    ) -> Any:
        inputs = [_row(arg, _axes(arg), i) for arg in args]
        return self._call(task, row, {k: v[i] for k, v in buffers.items()}, *inputs)

    def _rows(self, members: Tensor | None) -> Tensor:
        return self.flat if members is None else self.flat[members]

    @contextmanager
    def _member_buffers(self, members: Tensor | None) -> Iterator[dict[str, Tensor]]:
        """The members' buffers; changes by training are written back."""
        if members is None:
            yield self.buffers
            return
        part = {k: v[members] for k, v in self.buffers.items()}
        yield part
        for k, v in part.items():
            self.buffers[k][members] = v

    def unflatten(self, flat: Tensor) -> dict[str, Tensor]:
        """Named parameters from rows of the matrix, shape (…, P) → (…, *shape)."""
        sizes = [shape.numel() for shape in self._shapes.values()]
        parts = flat.split(sizes, -1)
        return {
            k: part.reshape(part.shape[:-1] + shape)
            for (k, shape), part in zip(self._shapes.items(), parts, strict=True)
        }

    def tensors(self) -> dict[str, Tensor]:
        """All parameters and buffers by name on the CPU, each with a leading axis of members."""
        return {
            k: v.detach().contiguous().cpu()
            for k, v in (self.unflatten(self.flat) | self.buffers).items()
        }

    def load(self, tensors: dict[str, Tensor]) -> None:
        """Load what :meth:`tensors` returned."""
        expected = {k: tuple(v.shape) for k, v in self.tensors().items()}
        shapes = {k: tuple(v.shape) for k, v in tensors.items()}
        if expected != shapes:
            odd = sorted(k for k in expected | shapes if expected.get(k) != shapes.get(k))
            raise FoveateError(f"weights do not fit the model: {', '.join(odd[:3])}")
        flat = torch.cat([tensors[k].flatten(1) for k in self._shapes], 1)
        self.flat = flat.to(self.device, self.dtype)
        self.buffers = {k: tensors[k].clone().to(self.device) for k in self.buffers}

    def state(self) -> dict[str, Tensor]:
        """A copy of the parameters and buffers, to continue from."""
        buffers = {f"buffers/{k}": v.clone() for k, v in self.buffers.items()}
        return {"flat": self.flat.clone(), **buffers}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Load what :meth:`state` returned; other entries are ignored."""
        expected = {k: v.shape for k, v in self.state().items()}
        if any(k not in state or state[k].shape != shape for k, shape in expected.items()):
            raise FoveateError("the checkpoint is of another model or another number of seeds")
        self.flat = state["flat"].to(self.device)
        self.buffers = {k: state[f"buffers/{k}"].to(self.device) for k in self.buffers}

    def member(self, i: int) -> AttentionModel:
        """Member ``i`` as a separate model on the CPU."""
        model = copy.deepcopy(self.model).cpu()
        model.load_state_dict({k: v[i] for k, v in self.tensors().items()})
        return model.eval()


def _built(build: Build, seed: int) -> AttentionModel:
    """A model whose initial weights depend on the seed only; the global generator is unchanged."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return build()


def _keep_freed_memory() -> None:
    """Let glibc cache up to 64 MB of freed memory between steps.

    It returns memory beyond twice the largest block freed so far to the system, and requesting it
    again, page by page, can take a third of a step. This is the largest block that counts; nothing
    is written into it, so it costs nothing.
    """
    torch.empty(2**25 - 2**16, dtype=torch.uint8)


def _flattened(model: nn.Module) -> Tensor:
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def _axes(arg: Any) -> Any:
    """The axis of members in an argument: 0 for tensors, None for other values."""
    if isinstance(arg, tuple) and hasattr(arg, "_fields"):
        return type(arg)(*(_axes(part) for part in arg))
    return 0 if isinstance(arg, Tensor) else None


def _row(arg: Any, axis: Any, i: int) -> Any:
    if isinstance(arg, tuple) and hasattr(arg, "_fields"):
        return type(arg)(*(_row(part, dim, i) for part, dim in zip(arg, axis, strict=True)))
    return arg if axis is None else arg[i]


def _stacked(results: list[Any]) -> Any:
    if isinstance(results[0], tuple):
        parts = [_stacked(list(part)) for part in zip(*results, strict=True)]
        kind = type(results[0])
        return kind(*parts) if hasattr(kind, "_fields") else tuple(parts)
    return None if results[0] is None else torch.stack(results)
