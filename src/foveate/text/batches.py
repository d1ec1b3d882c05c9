"""Labelled texts, batch by batch."""

from torch import Tensor

from foveate.text.tokens import Epochs, Tokens

__all__ = ["Batches"]


class Batches:
    """Texts and labels of every step, in an order determined by ``name`` and the step.

    Args:
        tokens: Training texts.
        y: Their labels, shape (n,).
        size: Texts per batch.
        name: Name of the random stream.
    """

    def __init__(self, tokens: Tokens, y: Tensor, size: int, *name: str | int) -> None:
        self.tokens, self.y = tokens, y
        self.epochs = Epochs(tokens.lengths, size, "order", *name)

    def at(self, step: int) -> tuple[Tensor, Tensor, Tensor]:
        """Ids, mask and labels of step 1, 2, …"""
        rows = self.epochs.rows(step)
        return *self.tokens.padded(rows), self.y[rows]
