"""Optimisers over stacked members: one matrix of parameters, one row per member.

The arithmetic is that of torch.optim, which has no learning rate and step count per row and cannot
reset or pause some rows.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from foveate.errors import FoveateError

__all__ = ["OPTIMIZERS", "StackedOptimizer"]

State = dict[str, Tensor]
Update = Callable[[Tensor, Tensor, State, Tensor, "Settings"], None]


@dataclass(frozen=True)
class Settings:
    """Hyper-parameters shared by all members."""

    momentum: float = 0.9
    weight_decay: float = 0.0
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8


@dataclass
class StackedOptimizer:
    """Updates the rows of a matrix in place.

    Args:
        name: "sgd", "adam" or "adamw".
        lr: Learning rate of each member, shape (S,).
        width: Number of parameters P of a member.
        settings: Momentum, weight decay and the like.
    """

    name: str
    lr: Tensor
    width: int
    settings: Settings = field(default_factory=Settings)
    state: State = field(init=False)
    _rates: Tensor = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.name not in OPTIMIZERS:
            raise FoveateError(
                f"optimizer must be one of {', '.join(OPTIMIZERS)}, got '{self.name}'"
            )
        state_tensors = {
            k: self.lr.new_zeros(len(self.lr), self.width) for k in STATE_NAMES[self.name]
        }
        self.state = {"steps": self.lr.new_zeros(len(self.lr), 1), **state_tensors}
        self._rates = self.lr[:, None]

    def step(self, flat: Tensor, grad: Tensor, members: Tensor | None = None) -> None:
        """Move the rows of ``flat`` (S, P) against ``grad``; only ``members`` where given."""
        update = OPTIMIZERS[self.name]
        if members is None:
            update(flat, grad, self.state, self._rates, self.settings)
            return
        part, state = flat[members], {k: v[members] for k, v in self.state.items()}
        update(part, grad[members], state, self.lr[members, None], self.settings)
        flat[members] = part
        for k, v in state.items():
            self.state[k][members] = v

    def restart(self, members: Tensor) -> None:
        """Reset the state of some members."""
        for value in self.state.values():
            value[members] = 0


def _sgd(flat: Tensor, grad: Tensor, state: State, lr: Tensor, settings: Settings) -> None:
    if settings.weight_decay:
        grad = grad + settings.weight_decay * flat
    momentum = torch.add(grad, state["momentum"], alpha=settings.momentum, out=state["momentum"])
    flat.addcmul_(lr, momentum, value=-1)


def _adam(flat: Tensor, grad: Tensor, state: State, lr: Tensor, settings: Settings) -> None:
    if settings.weight_decay:
        grad = grad + settings.weight_decay * flat
    b1, b2 = settings.betas
    state["steps"] += 1
    state["mean"].lerp_(grad, 1 - b1)
    state["square"].mul_(b2).addcmul_(grad, grad, value=1 - b2)
    scale = lr / (1 - b1 ** state["steps"])
    # The root of an exact zero takes fifteen times as long as that of the smallest number, which
    # is as good: eps is far above both.
    spread = state["square"].clamp_min(torch.finfo(flat.dtype).tiny).sqrt_()
    spread.div_((1 - b2 ** state["steps"]).sqrt()).add_(settings.eps)
    flat.sub_((state["mean"] / spread).mul_(scale))


def _adamw(flat: Tensor, grad: Tensor, state: State, lr: Tensor, settings: Settings) -> None:
    flat.mul_(1 - lr * settings.weight_decay)
    _adam(flat, grad, state, lr, Settings(settings.momentum, 0.0, settings.betas, settings.eps))


OPTIMIZERS: dict[str, Update] = {"sgd": _sgd, "adam": _adam, "adamw": _adamw}
STATE_NAMES = {"sgd": ("momentum",), "adam": ("mean", "square"), "adamw": ("mean", "square")}
