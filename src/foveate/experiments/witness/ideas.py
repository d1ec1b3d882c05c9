"""Ways against reading a class from the background that were tried beside the witness."""

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar

import torch
from torch import Tensor

from foveate.likelihood import entropy, label_log_prob, log_weights
from foveate.maps import log_softmax
from foveate.paradigms import Aux, Marginal, Paradigm, Progress, WithWitness, Witness
from foveate.segments import Network, Segments, each, mix, select

__all__ = [
    "FadingSilence",
    "FadingWitness",
    "HeardWitness",
    "NullClass",
    "OneOptimizer",
    "Powers",
    "SilenceOfWhatReads",
    "WithSilence",
]


@dataclass(frozen=True)
class WithSilence(WithWitness):
    r"""The control: the drawn segment must say nothing, the more so the less it is attended to.

    :math:`\ell + \lambda \frac{m}{m-1} (1-\alpha_r) KL(u\|\sigma(g(x_r)))`, α held fixed: in
    the mean over r the weights :math:`1-\alpha` normalised over the bag, where nothing is padded.
    It takes confidence from relevant segments that the focus has not found yet
    (:mod:`foveate.dynamics.witness`).
    """

    def loss(self, alpha: Tensor, x: Segments, g: Network, y: Tensor, aux: Aux = None) -> Tensor:
        loss = self.paradigm.loss(alpha, x, g, y)
        if aux is None:
            return loss
        log_p = log_softmax(g(select(x, aux[:, 0])))
        return loss - self.weight * unattended(alpha, aux) * self.due(log_p) * log_p.mean(1)

    def due(self, log_p: Tensor) -> Tensor | float:
        """How much silence is asked of a segment that says this."""
        return 1.0


@dataclass(frozen=True)
class SilenceOfWhatReads(WithSilence):
    """Silence in proportion to what a segment says, 1 − its entropy over that of saying nothing.

    The weight adapts to the measured reading of the background, segment by segment.
    """

    def due(self, log_p: Tensor) -> Tensor:
        return 1 - entropy(log_p.detach().exp()) / math.log(log_p.shape[1])


@dataclass(frozen=True)
class FadingSilence(WithSilence):
    """Silence whose weight falls to 0 over a share of the epochs."""

    until: float = 0.8

    def phase(self, progress: Progress) -> Paradigm:
        left = max(0.0, 1 - progress.epoch / (self.until * progress.epochs))
        return replace(self, weight=left * self.weight) if left else self.paradigm


@dataclass(frozen=True)
class HeardWitness(WithWitness):
    r"""Witnesses that count as far as those of a bag say anything, :math:`(C\,\sum_c \sigma_c^2 -
    1)/(C - 1)` in their mean, held fixed.

    Where nothing is read from the background they cost next to nothing; in the error mode, where
    background is sure of a class, they count in full.
    """

    def heard(self, log_p: Tensor) -> Tensor:
        classes = log_p.shape[2]
        return (classes * log_p.detach().exp().square().sum(2).mean(1) - 1) / (classes - 1)


@dataclass(frozen=True)
class OneOptimizer(Witness):
    """The control: the second phase goes on with the optimiser of the first."""

    fresh_optimizer: ClassVar[bool] = False


@dataclass(frozen=True)
class FadingWitness(OneOptimizer):
    """Witnesses whose weight falls to 0 where the second phase begins."""

    def phase(self, progress: Progress) -> Paradigm:
        now = super().phase(progress)
        if not isinstance(now, WithWitness) or isinstance(self.switch, str):
            return now
        left = 1 - progress.epoch / (self.switch * progress.epochs)
        return replace(now, weight=left * now.weight)


@dataclass(frozen=True)
class Powers(Marginal):
    r"""Between hard attention and LVML, and beyond: :math:`-\frac1p \log \sum_j \alpha_j
    \sigma_y(g(x_j))^p`.

    p → 0 is hard attention's loss, 1 is LVML's, and for large p the surest segment decides. It is
    read as LVML is.
    """

    power: float = 0.5

    def loss(self, alpha: Tensor, x: Segments, g: Network, y: Tensor, aux: Aux = None) -> Tensor:
        each_log_p = self.power * label_log_prob(x, g, y, self.chunk)
        return -torch.logsumexp(log_weights(alpha) + each_log_p, 1) / self.power


@dataclass(frozen=True)
class NullClass(WithWitness):
    r"""LVML with a class more, for segments that mean nothing, whose logit is 0.

    The drawn segment must be of that class, the more so the less it is attended to, as in
    :class:`WithSilence`; the label is read from the other classes.
    """

    paradigm: Paradigm = field(default_factory=Marginal)

    def loss(self, alpha: Tensor, x: Segments, g: Network, y: Tensor, aux: Aux = None) -> Tensor:
        loss = self.paradigm.loss(alpha, x, lambda rows: with_null(g(rows)), y)
        if aux is None:
            return loss
        log_p = log_softmax(with_null(g(select(x, aux[:, 0]))))
        return loss - self.weight * unattended(alpha, aux) * log_p[:, -1]

    def log_prob(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        p = each(lambda rows: log_softmax(with_null(g(rows))).exp()[:, :-1], x)
        said = mix(alpha, p).clamp_min(torch.finfo(alpha.dtype).tiny)
        return (said / said.sum(1, keepdim=True)).log()

    def objective(self) -> Paradigm:
        return self


def with_null(logits: Tensor) -> Tensor:
    """Logits (N, C) and a 0 behind them, (N, C + 1)."""
    return torch.nn.functional.pad(logits, (0, 1))


def unattended(alpha: Tensor, aux: Tensor) -> Tensor:
    """1 − α at the drawn places (B, 1), held fixed, such that bags of m weigh 1 in the mean."""
    share = alpha.shape[1] / (alpha.shape[1] - 1)
    return share * (1 - alpha.detach().gather(1, aux).squeeze(1))
