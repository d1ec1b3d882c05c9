"""Forms of the witness and of the likelihood that were tried and not chosen."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import torch
from torch import Tensor

from foveate.attention.likelihood import gather_label, label_log_prob, log_weights
from foveate.attention.maps import log_softmax
from foveate.attention.paradigms import (
    Aux,
    Marginal,
    Paradigm,
    Progress,
    TopMarginal,
    WithWitness,
    Witness,
)
from foveate.bags.segments import Network, Segments, select

__all__ = [
    "ConfidenceWitness",
    "DrawnMarginal",
    "ExcessConfidenceWitness",
    "FadingWitness",
    "OneOptimizer",
    "PowerLoss",
]


@dataclass(frozen=True)
class ConfidenceWitness(WithWitness):
    r"""Witnesses weighted by how informative those of a bag are, :math:`(C\,\sum_c \sigma_c^2 -
    1)/(C - 1)` in their mean, held fixed.

    Where nothing is read from the background they cost next to nothing; in the error mode, where
    background is sure of a class, they count in full.
    """

    def witness_weight(self, log_p: Tensor, y: Tensor) -> Tensor:
        classes = log_p.shape[2]
        return (classes * log_p.detach().exp().square().sum(2).mean(1) - 1) / (classes - 1)


@dataclass(frozen=True)
class ExcessConfidenceWitness(WithWitness):
    r"""Witnesses weighted by how far their predictions exceed the label frequencies.

    The excess :math:`\sum_c \sigma_c^2 - \sigma_y` is 0 in expectation where what is said is as
    likely as it claims to be; its mean over the bags that are trained on together, held fixed and
    never below 0, is the weight of all of them.
    """

    def witness_weight(self, log_p: Tensor, y: Tensor) -> Tensor:
        p = log_p.detach().exp()
        return (p.square().sum(2) - gather_label(p, y)).mean().clamp_min(0)


@dataclass(frozen=True)
class DrawnMarginal(WithWitness):
    r"""Marginal likelihood of the most attended segments; the witnesses represent the others.

    The attention that is not on the top goes to the witnesses outside of it in proportion to their
    own; where all drawn are among the top, the rest says nothing, as in :class:`TopMarginal`.
    """

    paradigm: TopMarginal = field(default_factory=lambda: TopMarginal(2))
    weight: float = 3.0
    witnesses: int = 2

    def loss(self, alpha: Tensor, x: Segments, g: Network, y: Tensor, aux: Aux = None) -> Tensor:
        if aux is None:
            return self.paradigm.loss(alpha, x, g, y)
        weight, position = self.paradigm.most_attended(alpha)
        positions, top = torch.cat([position, aux], 1), position.shape[1]
        log_p = log_softmax(g(select(x, positions).flatten(0, 1))).unflatten(0, positions.shape)
        label_log_p = gather_label(log_p, y)
        read, sampled = label_log_p[:, :top].exp(), label_log_p[:, top:].exp()
        outside = (aux.unsqueeze(2) != position.unsqueeze(1)).all(2)
        share = alpha.gather(1, aux) * outside
        total, tiny = share.sum(1), torch.finfo(alpha.dtype).tiny
        estimate = (share * sampled).sum(1) / total.clamp_min(tiny)
        remainder = (1 - weight.sum(1)).clamp_min(0) * estimate.where(total > 0, 1 / log_p.shape[2])
        likelihood = (weight * read).sum(1) + remainder
        return -likelihood.clamp_min(tiny).log() - self.weight * label_log_p[:, top:].mean(1)


@dataclass(frozen=True)
class OneOptimizer(Witness):
    """The control: the second phase goes on with the optimiser of the first."""

    fresh_optimizer: ClassVar[bool] = False


@dataclass(frozen=True)
class FadingWitness(OneOptimizer):
    """Witnesses whose weight falls to 0 where the second phase begins."""

    def phase(self, progress: Progress) -> Paradigm:
        current = super().phase(progress)
        if not isinstance(current, WithWitness) or isinstance(self.switch, str):
            return current
        left = 1 - progress.epoch / (self.switch * progress.epochs)
        return replace(current, weight=left * current.weight)


@dataclass(frozen=True)
class PowerLoss(Marginal):
    r"""Between hard attention and LVML, and beyond: :math:`-\frac1p \log \sum_j \alpha_j
    \sigma_y(g(x_j))^p`.

    p → 0 is hard attention's loss, 1 is LVML's, and for large p the surest segment decides. It is
    read as LVML is.
    """

    power: float = 0.5

    def loss(self, alpha: Tensor, x: Segments, g: Network, y: Tensor, aux: Aux = None) -> Tensor:
        log_p = self.power * label_log_prob(x, g, y, self.chunk)
        return -torch.logsumexp(log_weights(alpha) + log_p, 1) / self.power
