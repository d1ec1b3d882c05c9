r"""Maps from scores to attention: softmax, sparsemax, entmax15, spherical softmax, uniform.

Every map takes scores ``s`` (..., m) and a mask (..., m) of the segments that exist, and returns
``alpha`` (..., m) that is zero outside the mask. Masking a segment equals deleting it; a row
without any segment is all zero. All of them run under ``torch.func``.
"""

from collections.abc import Callable
from math import log
from typing import Any

import torch
from torch import Tensor

from foveate.registry import Registry

__all__ = [
    "MAPS",
    "AttentionMap",
    "entmax15",
    "label_log_softmax",
    "log_softmax",
    "softmax",
    "sparsemax",
    "spherical",
    "uniform",
]

AttentionMap = Callable[[Tensor, Tensor | None], Tensor]
MAPS: Registry[AttentionMap] = Registry("map")
"""Functions from scores to attention by name, such as ``MAPS.get("softmax")``."""

SHORT_ROW = 16  # below this, torch's kernel over the last axis does not vectorise


def _short(x: Tensor) -> bool:
    return x.dim() > 1 and x.shape[-1] < SHORT_ROW


def log_softmax(x: Tensor) -> Tensor:
    """``torch.log_softmax`` over the last axis; three times as fast on a CPU for short rows."""
    return x.mT.log_softmax(-2).mT if _short(x) else x.log_softmax(-1)


def label_log_softmax(x: Tensor, y: Tensor) -> Tensor:
    """The entry of each row's label in ``log_softmax``, from (…, N, C) and (…, N) to (…, N)."""
    if _short(x):
        return _LabelLogSoftmax.apply(x, y)[0]
    return x.log_softmax(-1).gather(-1, y.unsqueeze(-1)).squeeze(-1)


class _LabelLogSoftmax(torch.autograd.Function):
    """Computes along columns, with a backward pass without subnormal numbers.

    Late in training the gradients of unlikely classes are subnormal, and processors take a hundred
    times as long for such numbers. Here they are zero.
    """

    @staticmethod
    def forward(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        log_p = x.mT.log_softmax(-2)
        return log_p.gather(-2, y.unsqueeze(-2)).squeeze(-2), log_p

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(inputs[1], output[1])

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: None) -> tuple[Tensor, None]:
        y, log_p = ctx.saved_tensors
        least = log(4096 * torch.finfo(log_p.dtype).tiny)  # leaves a margin for the mean over bags
        grad = grad.unsqueeze(-2)
        back = torch.threshold(log_p, least, -torch.inf).exp_().mul_(-grad)
        return back.scatter_add_(-2, y.unsqueeze(-2), grad).mT.contiguous(), None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *inputs: Tensor) -> Any:
        x, y = (
            part.expand(info.batch_size, *part.shape) if axis is None else part.movedim(axis, 0)
            for part, axis in zip(inputs, in_dims, strict=True)
        )
        return _LabelLogSoftmax.apply(x, y), (0, 0)


def _plain_softmax(x: Tensor) -> Tensor:
    return x.mT.softmax(-2).mT if _short(x) else x.softmax(-1)


def _hide(s: Tensor, mask: Tensor | None) -> Tensor:
    """Scores with masked entries so low that every map gives them zero weight."""
    return s if mask is None else s.masked_fill(~mask, torch.finfo(s.dtype).min / 4)


def _only(alpha: Tensor, mask: Tensor | None) -> Tensor:
    return alpha if mask is None else alpha.masked_fill(~mask, 0.0)


@MAPS.register("softmax")
def softmax(s: Tensor, mask: Tensor | None = None) -> Tensor:
    r"""Weights that grow with the exponential of the score.

    :math:`\alpha_j = e^{s_j} / \sum_i e^{s_i}`. [vr23] Sec. 2.3, [pvr22] Sec. 3.2
    """
    return _only(_plain_softmax(_hide(s, mask)), mask)


@MAPS.register("sparsemax")
def sparsemax(s: Tensor, mask: Tensor | None = None) -> Tensor:
    r"""The Euclidean projection of the scores onto the simplex: many weights are exactly zero.

    :math:`\arg\min_p \|p - s\|^2`, [pvr22] Sec. 5. With the scores sorted, the support is the
    longest prefix with :math:`1 + k s_{(k)} > \sum_{i \le k} s_{(i)}`, and
    :math:`\alpha_j = (s_j - \tau)_+`.
    """
    s = _centred(s, mask)
    ranked, k = _ranked(s, mask)
    inside = (1 + k * ranked > ranked.cumsum(-1)).detach()
    size = inside.sum(-1, keepdim=True).to(s.dtype)
    tau = ((ranked * inside).sum(-1, keepdim=True) - 1) / size
    return _only((s - tau).clamp_min(0), mask)


@MAPS.register("entmax15")
def entmax15(s: Tensor, mask: Tensor | None = None) -> Tensor:
    r"""Between softmax and sparsemax: sparse, but smoother.

    :math:`\alpha_j = (s_j/2 - \tau)_+^2`, where the threshold solves
    :math:`\sum_j (s_j/2 - \tau)_+^2 = 1`: on a support of size k with mean M and spread S it is
    :math:`\tau = M - \sqrt{(1 - S)/k}`. (Peters et al. 2019, Alg. 2)
    """
    s = _centred(s, mask) / 2
    ranked, k = _ranked(s, mask)
    with torch.no_grad():  # which segments are in the support: a choice, not a value
        mean = ranked.cumsum(-1) / k
        spread = ranked.square().cumsum(-1) - k * mean.square()
        tau = mean - ((1 - spread) / k).clamp_min(0).sqrt()
        inside = ((tau <= ranked) & (spread <= 1)).to(s.dtype)
    size = inside.sum(-1, keepdim=True)
    mean = (ranked * inside).sum(-1, keepdim=True) / size
    spread = ((ranked - mean).square() * inside).sum(-1, keepdim=True)
    tau = mean - ((1 - spread) / size).sqrt()
    return _only((s - tau).clamp_min(0).square(), mask)


@MAPS.register("spherical")
def spherical(s: Tensor, mask: Tensor | None = None) -> Tensor:
    r"""Weights that grow with the square of the score; all-zero scores give the uniform.

    :math:`\alpha_j = s_j^2 / \sum_i s_i^2`. [pvr22] Sec. 5
    """
    squares = _only(s.square(), mask)
    total = squares.sum(-1, keepdim=True)
    empty = total == 0
    return torch.where(empty, uniform(s, mask), squares / total.masked_fill(empty, 1.0))


@MAPS.register("uniform")
def uniform(s: Tensor, mask: Tensor | None = None) -> Tensor:
    """The same weight on every segment, whatever the scores."""
    if mask is None:
        return torch.full_like(s, 1 / s.shape[-1])
    return mask.to(s.dtype) / mask.sum(-1, keepdim=True).clamp_min(1)


def _ranked(s: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """Centred scores from high to low, and their ranks 1 … m.

    Scores more than 1 below the largest are never in a support: cutting them at −2 changes nothing
    and keeps sums and squares finite whatever is masked.
    """
    ranked = _hide(s, mask).sort(dim=-1, descending=True).values.clamp_min(-2.0)
    return ranked, torch.arange(1, s.shape[-1] + 1, dtype=s.dtype, device=s.device)


def _centred(s: Tensor, mask: Tensor | None) -> Tensor:
    """Scores minus their maximum: the maps are invariant to the shift, and sums stay exact."""
    return s - _hide(s, mask).amax(-1, keepdim=True).detach()
