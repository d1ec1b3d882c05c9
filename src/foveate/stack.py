"""Stacks: many models of one architecture, and the bags of each, run as one program."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from math import prod
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from foveate.bag import Bag
from foveate.errors import FoveateError
from foveate.models.focus import AttentionModel
from foveate.segments import Mosaics, Segments, as_input, rows_at

__all__ = ["Batch", "Build", "Pile", "Stack"]

Build = Callable[[], AttentionModel]
Task = Callable[..., Any]

SMALL_BANK = 2**26  # numbers: 256 MB in single precision
NARROW = 16  # numbers of a segment: below, no kernel runs well along it
LARGE = 2**22  # numbers of a batch: above, getting memory takes longer than filling it


class Batch(NamedTuple):
    """The bags of one step, with a leading axis of members (inside a task: without it).

    ``aux`` is what the paradigm asked for; parts that are not there are None.
    """

    x: Segments
    y: Tensor
    z: Tensor | None = None
    mask: Tensor | None = None
    aux: Tensor | None = None


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
    """

    def __init__(
        self,
        builds: Build | Sequence[Build],
        seeds: Sequence[int],
        dtype: torch.dtype = torch.float32,
    ) -> None:
        _keep_freed_memory()
        each_build = [builds] * len(seeds) if callable(builds) else list(builds)
        models = [
            _built(build, seed).to(dtype) for build, seed in zip(each_build, seeds, strict=True)
        ]
        self.dtype, self.seeds = dtype, tuple(seeds)
        self.model = models[0]
        self._bound = _Bound(self.model)
        self._shapes = {k: p.shape for k, p in self.model.named_parameters()}
        if any({k: p.shape for k, p in m.named_parameters()} != self._shapes for m in models):
            raise FoveateError("models of one stack must have the same parameters")
        self.flat = torch.stack([_flattened(model) for model in models])
        names = [k for k, _ in self.model.named_buffers()]
        self.buffers = {k: torch.stack([dict(m.named_buffers())[k] for m in models]) for k in names}
        kinds = [type(module) for module in self.model.modules()]
        self.together = not any(issubclass(kind, _CONVOLUTIONS) for kind in kinds)
        self.mixes_rows = any(issubclass(kind, nn.modules.batchnorm._BatchNorm) for kind in kinds)

    def __len__(self) -> int:
        return len(self.flat)

    def run(
        self, task: Task, *args: Any, flat: Tensor | None = None, members: Tensor | None = None
    ) -> Any:
        """``task(model, *args)`` for every member, results stacked.

        Args:
            task: Called once under ``vmap`` or once per member.
            args: Tensors with a leading axis of members, named tuples of them, and other things,
                which all members share.
            flat: Parameters to use in place of the stack's own, shape (S', P).
            members: Which members run; ``args`` have their rows only. None for all.
        """
        flat = self._rows(members) if flat is None else flat
        with self._own_buffers(members) as buffers:
            if self.together and len(flat) > 1:
                dims = (0, 0, *(_axes(arg) for arg in args))
                call = partial(self._call, task)
                return vmap(call, in_dims=dims, randomness="error")(flat, buffers, *args)
            return _stacked([self._one(task, i, flat[i], buffers, args) for i in range(len(flat))])

    def gradients(
        self, task: Task, *args: Any, members: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The scalar ``task(model, *args)`` of every member and its gradient, (S',) and (S', P).

        One member after another, each graph is gone before the next is made, and what a task
        computes again on the way back still sees the member's own parameters.
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
        with self._own_buffers(members) as buffers:
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
    def _own_buffers(self, members: Tensor | None) -> Iterator[dict[str, Tensor]]:
        """The members' buffers; what training changes in them is kept."""
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
        """All parameters and buffers by name, each with a leading axis of members."""
        return {
            k: v.detach().contiguous()
            for k, v in (self.unflatten(self.flat) | self.buffers).items()
        }

    def load(self, tensors: dict[str, Tensor]) -> None:
        """Take over what :meth:`tensors` gave."""
        expected = {k: tuple(v.shape) for k, v in self.tensors().items()}
        got = {k: tuple(v.shape) for k, v in tensors.items()}
        if expected != got:
            odd = sorted(k for k in expected | got if expected.get(k) != got.get(k))
            raise FoveateError(f"weights do not fit the model: {', '.join(odd[:3])}")
        self.flat = torch.cat([tensors[k].flatten(1) for k in self._shapes], 1).to(self.dtype)
        self.buffers = {k: tensors[k].clone() for k in self.buffers}

    def member(self, i: int) -> AttentionModel:
        """Member ``i`` as a model of its own."""
        import copy

        model = copy.deepcopy(self.model)
        model.load_state_dict({k: v[i] for k, v in self.tensors().items()})
        return model.eval()


class Pile:
    """The bags of all members: one set that all share, or one set each of the same size.

    Args:
        bags: One :class:`Bag` for all, or one per member.
        size: Number of members.
        dtype: Number type of floating-point segments.
    """

    def __init__(
        self, bags: Bag | Sequence[Bag], size: int, dtype: torch.dtype = torch.float32
    ) -> None:
        sets = [bags] if isinstance(bags, Bag) else list(bags)
        if all(bag is sets[0] for bag in sets):
            sets = sets[:1]
        if len(sets) not in (1, size) or any(bag.shape != sets[0].shape for bag in sets):
            raise FoveateError(
                f"{size} members need one set of bags each, of equal sizes, or one for all; "
                f"got {len(sets)} of sizes {sorted({bag.shape for bag in sets})}"
            )
        self.n, self.m = sets[0].shape
        self.size, self.shared = size, len(sets) == 1
        self.segment_shape = sets[0].segment_shape
        self._source = _source([bag.x for bag in sets], dtype)
        self.chunk: int | None = None
        self._room = _Room()
        self.y = torch.stack([bag.y for bag in sets])
        self.z = _joined([bag.z for bag in sets], "z")
        self.mask = _mask(sets)

    @property
    def reuses(self) -> bool:
        """Whether there is a bank that is smaller than the bags cut from it."""
        return isinstance(self._source, _Banks) and self._source.length < self.n * self.m

    def in_chunks(self, chunk: int) -> None:
        """Hand on no segments written out, but the bank, to be read a chunk at a time."""
        self.chunk = chunk
        if isinstance(self._source, _Dense):
            self._source = self._source.as_banks()

    def masks(self, rows: Tensor, members: Tensor) -> Tensor | None:
        """Which segments the bags at ``rows`` (S', B) of members have; None where all have m."""
        sets = torch.zeros_like(members) if self.shared else members
        return None if self.mask is None else _picked(self.mask, rows + self.n * sets[:, None])

    def batch(
        self,
        rows: Tensor,
        members: Tensor | None = None,
        aux: Tensor | None = None,
        *,
        whole: bool = True,
        with_z: bool = True,
        trim: bool = False,
        reuse: bool = False,
    ) -> Batch:
        """The bags at ``rows`` of each member.

        Args:
            rows: Shape (S, B), or (S', B) for the rows of ``members``.
            members: Whose bags; None for all.
            aux: Handed on.
            whole: Whether a bank smaller than the batch is handed on whole with an index.
            with_z: Whether the relevance is handed on.
            trim: Whether columns in which none of these bags has a segment are left out.
            reuse: Whether the last batch that was asked for so is done with; the segments of a
                large one then take its place in memory.
        """
        who = torch.arange(self.size) if members is None else members
        sets = torch.zeros_like(who) if self.shared else who
        at = rows + self.n * sets[:, None]
        mask = self.masks(rows, who)
        used = self.m
        if trim and mask is not None:
            used = int(mask.flatten(0, 1).any(0).nonzero()[-1]) + 1
            mask = mask[..., :used]
        room = self._room if reuse else None
        x = self._source.segments(sets, at, used, whole, self.chunk, room)
        z = _picked(self.z, at)[..., :used] if with_z and self.z is not None else None
        return Batch(x, _picked(self.y, at), z, mask, aux)


class _Dense:
    """Segments written out, one set of bags after another, shape (sets, n, m, *)."""

    def __init__(self, sets: list[Tensor], dtype: torch.dtype) -> None:
        self.x = _typed(_stack(sets), dtype)

    def segments(
        self,
        sets: Tensor,
        at: Tensor,
        used: int,
        whole: bool,
        chunk: int | None,
        room: "_Room | None",
    ) -> Segments:
        if used < self.x.shape[2]:
            return _laid_out(_picked(self.x[:, :, :used], at))
        if len(at) == 1 and room is None:  # to be read, in order as a rule: without a copy
            return _laid_out(rows_at(self.x.flatten(0, 1), at))
        return _laid_out(_picked(self.x, at, room))

    def as_banks(self) -> "_Banks":
        """The same bags, each segment a row of a bank."""
        n, m = self.x.shape[1:3]
        index = torch.arange(n * m).view(n, m)
        return _Banks([Mosaics(own.flatten(0, 1), index) for own in self.x], self.x.dtype)


class _Banks:
    """A bank for all sets, or one each, and the index of every bag."""

    def __init__(self, sets: list[Mosaics], dtype: torch.dtype) -> None:
        self.index = torch.stack([x.index for x in sets])
        self.own = not all(x.bank is sets[0].bank for x in sets)
        self.length = max(len(x.bank) for x in sets)
        banks = [_lengthened(x.bank, self.length) for x in (sets if self.own else sets[:1])]
        self.bank = _typed(_stack(banks), dtype)

    def segments(
        self,
        sets: Tensor,
        at: Tensor,
        used: int,
        whole: bool,
        chunk: int | None,
        room: "_Room | None",
    ) -> Segments:
        index = _picked(self.index, at)[..., :used]
        if chunk is not None or (whole and self.length < index[0].numel()):
            everyone = not self.own or len(sets) == len(self.bank)
            bank = self.bank if everyone else self.bank[sets]
            return Mosaics(bank.expand(len(sets), *bank.shape[1:]), index, chunk)
        banks = sets if self.own else torch.zeros_like(sets)
        if whole and not self.bank.is_floating_point() and self.bank.dtype != torch.uint8:
            return _once_each(self.bank, banks, index)
        return _laid_out(_picked(self.bank, index + self.length * banks[:, None, None], room))


class _Room:
    """Memory for the segments of one large batch after another.

    What is beyond the size that an allocator keeps is got from the system anew for every batch,
    page by page, which takes longer than to fill it.
    """

    def __init__(self) -> None:
        self._kept = torch.empty(0)

    def of(self, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        """Uninitialised numbers; what was in the room before is lost."""
        need = prod(shape)
        if self._kept.dtype != dtype or self._kept.numel() < need:
            self._kept = torch.empty(need, dtype=dtype)
        return self._kept[:need].view(shape)


_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.RNNBase)


def _built(build: Build, seed: int) -> AttentionModel:
    """A model whose initial weights the seed decides, with the global generator left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return build()


def _keep_freed_memory() -> None:
    """Let glibc keep what a step frees for the next one, up to 64 MB.

    It gives back to the system what goes beyond twice the largest block that it saw freed, and
    getting it again, page by page, can take a third of a step. This is the largest block that
    counts; nothing is written into it, so it costs nothing.
    """
    torch.empty(2**25 - 2**16, dtype=torch.uint8)


def _flattened(model: nn.Module) -> Tensor:
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def _source(sets: list[Segments], dtype: torch.dtype) -> _Dense | _Banks:
    if all(isinstance(x, Tensor) and not isinstance(x, Mosaics) for x in sets):
        return _Dense([x for x in sets if isinstance(x, Tensor)], dtype)
    if not all(isinstance(x, Mosaics) for x in sets):
        raise FoveateError("the bags of all members must be written out, or all refer to a bank")
    return _Banks([x for x in sets if isinstance(x, Mosaics)], dtype)


def _stack(parts: list[Tensor]) -> Tensor:
    """``torch.stack``, without a copy of a single part."""
    return parts[0][None] if len(parts) == 1 else torch.stack(parts)


def _typed(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Bytes of a small set become numbers once; of a large one, where they are used."""
    if x.dtype != torch.uint8 and not x.is_floating_point():
        return x  # names of things, such as words
    small = x.numel() <= SMALL_BANK or dtype != torch.float32
    return as_input(x).to(dtype) if small else x


def _picked(sets: Tensor, at: Tensor, room: _Room | None = None) -> Tensor:
    """Rows of all sets (sets, n, *), counted through, at places (S, …): shape (S, …, *)."""
    rows, places = sets.flatten(0, 1), at.flatten()
    shape = (len(places), *rows.shape[1:])
    if room is None or prod(shape) < LARGE:
        return rows.index_select(0, places).unflatten(0, at.shape)
    filled = torch.index_select(rows, 0, places, out=room.of(shape, rows.dtype))
    return filled.unflatten(0, at.shape)


def _once_each(bank: Tensor, banks: Tensor, index: Tensor) -> Mosaics:
    """Bags of words (S, B, m) with a bank of the words that occur in them: most occur again."""
    found = [own.unique(return_inverse=True) for own in index]
    length = max(len(rows) for rows, _ in found)
    rows = torch.stack([_lengthened(rows, length) for rows, _ in found])
    return Mosaics(bank[banks[:, None], rows], torch.stack([place for _, place in found]))


def _laid_out(x: Tensor) -> Tensor:
    """Segments (S, B, m, *), those of a few numbers with the bags side by side in memory."""
    if x.dim() == 3 or x.shape[3:].numel() >= NARROW:
        return x
    turned = (0, *reversed(range(1, x.dim())))
    return x.permute(turned).contiguous().permute(turned)


def _lengthened(bank: Tensor, length: int) -> Tensor:
    """Banks of unequal length get rows that no index names."""
    if len(bank) == length:
        return bank
    return torch.cat([bank, bank[:1].expand(length - len(bank), *bank.shape[1:])])


def _mask(sets: list[Bag]) -> Tensor | None:
    if all(bag.mask is None for bag in sets):
        return None
    full = torch.ones(sets[0].shape, dtype=torch.bool)
    return torch.stack([full if bag.mask is None else bag.mask for bag in sets])


def _joined(parts: list[Tensor | None], name: str) -> Tensor | None:
    present = [part for part in parts if part is not None]
    if not present:
        return None
    if len(present) != len(parts):
        raise FoveateError(f"{name} must be known for the bags of all members or of none")
    return torch.stack(present)


def _axes(arg: Any) -> Any:
    """The axis of members in an argument: 0 in tensors, None in what is not one."""
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
