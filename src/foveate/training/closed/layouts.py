r"""The segments of a batch in the memory layout in which they are computed.

Three layouts provide the same operations: ``Columns`` for segments of few numbers, ``Rows`` for
long ones, ``Banked`` for bags that share the rows of a bank. Values per segment have the shape
(S, m, B) or (S, B, m); ``axis`` is the axis of segments. With segments :math:`x_j` and attention
:math:`\alpha_j` the mixture is :math:`\tilde x = \sum_j \alpha_j x_j`, hence
:math:`\partial\ell/\partial\alpha_j = x_j \cdot \partial\ell/\partial\tilde x`.
"""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import torch
from torch import Tensor

from foveate.bags.segments import Segments, shared_bank, stored
from foveate.training.closed.networks import Memory

__all__ = ["Banked", "Layout", "Loaded", "bank_and_index", "layout_of"]


class Loaded(NamedTuple):
    """The segments of one step.

    Args:
        inputs: Segments as the networks read them, shape (S, d, columns).
        rows: The same transposed, shape (S, columns, d).
        x: Segments in the layout, or the rows of the bank.
        index: Column of every segment, shape (S, B · m); None where each has its own.
        bank_rows: Row of the bank of every segment, counted through all members.
        ids: Identifiers of the rows of the bank, shape (S, columns), where a table has the rows.
    """

    inputs: Tensor
    rows: Tensor
    x: Tensor
    index: Any = None  # Tensor | None; hides tuple.index
    bank_rows: Any = None  # Tensor | None
    ids: Any = None  # Tensor | None


class Layout(ABC):
    """Buffers for batches of one shape: attention, and gradients with respect to it and to scores.

    Args:
        x: Batches of this shape, with a leading axis of steps.
        memory: Where results are stored.
        d: Numbers of a segment as the networks read it; those of ``x`` unless given.
    """

    axis: int
    input_grad: Tensor | None = None
    """Where the classifier writes the gradient with respect to ``inputs``, if that is needed."""
    focus_input_grad: Tensor | None = None
    """Where the focus network writes its part of that gradient."""

    def __init__(self, x: Segments, memory: Memory, d: int | None = None) -> None:
        self.members, self.bags, m = _leading_shape(x)
        self.d = _width(x) if d is None else d
        self.shape = (self.members, *((m, self.bags) if self.axis == 1 else (self.bags, m)))
        self.columns = self.bags * m  # inputs of the networks
        self.alpha = memory.of("alpha", *self.shape)
        self.alpha_grad = memory.of("alpha gradient", *self.shape)
        self.scores_grad = memory.of("scores gradient", *self.shape)
        self._column_grad = self.scores_grad.view(self.members, 1, -1)

    mixture: Tensor  # shape (S, d, B)
    mixture_grad: Tensor  # shape (S, d, B)

    def attach(self, output: Tensor) -> None:
        """Set where f writes its outputs, shape (S, 1, columns)."""
        self.scores = output.view(self.shape)

    def read_scores(self, step: Loaded) -> Tensor:
        """The scores of all segments, from the outputs of f."""
        return self.scores

    def column_grad(self, step: Loaded) -> Tensor:
        """``scores_grad`` summed over the segments that read a column, shape (S, 1, columns)."""
        return self._column_grad

    @abstractmethod
    def load(self, x: Segments) -> list[Loaded]:
        """The segments of each step."""

    def prepare(self, step: Loaded) -> None:  # noqa: B027
        """Called before a step is computed, with the parameters of that step."""

    def write_input_grad(self, step: Loaded) -> None:  # noqa: B027
        """``input_grad`` from ``mixture_grad``, where it is needed."""

    def finish(self, step: Loaded) -> None:  # noqa: B027
        """Called after both networks have written their gradients."""

    @abstractmethod
    def mix(self, step: Loaded) -> Tensor:
        """The mixture of every bag by ``alpha``, shape (S, d, B)."""

    @abstractmethod
    def write_alpha_grad(self, step: Loaded) -> Tensor:
        """``alpha_grad`` from ``mixture_grad``."""

    @abstractmethod
    def cells(self, y: Tensor, step: Loaded) -> Tensor:
        """Cell of each segment's label in an array (S, C · columns), for labels y (S, B)."""

    def by_bag(self, values: Tensor) -> Tensor:
        """Values of bags (S, B) in a shape that broadcasts over their segments."""
        return values.unsqueeze(self.axis)

    def arranged(self, values: Tensor) -> Tensor:
        """Values (…, B, m) in the order of axes of this layout."""
        return values if self.axis == 2 else values.mT


