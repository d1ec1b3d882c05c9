r"""The pooling family of multiple-instance learning: max, presence, noisy-or, additive, mean.

Three of them ask whether a class is present anywhere in the bag. With the odds
:math:`o_{jc} = e^{g_c(x_j)}` of class c in segment j against absence, the odds of the bag are

.. math::
    O_c = \max_j o_{jc} \;\text{(max)}, \qquad
    O_c = \sum_j o_{jc} \;\text{(presence)}, \qquad
    O_c = \prod_j (1 + o_{jc}) - 1 \;\text{(noisy-or)},

in ascending order, and :math:`P(c) \propto O_c`. A class *without evidence* (a bag is "normal" if
nothing is found in it) has :math:`O_c = e^b`, whatever the segments are: no segment can vote for
it. The bias b of one such class can be absorbed by the output bias of g, so it is 0 unless given.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn.functional import softplus

from foveate.attention.likelihood import log_weights, map_segments
from foveate.attention.paradigms.contract import PARADIGMS, Paradigm, Predictive, centred
from foveate.bags.segments import Network, Segments, dense, mix
from foveate.errors import FoveateError

__all__ = ["Additive", "Max", "Mean", "NoisyOr", "Presence"]


@dataclass(frozen=True)
class _Pooled(Predictive):
    """A paradigm that pools the logits of segments for each class.

    Args:
        absent: Classes without evidence; None for class 0 of two classes and for none of more.
        bias: The logit of a class without evidence.
    """

    in_lab: ClassVar[bool] = False
    uses_attention: ClassVar[bool] = False
    absent: tuple[int, ...] | None = None
    bias: float = 0.0

    @abstractmethod
    def pool(self, alpha: Tensor, logits: Tensor) -> Tensor:
        """Logits of the bag (B, C) from those of its segments (B, m, C) where alpha > 0."""

    def without_evidence(self, logits: Tensor) -> Tensor:
        """Which classes have no evidence, boolean, shape (C,).

        Args:
            logits: Logits of the classes, shape (…, C).
        """
        C = logits.shape[-1]
        absent = ((0,) if C == 2 else ()) if self.absent is None else self.absent
        if any(not 0 <= c < C for c in absent) or len(set(absent)) >= C:
            raise FoveateError(f"absent must name some of the classes 0 … {C - 1}, got {absent}")
        return torch.tensor([c in absent for c in range(C)], device=logits.device)

    def without(self, absent: tuple[int, ...]) -> Paradigm:
        return replace(self, absent=absent)

    def logits(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        rows = dense(map_segments(g, x))
        return self.pool(alpha, rows).masked_fill(self.without_evidence(rows), self.bias)

    def evidence(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        """Centred logits of the bag that consists of a segment alone, times its weight.

        Under max pooling of two classes they sum to the centred logits of the bag.
        """
        weights = self.segment_weights(alpha, x, g)
        return weights.unsqueeze(2) * self.segment_logits(alpha, x, g)

    def segment_logits(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        rows = dense(map_segments(g, x))
        single = rows.flatten(0, 1).unsqueeze(1)
        logits = self.logits(torch.ones_like(single[..., 0]), single, lambda row: row)
        alone = centred(logits).view_as(rows)
        return alone.masked_fill((alpha == 0).unsqueeze(2), 0.0)

    def segment_weights(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        r""":math:`\sum_c o_{jc}` over the classes with evidence, normalised over segments."""
        rows = dense(map_segments(g, x))
        return self._strength(alpha, rows).softmax(1)

    def _strength(self, alpha: Tensor, rows: Tensor) -> Tensor:
        """Log-odds of any class with evidence in each segment, −∞ for padding, shape (B, m)."""
        log_evidence = rows.masked_fill(self.without_evidence(rows), -torch.inf).logsumexp(2)
        return log_evidence.masked_fill(alpha == 0, -torch.inf)

    def calls(self, m: int) -> int:
        return m


@PARADIGMS.register("max")
@dataclass(frozen=True)
class Max(_Pooled):
    r"""Max pooling: the segment with the strongest evidence for a class decides about it.

    :math:`P(c) \propto e^{\max_j g_c(x_j)}`.
    """

    label: ClassVar[str] = "Max"
    colour: ClassVar[str] = "#117733"

    def pool(self, alpha: Tensor, logits: Tensor) -> Tensor:
        return logits.masked_fill((alpha == 0).unsqueeze(2), -torch.inf).amax(1)

    def segment_weights(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        top = self._strength(alpha, dense(map_segments(g, x))).argmax(1, keepdim=True)
        return (torch.arange(alpha.shape[1], device=alpha.device) == top).to(alpha.dtype)


@PARADIGMS.register("noisy-or")
@dataclass(frozen=True)
class NoisyOr(_Pooled):
    r"""Noisy-or: segments show a class independently of each other.

    A class is present with probability :math:`q_c = 1 - \prod_j (1 - \sigma(g_c(x_j)))`.
    Exactly one class with evidence is present, or none: :math:`P(c) \propto q_c / (1 - q_c)`. For
    two classes of which the first has no evidence this is :math:`P(1) = q_1`.
    """

    label: ClassVar[str] = "Noisy-or"
    colour: ClassVar[str] = "#AA4499"

    def pool(self, alpha: Tensor, logits: Tensor) -> Tensor:
        valid = (alpha > 0).to(logits.dtype).unsqueeze(2)
        total = (softplus(logits) * valid).sum(1).clamp_min(torch.finfo(logits.dtype).tiny)
        return total + (-torch.expm1(-total)).log()  # log(e^total − 1)

    def segment_weights(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        rows = dense(map_segments(g, x))
        evidence = softplus(rows).masked_fill(self.without_evidence(rows), 0.0).sum(2)
        evidence = evidence * (alpha > 0)
        return evidence / evidence.sum(1, keepdim=True).clamp_min(torch.finfo(evidence.dtype).tiny)


@PARADIGMS.register("presence")
@dataclass(frozen=True)
class Presence(_Pooled):
    r"""Presence: the odds of a class add up over segments; between LVML and a sum of evidence.

    With :math:`Z_j = \sum_k e^{g_k(x_j)}` and :math:`p_j = \sigma(g(x_j))`, LVML is
    :math:`P(c) = \sum_j \alpha_j\, p_j(c)` and presence, if every class has evidence, is

    .. math:: P(c) = \frac{\sum_j e^{g_c(x_j)}}{\sum_k \sum_j e^{g_k(x_j)}}
                   = \sum_j \frac{Z_j}{\sum_i Z_i}\, p_j(c),

    that is, LVML with the attention :math:`\alpha_j \propto Z_j` of the classifier itself. LVML
    normalises over the classes in each segment, so that every segment votes with its attention for
    some class; presence normalises once for the bag, so that a segment with low logits does not
    vote. Both are ends of the family with *strength* t,

    .. math:: O_c = v_c \sum_j \alpha_j^{1-t} Z_j^{t}\, p_j(c) + (1 - v_c)\, e^b, \qquad
              P(c) = O_c \Big/ \sum_k O_k,

    where :math:`v_c = 1` for a class with evidence and :math:`1 - t` for one without. At t = 0 this
    is LVML for all classes; at t = 1 the odds are :math:`\sum_j e^{g_c(x_j)}`, and :math:`e^b`
    without evidence. Attention is trained for t < 1 only.

    Args:
        absent: Classes without evidence; None for class 0 of two classes and for none of more.
        bias: The logit b of a class without evidence.
        strength: t, in [0, 1].
    """

    label: ClassVar[str] = "Presence"
    colour: ClassVar[str] = "#332288"
    uses_attention: ClassVar[Any] = property(lambda self: self.strength < 1)
    strength: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.strength <= 1:
            raise FoveateError(f"strength must lie in [0, 1], got {self.strength}")

    def pool(self, alpha: Tensor, logits: Tensor) -> Tensor:
        return (self._attention(alpha).unsqueeze(2) + self._scaled(logits)).logsumexp(1)

    def logits(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        rows = dense(map_segments(g, x))
        pooled, t = self.pool(alpha, rows), self.strength
        segments = pooled + (math.log1p(-t) if t < 1 else -math.inf)
        constant = torch.full_like(pooled, self.bias + (math.log(t) if t > 0 else -math.inf))
        one_sided = torch.logaddexp(segments, constant)
        return torch.where(self.without_evidence(rows), one_sided, pooled)

    def segment_weights(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        rows = dense(map_segments(g, x))
        votes = self._scaled(rows).masked_fill(self._never_votes(rows), -torch.inf)
        return (self._attention(alpha) + votes.logsumexp(2)).softmax(1)

    def _never_votes(self, logits: Tensor) -> Tensor:
        return self.without_evidence(logits) & (self.strength == 1)

    def _scaled(self, logits: Tensor) -> Tensor:
        r""":math:`\log(Z_j^t\, p_j(c))`, shape (B, m, C)."""
        if self.strength == 1:
            return logits
        return logits - (1 - self.strength) * logits.logsumexp(2, keepdim=True)

    def _attention(self, alpha: Tensor) -> Tensor:
        r""":math:`\log \alpha_j^{1-t}`, −∞ for padding, shape (B, m)."""
        if self.strength == 1:
            return torch.zeros_like(alpha).masked_fill(alpha == 0, -torch.inf)
        return (1 - self.strength) * log_weights(alpha)


@PARADIGMS.register("additive")
@dataclass(frozen=True)
class Additive(Predictive):
    r"""Additive attention: g reads every attended segment, and the logits add up.

    :math:`\ell = -\log \sigma_y(\sum_j g(\alpha_j x_j))` over the segments that exist. The evidence
    of a segment is its term of the sum, so credit is exact. (Javed et al. 2022)
    """

    label: ClassVar[str] = "Additive"
    colour: ClassVar[str] = "#999933"
    in_lab: ClassVar[bool] = False
    per_segment: ClassVar[bool] = False

    def logits(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        return self._terms(alpha, x, g).sum(1)

    def evidence(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        return centred(self._terms(alpha, x, g))

    def _terms(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        rows = dense(x)
        attended = alpha.reshape(*alpha.shape, *[1] * (rows.dim() - 2)) * rows
        terms = g(attended.flatten(0, 1)).unflatten(0, alpha.shape)
        return terms.masked_fill((alpha == 0).unsqueeze(2), 0.0)

    def calls(self, m: int) -> int:
        return m


@PARADIGMS.register("mean")
@dataclass(frozen=True)
class Mean(Predictive):
    r"""Mean pooling: g reads the mean of the segments, without attention. A baseline.

    :math:`\ell = -\log \sigma_y(g(\tfrac1m \sum_j x_j))`. With a linear g it is a logistic
    regression on mean-pooled bags.
    """

    label: ClassVar[str] = "Mean"
    colour: ClassVar[str] = "#661100"
    in_lab: ClassVar[bool] = False
    uses_attention: ClassVar[bool] = False
    per_segment: ClassVar[bool] = False

    def logits(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        return g(mix(self.segment_weights(alpha, x, g), x))

    def evidence(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        return super().evidence(self.segment_weights(alpha, x, g), x, g)

    def segment_weights(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        valid = (alpha > 0).to(alpha.dtype)
        return valid / valid.sum(1, keepdim=True)

    def calls(self, m: int) -> int:
        return 1
