"""Segments that are rows of a table of the model's parameters, such as word vectors."""

import torch
from torch import Tensor

from foveate.bags.segments import Segments
from foveate.training.closed.layouts import Banked, Loaded, bank_and_index
from foveate.training.closed.networks import Memory

__all__ = ["Embedded"]


class Embedded(Banked):
    """Segments that are rows of a table, with their ids once each (S, N) and an index (S, B, m).

    The rows are looked up before every step, since every step changes them.

    Args:
        x: Batches of this shape, with a leading axis of steps.
        memory: Where results are stored.
        table: The table of every member, shape (S, rows, d).
        grad: Where its gradient is written, same shape.
    """

    def __init__(self, x: Segments, memory: Memory, table: Tensor, grad: Tensor) -> None:
        super().__init__(x, memory, table.shape[2])
        S, B, _ = self.shape
        self._table, self._table_grad = table.unbind(), grad.unbind()
        self._rows = memory.of("looked-up rows", S, self.columns, self.d)
        self._weights = memory.of("attention of rows", S, B, self.columns)
        self._products = memory.of("products with rows", S, B, self.columns)
        self.input_grad = memory.of("input gradient", S, self.d, self.columns)
        self.focus_input_grad = memory.of("input gradient of f", S, self.d, self.columns)

    def load(self, x: Segments) -> list[Loaded]:
        ids, indices = bank_and_index(x)
        return [
            Loaded(
                self._rows.mT,
                self._rows,
                self._rows.flatten(0, 1),
                index,
                (index + self._first).flatten(),
                member_ids,
            )
            for member_ids, index in zip(ids, indices.flatten(2), strict=True)
        ]

    def prepare(self, step: Loaded) -> None:
        for table, ids, rows in zip(self._table, step.ids, self._rows, strict=True):
            torch.index_select(table, 0, ids, out=rows)

    def mix(self, step: Loaded) -> Tensor:
        """The mixture as a product of matrices, from the attention on each row of the bank."""
        weights = self._weights.zero_().scatter_add_(2, self._index(step), self.alpha)
        torch.bmm(weights, self._rows, out=self.mixture.mT)
        return self.mixture

    def write_alpha_grad(self, step: Loaded) -> Tensor:
        torch.bmm(self.mixture_grad.mT, self._rows.mT, out=self._products)
        return torch.gather(self._products, 2, self._index(step), out=self.alpha_grad)

    def write_input_grad(self, step: Loaded) -> None:
        """Row u gets the sum of α times the gradient of the mixture over the segments it is."""
        torch.bmm(self.mixture_grad, self._weights, out=self.input_grad)

    def _index(self, step: Loaded) -> Tensor:
        index: Tensor = step.index.view(self.shape)
        return index

    def finish(self, step: Loaded) -> None:
        """Write the gradient of the table, which is 0 in the rows that are not looked up."""
        assert self.input_grad is not None
        assert self.focus_input_grad is not None
        total = self.input_grad.add_(self.focus_input_grad).mT
        # Ids rise up to the padding, which repeats the first one.
        counts = (step.ids.diff() > 0).sum(1).add_(1).tolist()
        for grad, ids, rows, count in zip(self._table_grad, step.ids, total, counts, strict=True):
            grad.zero_().index_copy_(0, ids[:count], rows[:count])