class Columns(Layout):
    """Segments (S, d, m, B): vectorised along the bags."""

    axis = 1

    def __init__(self, x: Segments, memory: Memory) -> None:
        super().__init__(x, memory)
        S, m, B = self.shape
        self._products = memory.of("products", S, self.d, m, B)
        self._pair = self._products.unbind(1) if self.d == 2 else None
        self._spread_alpha = self.alpha.unsqueeze(1)
        self.mixture = memory.of("mixture", S, self.d, B)
        self.mixture_grad = memory.of("mixture gradient", S, self.d, B)
        self._spread_grad = self.mixture_grad.unsqueeze(2)
        self._positions = torch.arange(m * B, device=self.alpha.device).view(m, B)
        self._source: tuple[object, ...] | None = None
        self._steps: list[Loaded] = []

    def load(self, x: Segments) -> list[Loaded]:
        rows = stored(x)
        source = rows.data_ptr(), rows.shape, rows.stride()
        if source == self._source:  # batches that were written into the same memory
            return self._steps
        transposed = rows.flatten(4).permute(0, 1, 4, 3, 2)
        inputs = transposed.flatten(3)
        parts = zip(inputs.unbind(), inputs.mT.unbind(), transposed.unbind(), strict=True)
        self._steps = [Loaded(*part) for part in parts]
        self._source = source if inputs.data_ptr() == rows.data_ptr() else None  # views only
        return self._steps

    def mix(self, step: Loaded) -> Tensor:
        torch.mul(self._spread_alpha, step.x, out=self._products)
        return torch.sum(self._products, 2, out=self.mixture)

    def write_alpha_grad(self, step: Loaded) -> Tensor:
        torch.mul(self._spread_grad, step.x, out=self._products)
        if self._pair is not None:  # the same sum in half the time
            return torch.add(*self._pair, out=self.alpha_grad)
        return torch.sum(self._products, 1, out=self.alpha_grad)

    def cells(self, y: Tensor, step: Loaded) -> Tensor:
        return ((y * self.columns).unsqueeze(1) + self._positions).flatten(1)


class Rows(Layout):
    """Segments (S, B, m, d): vectorised along the numbers of a segment."""

    axis = 2

    def __init__(self, x: Segments, memory: Memory, d: int | None = None) -> None:
        super().__init__(x, memory, d)
        (S, B, m), d = self.shape, self.d
        rows, grad_rows = (memory.of(name, S * B, 1, d) for name in ("mixture", "mixture gradient"))
        self._mixture_rows, self._mixture_grad_rows = rows, grad_rows
        self.mixture, self.mixture_grad = rows.view(S, B, d).mT, grad_rows.view(S, B, d).mT
        self._alpha_rows = self.alpha.view(S * B, 1, m)
        self._alpha_grad_rows = self.alpha_grad.view(S * B, 1, m)
        self._positions = torch.arange(B * m, device=self.alpha.device).view(B, m)

    def load(self, x: Segments) -> list[Loaded]:
        S, B, m = self.shape
        rows = [part.reshape(S, B * m, self.d) for part in stored(x)]
        return [Loaded(part.mT, part, part.view(S * B, m, self.d)) for part in rows]

    def mix(self, step: Loaded) -> Tensor:
        torch.bmm(self._alpha_rows, step.x, out=self._mixture_rows)
        return self.mixture

    def write_alpha_grad(self, step: Loaded) -> Tensor:
        torch.bmm(self._mixture_grad_rows, step.x.mT, out=self._alpha_grad_rows)
        return self.alpha_grad

    def cells(self, y: Tensor, step: Loaded) -> Tensor:
        return ((y * self.columns).unsqueeze(2) + self._positions).flatten(1)


