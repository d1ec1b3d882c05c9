"""Controls: losses that make the classifier uniform on segments without attention."""

import math
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from foveate.attention.likelihood import entropy, map_segments
from foveate.attention.maps import log_softmax
from foveate.attention.paradigms import Aux, Marginal, Paradigm, Progress, WithWitness
from foveate.bags.segments import Network, Segments, mix, select

__all__ = ["ConfidencePenalty", "FadingUniformPenalty", "NullClass", "WithUniformPenalty"]


@dataclass(frozen=True)
class WithUniformPenalty(WithWitness):
    r"""Control: a drawn segment is pushed towards uniform predictions, weighted by 1 − α.

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
        return loss - self.weight * unattended(alpha, aux) * self.penalty_weight(
            log_p
        ) * log_p.mean(1)

    def penalty_weight(self, log_p: Tensor) -> Tensor | float:
        """Weight of the penalty for a segment with this prediction."""
        return 1.0


@dataclass(frozen=True)
class ConfidencePenalty(WithUniformPenalty):
    """The penalty weighted by 1 − the entropy of the prediction over the largest entropy.

    Confident predictions on unattended segments are penalised most.
    """

    def penalty_weight(self, log_p: Tensor) -> Tensor:
        return 1 - entropy(log_p.detach().exp()) / math.log(log_p.shape[1])


@dataclass(frozen=True)
class FadingUniformPenalty(WithUniformPenalty):
    """The penalty with a weight that falls to 0 over a share of the epochs."""

    until: float = 0.8

    def phase(self, progress: Progress) -> Paradigm:
        left = max(0.0, 1 - progress.epoch / (self.until * progress.epochs))
        return replace(self, weight=left * self.weight) if left else self.paradigm


@dataclass(frozen=True)
class NullClass(WithWitness):
    r"""LVML with one more class, for segments without evidence, whose logit is 0.

    The drawn segment must be of that class, the more so the less it is attended to, as in
    :class:`WithUniformPenalty`; the label is read from the other classes.
    """

    paradigm: Paradigm = field(default_factory=Marginal)

    def loss(self, alpha: Tensor, x: Segments, g: Network, y: Tensor, aux: Aux = None) -> Tensor:
        loss = self.paradigm.loss(alpha, x, lambda rows: with_null(g(rows)), y)
        if aux is None:
            return loss
        log_p = log_softmax(with_null(g(select(x, aux[:, 0]))))
        return loss - self.weight * unattended(alpha, aux) * log_p[:, -1]

    def log_prob(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        p = map_segments(lambda rows: log_softmax(with_null(g(rows))).exp()[:, :-1], x)
        mixed_p = mix(alpha, p).clamp_min(torch.finfo(alpha.dtype).tiny)
        return (mixed_p / mixed_p.sum(1, keepdim=True)).log()

    def objective(self) -> Paradigm:
        return self


def with_null(logits: Tensor) -> Tensor:
    """Logits (N, C) and a 0 behind them, (N, C + 1)."""
    return torch.nn.functional.pad(logits, (0, 1))


def unattended(alpha: Tensor, aux: Tensor) -> Tensor:
    """1 − α at the drawn places (B, 1), held fixed, such that bags of m weigh 1 in the mean."""
    share = alpha.shape[1] / (alpha.shape[1] - 1)
    return share * (1 - alpha.detach().gather(1, aux).squeeze(1))
