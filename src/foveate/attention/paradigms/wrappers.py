"""Paradigms that wrap another one: its loss changes, its inference and its schedule stay."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, ClassVar

import torch
from torch import Tensor

from foveate.attention.likelihood import entropy
from foveate.attention.paradigms.contract import Aux, Paradigm, Progress
from foveate.bags.segments import Network, Segments
from foveate.errors import FoveateError

__all__ = ["WithClassWeights", "WithEntropy", "WithFocus", "Wrapper"]


def _of_inner(name: str) -> Any:
    """A class attribute whose value on an instance is that of the wrapped paradigm."""
    return property(attrgetter(f"paradigm.{name}"))


class Wrapper(Paradigm):
    """A paradigm with a transformed loss; inference and schedule are those of the inner one."""

    draws: ClassVar[Any] = _of_inner("draws")
    picks: ClassVar[Any] = _of_inner("picks")
    recalls: ClassVar[Any] = _of_inner("recalls")
    needs_z: ClassVar[Any] = _of_inner("needs_z")
    fresh_optimizer: ClassVar[Any] = _of_inner("fresh_optimizer")
    uses_attention: ClassVar[Any] = _of_inner("uses_attention")
    per_segment: ClassVar[Any] = _of_inner("per_segment")
    selects: ClassVar[Any] = _of_inner("selects")
    whole_bag: ClassVar[Any] = _of_inner("whole_bag")
    paradigm: Paradigm

    @property
    def phase_labels(self) -> tuple[str, ...]:
        return self.paradigm.phase_labels

    @property
    def fixed_schedule(self) -> bool:
        return self.paradigm.fixed_schedule

    @abstractmethod
    def transform_loss(self, loss: Tensor, alpha: Tensor, y: Tensor) -> Tensor:
        """The loss of each bag from the loss of the wrapped paradigm, shape (B,)."""

    def rewrap(self, paradigm: Paradigm) -> Paradigm:
        """The same wrapper around another paradigm."""
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

    def evidence(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        return self.paradigm.evidence(alpha, x, g)

    def segment_logits(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        return self.paradigm.segment_logits(alpha, x, g)

    def segment_weights(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        return self.paradigm.segment_weights(alpha, x, g)

    def remember(self, alpha: Tensor, x: Segments, g: Network, y: Tensor) -> Tensor:
        return self.paradigm.remember(alpha, x, g, y)

    def calls(self, m: int) -> int:
        return self.paradigm.calls(m)

    def in_chunks(self, chunk: int) -> Paradigm:
        return self.rewrap(self.paradigm.in_chunks(chunk))

    def objective(self) -> Paradigm:
        return self.rewrap(self.paradigm.objective())

    def phase(self, progress: Progress) -> Paradigm:
        return self.rewrap(self.paradigm.phase(progress))

    def reading(self, progress: Progress) -> Paradigm:
        return self.rewrap(self.paradigm.reading(progress))

    def in_final_phase(self, progress: Progress) -> bool:
        return self.paradigm.in_final_phase(progress)

    def switch_epoch(self, epochs: int) -> int | None:
        return self.paradigm.switch_epoch(epochs)


@dataclass(frozen=True)
class WithEntropy(Wrapper):
    r"""Any paradigm with the entropy of its attention added to the loss.

    :math:`\ell + \lambda\,\mathrm{Ent}(\alpha)`, in nats, as in the text; the released code has
    :math:`(1-\lambda)\ell + \lambda\,\mathrm{Ent}(\alpha)`. [pvr22] Sec. 5

    Args:
        paradigm: The paradigm to regularise.
        weight: λ; the released code has .005.
    """

    paradigm: Paradigm
    weight: float = 0.005

    def transform_loss(self, loss: Tensor, alpha: Tensor, y: Tensor) -> Tensor:
        return loss + self.weight * entropy(alpha)


@dataclass(frozen=True)
class WithClassWeights(Wrapper):
    r"""Any paradigm with the loss of a bag weighted by its class, :math:`w_y \ell`.

    Args:
        paradigm: The paradigm to weight.
        weights: One per class, w_0 … w_{C−1}.
    """

    paradigm: Paradigm
    weights: tuple[float, ...]

    def transform_loss(self, loss: Tensor, alpha: Tensor, y: Tensor) -> Tensor:
        return loss * loss.new_tensor(self.weights)[y]


@dataclass(frozen=True)
class WithFocus(Wrapper):
    r"""Any paradigm with attention supervised by known relevance z.

    :math:`\ell - \lambda \log \sum_{j \in z} \alpha_j` for bags with a relevant segment; a bag
    without one is treated as unlabelled. Where a sparse map gives the relevant segments zero
    weight, this term has no gradient.

    Args:
        paradigm: The paradigm to supervise.
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
