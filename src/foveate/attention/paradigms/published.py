"""The paradigms of the papers, loss and inference side by side: the comparison is the content."""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor

from foveate.attention.likelihood import gather_label, label_log_prob, log_weights
from foveate.attention.maps import label_log_softmax, log_softmax
from foveate.attention.paradigms.contract import HOW_IT_READS, PARADIGMS, Aux, Paradigm, Progress
from foveate.bags.segments import Network, Segments, dense, map_segments, mix, select
from foveate.errors import FoveateError

__all__ = [
    "EM",
    "Direct",
    "Hard",
    "Hybrid",
    "LogitAverage",
    "Marginal",
    "RandomEpochs",
    "SampledHard",
    "Soft",
]


class _Predictive(Paradigm):
    """A paradigm whose loss is minus the log-probability that its own inference gives the label."""

    @abstractmethod
    def logits(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        """Logits of the classes, shape (B, C)."""

    def loss(self, alpha: Tensor, x: Segments, g: Network, y: Tensor, aux: Aux = None) -> Tensor:
        return -label_log_softmax(self.logits(alpha, x, g), y)

    def log_prob(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        return log_softmax(self.logits(alpha, x, g))

    def read(self, alpha: Tensor, x: Segments, g: Network, y: Tensor) -> tuple[Tensor, Tensor]:
        log_p = self.log_prob(alpha, x, g)
        return log_p, -gather_label(log_p, y)


@PARADIGMS.register("soft")
@dataclass(frozen=True)
class Soft(_Predictive):
    r"""Soft attention: g reads the mixture of segments.

    :math:`\ell = -\log \sigma_y(g(\sum_j \alpha_j x_j))`. [vr23] Sec. 2.3
    """

    per_segment: ClassVar[bool] = False

    def logits(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        return g(mix(alpha, x))

    def calls(self, m: int) -> int:
        return 1


@PARADIGMS.register("hard")
@dataclass(frozen=True)
class Hard(Paradigm):
    r"""Hard attention: the expected loss of one drawn segment, exactly; reads the top segment.

    :math:`\ell = -\sum_j \alpha_j \log \sigma_y(g(x_j))`. [vr23] Sec. 2.3

    Args:
        chunk: Segments classified at a time (see :func:`label_log_prob`).
    """

    selects: ClassVar[bool] = True
    chunk: int | None = None

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

    chunk: int | None = None

    def loss(self, alpha: Tensor, x: Segments, g: Network, y: Tensor, aux: Aux = None) -> Tensor:
        return -torch.logsumexp(log_weights(alpha) + label_log_prob(x, g, y, self.chunk), 1)

    def log_prob(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        p = map_segments(lambda rows: log_softmax(g(rows)).exp(), x)
        return mix(alpha, p).clamp_min(torch.finfo(alpha.dtype).tiny).log()

    def calls(self, m: int) -> int:
        return m


@PARADIGMS.register("logit")
@dataclass(frozen=True)
class LogitAverage(_Predictive):
    r"""Averaged logits: g reads every segment, and its logits are mixed.

    :math:`\ell = -\log \sigma_y(\sum_j \alpha_j g(x_j))`. The released HateXplain script calls this
    LVML; it is not.
    """

    def logits(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        return mix(alpha, map_segments(g, x))

    def calls(self, m: int) -> int:
        return m


@PARADIGMS.register("em")
@dataclass(frozen=True)
class EM(Paradigm):
    r"""Expectation–maximisation of the marginal likelihood, an E-step an epoch.

    Before each epoch the responsibilities
    :math:`\gamma_j \propto \alpha_j \sigma_y(g(x_j))` of every bag are computed and kept (E); the
    steps of the epoch lower :math:`-\sum_j \gamma_j \log(\alpha_j \sigma_y(g(x_j)))` (M). With
    responsibilities renewed at every step the gradient would be the marginal likelihood's own.
    """

    recalls: ClassVar[bool] = True
    chunk: int | None = None

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
    r"""Hard attention by two sampled segments a bag, for when m classifier calls are too many.

    With :math:`j_1, j_2 \sim \alpha` and :math:`\ell_k = -\log \sigma_y(g(x_{j_k}))` the gradient
    is :math:`\tfrac12 \sum_k \nabla\ell_k + \tfrac12(\ell_1 - \ell_2)(\nabla\log\alpha_{j_1} -
    \nabla\log\alpha_{j_2})`: the score-function estimator in which each sample is the other's
    control variate. It is unbiased for the gradient of :class:`Hard`. (The released captioning
    script adds its baseline where it must be subtracted; reference [vr23], errata.)
    """

    draws: ClassVar[int] = 2
    selects: ClassVar[bool] = True

    def loss(self, alpha: Tensor, x: Segments, g: Network, y: Tensor, aux: Aux = None) -> Tensor:
        """``aux`` holds two uniform numbers a bag, shape (B, 2)."""
        if aux is None:
            raise FoveateError("sampled hard attention needs two uniform numbers per bag as aux")
        edges = alpha.detach().cumsum(1)
        picks = (aux[:, :, None] * edges[:, None, -1:] >= edges[:, None, :]).sum(2)
        # Rounding can leave the last edge below the draw; the last segment with weight is meant.
        last = (alpha.detach() > 0).long().mul(torch.arange(alpha.shape[1])).amax(1, keepdim=True)
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


@PARADIGMS.register("hybrid")
@dataclass(frozen=True)
class Hybrid(Paradigm):
    """Soft attention first, then hard from its weights on, with a fresh optimiser. [vr23] Sec. 5

    Args:
        switch: Where the second phase begins: a fraction of the epochs (below 1), an epoch (from 1
            on), or "plateau": once the training loss has not fallen for ``patience`` epochs. The
            paper states none; its known ratios lie between .8 and .91.
        phases: The paradigms, in order.
        patience: Epochs without a lower training loss that make a plateau.
    """

    fresh_optimizer: ClassVar[bool] = True
    switch: float | str = 0.8
    phases: tuple[Paradigm, Paradigm] = field(default_factory=lambda: (Soft(), Hard()))
    patience: int = 5

    def __post_init__(self) -> None:
        if isinstance(self.switch, str) and self.switch != "plateau":
            raise FoveateError(f"switch must be a number or 'plateau', got '{self.switch}'")
        if not isinstance(self.switch, str) and self.switch < 0:
            raise FoveateError(f"switch must not be negative, got {self.switch}")
        for name in HOW_IT_READS:
            object.__setattr__(self, name, getattr(self.phases[-1], name))

    def phase(self, progress: Progress) -> Paradigm:
        return self.phases[int(self.in_final_phase(progress))]

    def in_final_phase(self, progress: Progress) -> bool:
        if isinstance(self.switch, str):
            best, since = float("inf"), 0
            for loss in progress.losses:
                best, since = (loss, 0) if loss < best else (best, since + 1)
                if since >= self.patience:
                    return True
            return False
        start = self.switch * progress.epochs if self.switch < 1 else self.switch
        return progress.epoch >= round(start)

    def loss(self, alpha: Tensor, x: Segments, g: Network, y: Tensor, aux: Aux = None) -> Tensor:
        return self.phases[-1].loss(alpha, x, g, y, aux)

    def log_prob(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        return self.phases[-1].log_prob(alpha, x, g)

    def calls(self, m: int) -> int:
        return self.phases[-1].calls(m)


@PARADIGMS.register("random")
@dataclass(frozen=True)
class RandomEpochs(Hybrid):
    """Soft or hard, drawn anew for each epoch and seed: the practice the hybrid is held against.

    Read as hard attention. [vr23] Sec. 5, on reference [20]
    """

    fresh_optimizer: ClassVar[bool] = False

    def phase(self, progress: Progress) -> Paradigm:
        coin = torch.Generator().manual_seed(1_000_003 * progress.seed + progress.epoch)
        return self.phases[int(torch.randint(2, (), generator=coin))]

    def reading(self, progress: Progress) -> Paradigm:
        return self.phases[-1]

    def in_final_phase(self, progress: Progress) -> bool:
        return True


@PARADIGMS.register("direct")
@dataclass(frozen=True)
class Direct(_Predictive):
    """No attention at all: g reads the concatenated bag. A baseline. [pvr22] Sec. 3.1"""

    per_segment: ClassVar[bool] = False
    whole_bag: ClassVar[bool] = True

    def logits(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        rows = dense(x)
        there = (alpha > 0).to(rows.dtype)  # attention is uniform, so only padding has none
        return g(rows * there.reshape(*there.shape, *[1] * (rows.dim() - 2)))

    def calls(self, m: int) -> int:
        return 1
