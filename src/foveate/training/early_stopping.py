"""Stopping early: the weights of each member's best validation epoch, and who waited too long."""

from collections.abc import Mapping

import torch
from torch import Tensor

__all__ = ["EarlyStopping"]


class EarlyStopping:
    """Keeps what each of S members was when it did best.

    Args:
        epochs: Epochs without a lower loss after which a member stops.
        weights: Weights and buffers by name, each with a leading axis of members.
        dtype: Number type of losses.
    """

    def __init__(self, epochs: int, weights: Mapping[str, Tensor], dtype: torch.dtype) -> None:
        self.epochs, self.kept = epochs, dict(weights)
        size = len(next(iter(weights.values())))
        self.best = torch.full((size,), torch.inf, dtype=dtype)
        self.since = torch.zeros(size, dtype=torch.long)

    def goes_on(self, loss: Tensor, active: Tensor, weights: Mapping[str, Tensor]) -> Tensor:
        """Take note of an epoch, and say which members have not waited too long, shape (S,).

        Args:
            loss: Validation loss of each member, shape (S,).
            active: Which members have not stopped, shape (S,).
            weights: Their weights and buffers as they are now.
        """
        better = (loss < self.best) & active
        self.best = torch.where(better, loss, self.best)
        self.since = torch.where(better, 0, self.since + 1)
        for name, value in weights.items():
            self.kept[name][better] = value[better]
        return self.since < self.epochs

    def restart(self, members: Tensor) -> None:
        """Forget what some members (S,) have reached: from here on they lower another loss."""
        self.best = torch.where(members, torch.inf, self.best)
        self.since = torch.where(members, 0, self.since)

    def state(self) -> dict[str, Tensor]:
        """All that coming epochs depend on."""
        kept = {f"kept/{name}": value for name, value in self.kept.items()}
        return {"best": self.best, "since": self.since, **kept}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Take over what :meth:`state` gave; ``state`` may hold other things too."""
        self.best, self.since = state["best"], state["since"]
        self.kept = {name: state[f"kept/{name}"] for name in self.kept}
