"""Paradigms around another one: its loss changed, its inference and its schedule kept."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from foveate.attention.likelihood import entropy
from foveate.attention.paradigms.contract import HOW_IT_READS, Aux, Paradigm, Progress
from foveate.bags.segments import Network, Segments
from foveate.errors import FoveateError

__all__ = ["WithClassWeights", "WithEntropy", "WithFocus", "Wrapper"]


class Wrapper(Paradigm):
    """Another paradigm with its loss changed; its inference and its schedule stay."""

    paradigm: Paradigm

    def __post_init__(self) -> None:
        for name in ("draws", "picks", "recalls", "fresh_optimizer", *HOW_IT_READS):
            object.__setattr__(self, name, getattr(self.paradigm, name))
        object.__setattr__(self, "needs_z", type(self).needs_z or self.paradigm.needs_z)

    @abstractmethod
    def transform_loss(self, loss: Tensor, alpha: Tensor, y: Tensor) -> Tensor:
        """The loss of each bag, from that of the paradigm inside, shape (B,)."""

    def rewrap(self, paradigm: Paradigm) -> Paradigm:
        """The same change around another paradigm."""
        return self if paradigm is self.paradigm else replace(self, paradigm=paradigm)  # type: ignore[type-var]

    def loss(self, alpha: Tensor, x: Segments, g: Network, y: Tensor, aux: Aux = None) -> Tensor:
        return self.transform_loss(self.paradigm.loss(alpha, x, g, y, aux), alpha, y)

    def relevance_loss(self, alpha: Tensor, z: Tensor | None) -> Tensor:
        return self.paradigm.relevance_loss(alpha, z)

    def log_prob(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        return self.paradigm.log_prob(alpha, x, g)

    def read(self, alpha: Tensor, x: Segments, g: Network, y: Tensor) -> tuple[Tensor, Tensor]:
        log_p, loss = self.paradigm.read(alpha, x, g, y)
        return log_p, self.transform_loss(loss, alpha, y)

    def remember(self, alpha: Tensor, x: Segments, g: Network, y: Tensor) -> Tensor:
        return self.paradigm.remember(alpha, x, g, y)

    def calls(self, m: int) -> int:
        return self.paradigm.calls(m)

    def objective(self) -> Paradigm:
        return self.rewrap(self.paradigm.objective())

    def phase(self, progress: Progress) -> Paradigm:
        return self.rewrap(self.paradigm.phase(progress))

    def reading(self, progress: Progress) -> Paradigm:
        return self.rewrap(self.paradigm.reading(progress))

    def in_final_phase(self, progress: Progress) -> bool:
        return self.paradigm.in_final_phase(progress)


@dataclass(frozen=True)
class WithEntropy(Wrapper):
    r"""Any paradigm with the entropy of its attention added to the loss.

    :math:`\ell + \lambda\,\mathrm{Ent}(\alpha)`, in nats, as in the text; the released code weighs
    :math:`(1-\lambda)\ell` against it. [pvr22] Sec. 5

    Args:
        paradigm: What is regularised.
        weight: λ; the released code has .005.
    """

    paradigm: Paradigm
    weight: float = 0.005

    def transform_loss(self, loss: Tensor, alpha: Tensor, y: Tensor) -> Tensor:
        return loss + self.weight * entropy(alpha)


@dataclass(frozen=True)
class WithClassWeights(Wrapper):
    r"""Any paradigm with the loss of a bag weighed by its class, :math:`w_y \ell`.

    Args:
        paradigm: What is weighed.
        weights: One a class, w_0 … w_{C−1}.
    """

    paradigm: Paradigm
    weights: tuple[float, ...]

    def transform_loss(self, loss: Tensor, alpha: Tensor, y: Tensor) -> Tensor:
        return loss * torch.tensor(self.weights, dtype=loss.dtype)[y]


@dataclass(frozen=True)
class WithFocus(Wrapper):
    r"""Any paradigm with known relevant segments supervised. Reads z, by name.

    :math:`\ell - \lambda \log \sum_{j \in z} \alpha_j` for bags that have a relevant segment;
    a bag without one counts as a bag of which nothing is known. Where a map gives the relevant
    segments exactly nothing, no gradient can pull attention there.

    Args:
        paradigm: What is supervised.
        weight: λ.
    """

    needs_z: ClassVar[bool] = True
    paradigm: Paradigm
    weight: float = 1.0

    def transform_loss(self, loss: Tensor, alpha: Tensor, y: Tensor) -> Tensor:
        return loss

    def relevance_loss(self, alpha: Tensor, z: Tensor | None) -> Tensor:
        if z is None:
            raise FoveateError("supervising the focus needs bags whose relevant segments are known")
        mass = (alpha * z).sum(1).clamp_min(torch.finfo(alpha.dtype).tiny)
        return -self.weight * torch.where(z.any(1), mass.log(), 0.0)
