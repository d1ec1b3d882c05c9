"""Batches of a training that can go on from any step."""

from torch import Tensor

from foveate.randomness import generator
from foveate.tokens import Tokens, batches

__all__ = ["Batches"]


class Batches:
    """The batch of every step, which name, seed and step alone decide: epochs in random order.

    Args:
        tokens: Texts to learn from.
        y: Their labels, shape (n,).
        size: Texts to a batch.
        name: What the order is named by.
    """

    def __init__(self, tokens: Tokens, y: Tensor, size: int, *name: str | int) -> None:
        self.tokens, self.y, self.size, self.name = tokens, y, size, name
        self._epoch, self._order = -1, list[Tensor]()

    @property
    def per_epoch(self) -> int:
        """Steps that go once through the texts."""
        return -(-len(self.tokens) // self.size)

    def at(self, step: int) -> tuple[Tensor, Tensor, Tensor]:
        """Ids, mask and labels of step 1, 2, …"""
        epoch, place = divmod(step - 1, self.per_epoch)
        if epoch != self._epoch:
            chance = generator("order", *self.name, epoch)
            self._order = batches(self.tokens.lengths, self.size, chance)
            self._epoch = epoch
        rows = self._order[place]
        return *self.tokens.padded(rows), self.y[rows]
