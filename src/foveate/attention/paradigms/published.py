"""The paradigms of the papers, loss and inference side by side."""

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from foveate.attention.likelihood import label_log_prob, log_weights, map_segments
from foveate.attention.maps import label_log_softmax, log_softmax
from foveate.attention.paradigms.contract import PARADIGMS, Aux, Paradigm, Predictive
from foveate.bags.segments import Network, Segments, dense, mix, select
from foveate.errors import FoveateError

__all__ = [
    "EM",
    "Direct",
    "Hard",
    "LogitAverage",
    "Marginal",
    "SampledHard",
    "Soft",
]


@PARADIGMS.register("soft")
@dataclass(frozen=True)
class Soft(Predictive):
    r"""Soft attention: g reads the mixture of segments.

    :math:`\ell = -\log \sigma_y(g(\sum_j \alpha_j x_j))`. [vr23] Sec. 2.3
    """

    label: ClassVar[str] = "Soft"
    colour: ClassVar[str] = "#0072B2"
    dash: ClassVar[tuple[int, ...]] = (1, 0)
    shape: ClassVar[str] = "circle"
    raced_by_default: ClassVar[bool] = True
    per_segment: ClassVar[bool] = False

    def logits(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        return g(mix(alpha, x))

    def calls(self, m: int) -> int:
        return 1


@PARADIGMS.register("hard")
@dataclass(frozen=True)
class Hard(Paradigm):
    r"""Hard attention: the exact expected loss of one drawn segment; reads the top segment.

    :math:`\ell = -\sum_j \alpha_j \log \sigma_y(g(x_j))`. [vr23] Sec. 2.3

    Args:
        chunk: Segments classified at a time (see :func:`label_log_prob`).
    """

    label: ClassVar[str] = "Hard"
    colour: ClassVar[str] = "#E69F00"
    dash: ClassVar[tuple[int, ...]] = (9, 3)
    shape: ClassVar[str] = "square"
    raced_by_default: ClassVar[bool] = True
    selects: ClassVar[bool] = True
    chunk: int | None = None

    def in_chunks(self, chunk: int) -> Paradigm:
        return replace(self, chunk=self.chunk or chunk)

    def loss(self, alpha: Tensor, x: Segments, g: Network, y: Tensor, aux: Aux = None) -> Tensor:
        return -(alpha * label_log_prob(x, g, y, self.chunk)).sum(1)

    def log_prob(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        return log_softmax(g(select(x, alpha.argmax(1))))

    def calls(self, m: int) -> int:
        return m


@PARADIGMS.register("lvml")
@dataclass(frozen=True)
class Marginal(Paradigm):
    r"""Marginal likelihood (LVML): minus the log-likelihood of the SDC model, in log space.

    :math:`\ell = -\log \sum_j \alpha_j \sigma_y(g(x_j))`. [vr23] Sec. 2.3

    Args:
        chunk: Segments classified at a time (see :func:`label_log_prob`).
    """

    label: ClassVar[str] = "LVML"
    colour: ClassVar[str] = "#009E73"
    dash: ClassVar[tuple[int, ...]] = (2, 2)
    shape: ClassVar[str] = "triangle-up"
    raced_by_default: ClassVar[bool] = True
    chunk: int | None = None

    def in_chunks(self, chunk: int) -> Paradigm:
        return replace(self, chunk=self.chunk or chunk)

    def loss(self, alpha: Tensor, x: Segments, g: Network, y: Tensor, aux: Aux = None) -> Tensor:
        return -torch.logsumexp(log_weights(alpha) + label_log_prob(x, g, y, self.chunk), 1)

    def log_prob(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        p = map_segments(lambda rows: log_softmax(g(rows)).exp(), x)
        return mix(alpha, p).clamp_min(torch.finfo(alpha.dtype).tiny).log()

    def calls(self, m: int) -> int:
        return m


@PARADIGMS.register("logit")
@dataclass(frozen=True)
class LogitAverage(Predictive):
    r"""Averaged logits: g reads every segment, and its logits are mixed.

    :math:`\ell = -\log \sigma_y(\sum_j \alpha_j g(x_j))`. The released HateXplain script calls this
    LVML; it is not.
    """

    label: ClassVar[str] = "Logit average"
    colour: ClassVar[str] = "#56B4E9"
    shape: ClassVar[str] = "triangle-down"

    def logits(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        return mix(alpha, map_segments(g, x))

    def calls(self, m: int) -> int:
        return m


@PARADIGMS.register("em")
@dataclass(frozen=True)
class EM(Paradigm):
    r"""Expectation–maximisation of the marginal likelihood, one E-step per epoch.

    Before each epoch the responsibilities
    :math:`\gamma_j \propto \alpha_j \sigma_y(g(x_j))` of every bag are computed and stored (E); the
    steps of the epoch lower :math:`-\sum_j \gamma_j \log(\alpha_j \sigma_y(g(x_j)))` (M). With
    responsibilities updated at every step the gradient would be that of the marginal likelihood.
    """

    label: ClassVar[str] = "EM"
    colour: ClassVar[str] = "#882255"
    shape: ClassVar[str] = "triangle-right"
    recalls: ClassVar[bool] = True
    chunk: int | None = None

    def in_chunks(self, chunk: int) -> Paradigm:
        return replace(self, chunk=self.chunk or chunk)

    def remember(self, alpha: Tensor, x: Segments, g: Network, y: Tensor) -> Tensor:
        joint = log_weights(alpha) + label_log_prob(x, g, y, self.chunk)
        return joint.softmax(1)

    def loss(self, alpha: Tensor, x: Segments, g: Network, y: Tensor, aux: Aux = None) -> Tensor:
        """``aux`` holds the responsibilities, shape (B, m); without them they are computed here."""
        gamma = self.remember(alpha, x, g, y).detach() if aux is None else aux
        joint = log_weights(alpha) + label_log_prob(x, g, y, self.chunk)
        return -(gamma * joint.masked_fill(gamma == 0, 0.0)).sum(1)

    def log_prob(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        return Marginal().log_prob(alpha, x, g)

    def objective(self) -> Paradigm:
        return Marginal(self.chunk)

    def calls(self, m: int) -> int:
        return 2 * m


@PARADIGMS.register("hard-sampled")
@dataclass(frozen=True)
class SampledHard(Paradigm):
    r"""Hard attention by two sampled segments per bag, where m classifier calls cost too much.

    With :math:`j_1, j_2 \sim \alpha` and :math:`\ell_k = -\log \sigma_y(g(x_{j_k}))` the gradient
    is :math:`\tfrac12 \sum_k \nabla\ell_k + \tfrac12(\ell_1 - \ell_2)(\nabla\log\alpha_{j_1} -
    \nabla\log\alpha_{j_2})`: the score-function estimator in which each sample is the other's
    control variate. It is unbiased for the gradient of :class:`Hard`. (The released captioning
    script adds its baseline where it must be subtracted; reference [vr23], errata.)
    """

    label: ClassVar[str] = "Hard, sampled"
    colour: ClassVar[str] = "#8C6D00"
    in_lab: ClassVar[bool] = False
    draws: ClassVar[int] = 2
    selects: ClassVar[bool] = True

    def loss(self, alpha: Tensor, x: Segments, g: Network, y: Tensor, aux: Aux = None) -> Tensor:
        """``aux`` holds two uniform numbers per bag, shape (B, 2)."""
        if aux is None:
            raise FoveateError("sampled hard attention needs two uniform numbers per bag as aux")
        edges = alpha.detach().cumsum(1)
        picks = (aux[:, :, None] * edges[:, None, -1:] >= edges[:, None, :]).sum(2)
        # Rounding can leave the last edge below the draw: take the last segment with weight.
        position = torch.arange(alpha.shape[1], device=alpha.device)
        last = (alpha.detach() > 0).long().mul(position).amax(1, keepdim=True)
        picks = torch.minimum(picks, last)
        first, second = (-label_log_softmax(g(select(x, j)), y) for j in picks.unbind(1))
        log_alpha = log_weights(alpha.gather(1, picks))
        advantage = (first - second).detach()
        score = advantage * (log_alpha[:, 0] - log_alpha[:, 1]) / 2
        return (first + second) / 2 + score - score.detach()

    def log_prob(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        return Hard().log_prob(alpha, x, g)

    def objective(self) -> Paradigm:
        return Hard()

    def calls(self, m: int) -> int:
        return 2


@PARADIGMS.register("direct")
@dataclass(frozen=True)
class Direct(Predictive):
    """No attention at all: g reads the concatenated bag. A baseline. [pvr22] Sec. 3.1"""

    colour: ClassVar[str] = "#000000"
    in_lab: ClassVar[bool] = False
    per_segment: ClassVar[bool] = False
    whole_bag: ClassVar[bool] = True

    def logits(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        rows = dense(x)
        valid = (alpha > 0).to(rows.dtype)  # attention is uniform, so only padding has none
        return g(rows * valid.reshape(*valid.shape, *[1] * (rows.dim() - 2)))

    def calls(self, m: int) -> int:
        return 1
