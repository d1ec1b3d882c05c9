"""Early stopping: the weights of the best validation epoch of each member."""

from collections.abc import Mapping

import torch
from torch import Tensor

__all__ = ["EarlyStopping"]


class EarlyStopping:
    """Stores the weights of each of S members at its lowest validation loss.

    Args:
        epochs: Epochs without a lower loss after which a member stops.
        weights: Weights and buffers by name, each with a leading axis of members.
        dtype: Number type of losses.
    """

    def __init__(self, epochs: int, weights: Mapping[str, Tensor], dtype: torch.dtype) -> None:
        self.epochs, self.best_weights = epochs, dict(weights)
        first = next(iter(weights.values()))
        self.best = first.new_full((len(first),), torch.inf, dtype=dtype)
        self.since = first.new_zeros(len(first), dtype=torch.long)

    def update(self, loss: Tensor, active: Tensor, weights: Mapping[str, Tensor]) -> Tensor:
        """Record an epoch and return which members continue training, shape (S,).

        Args:
            loss: Validation loss of each member, shape (S,).
            active: Which members have not stopped, shape (S,).
            weights: Their current weights and buffers.
        """
        better = (loss < self.best) & active
        self.best = torch.where(better, loss, self.best)
        self.since = torch.where(better, 0, self.since + 1)
        for name, value in weights.items():
            self.best_weights[name][better] = value[better]
        return self.since < self.epochs

    def restart(self, members: Tensor) -> None:
        """Reset the best loss of some members (S,), whose loss changes with a new phase."""
        self.best = torch.where(members, torch.inf, self.best)
        self.since = torch.where(members, 0, self.since)

    def state(self) -> dict[str, Tensor]:
        """The state to store in a checkpoint."""
        weights = {f"kept/{name}": value for name, value in self.best_weights.items()}
        return {"best": self.best, "since": self.since, **weights}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Load what :meth:`state` returned; other entries are ignored."""
        device = self.best.device
        self.best, self.since = state["best"].to(device), state["since"].to(device)
        self.best_weights = {name: state[f"kept/{name}"].to(device) for name in self.best_weights}