class Banked(Rows):
    """Segments that are rows of a bank (S, N, d), with an index (S, B, m).

    The networks read each row of the bank once; its gradient is the sum over its segments.
    """

    def __init__(self, x: Segments, memory: Memory, d: int | None = None) -> None:
        super().__init__(x, memory, d)
        (S, B, m), bank = self.shape, bank_and_index(x)[0]
        self.columns = bank.shape[2]
        self.scores = memory.of("gathered scores", S, B, m)
        self._sums = memory.of("sums of columns", S, self.columns)
        self._gathered = memory.of("gathered rows", S * B * m, self.d)
        self._offsets = torch.arange(0, S * B * m, m, device=bank.device)
        self._first = self.columns * torch.arange(S, device=bank.device).view(S, 1)

    def attach(self, output: Tensor) -> None:
        self._outputs = output[:, 0]

    def read_scores(self, step: Loaded) -> Tensor:
        torch.gather(self._outputs, 1, step.index, out=self.scores.view(self.members, -1))
        return self.scores

    def column_grad(self, step: Loaded) -> Tensor:
        sums = self._sums.zero_().scatter_add_(1, step.index, self.scores_grad.flatten(1))
        return sums.unsqueeze(1)

    def load(self, x: Segments) -> list[Loaded]:
        banks, indices = bank_and_index(x)
        steps = []
        for bank, index in zip(banks.flatten(3), indices.flatten(2), strict=True):
            shared = bank.stride(0) == 0  # one bank for all members
            rows = index if shared else index + self._first
            flat = (bank[0] if shared else bank).reshape(-1, self.d)
            steps.append(Loaded(bank.mT, bank, flat, index, rows.flatten()))
        return steps

    def mix(self, step: Loaded) -> Tensor:
        mixed = torch.ops.aten._embedding_bag_forward_only(
            step.x, step.bank_rows, self._offsets, False, 0, False, self.alpha.flatten()
        )[0]
        self._mixture_rows.copy_(mixed.unsqueeze(1))
        return self.mixture

    def write_alpha_grad(self, step: Loaded) -> Tensor:
        rows = torch.index_select(step.x, 0, step.bank_rows, out=self._gathered)
        of_bags = rows.view(-1, self.shape[2], self.d)
        torch.bmm(self._mixture_grad_rows, of_bags.mT, out=self._alpha_grad_rows)
        return self.alpha_grad

    def cells(self, y: Tensor, step: Loaded) -> Tensor:
        return ((y * self.columns).unsqueeze(2) + step.index.view(self.shape)).flatten(1)


def _leading_shape(x: Segments) -> tuple[int, int, int]:
    """Number of members, bags and segments of batches (steps, S, B, m, *)."""
    shared = shared_bank(x)
    S, B, m = (stored(x) if shared is None else shared.index).shape[1:4]
    return S, B, m


def _width(x: Segments) -> int:
    """Numbers of a segment of batches (steps, S, B, m, *)."""
    shared = shared_bank(x)
    return (stored(x).shape[4:] if shared is None else shared.bank.shape[3:]).numel()


def bank_and_index(x: Segments) -> tuple[Tensor, Tensor]:
    """Bank and index of batches that refer to a bank."""
    shared = shared_bank(x)
    assert shared is not None
    return shared.bank, shared.index


def layout_of(x: Segments) -> type[Layout]:
    """The layout for batches with a leading axis of steps, from their form and strides."""
    if shared_bank(x) is not None:
        return Banked
    rows = stored(x)
    return Columns if rows.stride(2) == 1 and rows.shape[2] > 1 else Rows
