"""Attention that a model returns: whether it is normalised, and what it must be.

What it cannot be is an error that names the bag.
"""

from typing import Literal

import torch
from torch import Tensor

from foveate.attention.maps import softmax
from foveate.errors import FoveateError

__all__ = [
    "AttentionOutput",
    "OutputKind",
    "are_weights",
    "check_finite",
    "check_sums_to_one",
    "missing_weight",
    "normalised",
    "one_attention",
]

AttentionOutput = Literal["scores", "weights"]
OutputKind = Literal["logits", "probabilities"]
MISTAKES = 0.5  # share of bags whose weights do not sum to one, below which they are mistakes


def normalised(attention: Tensor, mask: Tensor, weights: bool) -> Tensor:
    """Weights (n, K, m), zero outside the mask."""
    if weights:
        return torch.where(mask[:, None], attention, 0.0)
    n, k, m = attention.shape
    flat = torch.where(mask[:, None], attention, 0.0).reshape(n * k, m)
    return softmax(flat, mask.repeat_interleave(k, 0)).reshape(n, k, m)


def one_attention(weights: Tensor, p: Tensor) -> Tensor:
    """Of one attention a class that of the predicted class, else the mean over heads, (n, m)."""
    if weights.shape[1] == p.shape[1] and weights.shape[1] > 1:
        return weights[torch.arange(len(p)), p.argmax(1)]
    return weights.mean(1)


def check_finite(answers: Tensor, attention: Tensor, mask: Tensor) -> None:
    """Check that answers (n, C) and attention (n, K, m) are finite, inside the mask.

    A score of minus infinity is no attention, and allowed unless a whole bag has no other.
    """
    inside = mask[:, None]
    wrong = (attention.isnan() | (attention == torch.inf)) & inside
    nothing = ((attention == -torch.inf) | ~inside).all(2)
    for name, bad in (
        ("answers", (~answers.isfinite()).any(1)),
        ("attention", (wrong.any(2) | nothing).any(1)),
    ):
        if bool(bad.any()):
            row = int(bad.nonzero()[0])
            raise FoveateError(f"{name} must be finite numbers, but bag {row} gets NaN or infinity")


def are_weights(attention: Tensor, mask: Tensor, output: AttentionOutput | None) -> bool:
    """Whether attention is normalised: no number is negative and rows sum to one.

    Where most bags of several segments sum to one, those that do not are mistakes.
    """
    inside = torch.where(mask[:, None], attention, 0.0)
    total = inside.sum(-1)
    negative, off = inside.min() < 0, (total - 1).abs() > 1e-3
    weights = not bool(negative) and not bool(off.any())
    long = mask.sum(1) > 1
    several = bool(long.any())
    usual = several and float(off.any(1)[long].double().mean()) < MISTAKES
    if not weights and (output == "weights" or (output is None and usual)):
        if bool(negative):
            row = int((inside < 0).any(2).any(1).nonzero()[0])
            raise FoveateError(f"attention weights must not be negative: those of bag {row} are")
        row = int(off.any(1).nonzero()[0])
        value = float(total[row].flatten()[0])
        raise FoveateError(f"attention weights of bag {row} must sum to one, got {value:.3g}")
    return output == "weights" or (output is None and weights and several)


def missing_weight(attention: Tensor, mask: Tensor) -> float:
    """The mean weight that is not on segments, 0 if these are no weights.

    Weights are not negative, sum to less than one in every bag of several segments, and to more
    than nothing.
    """
    inside = torch.where(mask[:, None], attention, 0.0)
    total = inside.sum(-1)[mask.sum(1) > 1]
    if len(total) < 2 or bool(inside.min() < 0) or bool((total > 1 + 1e-3).any()):
        return 0.0
    return float(1 - total.mean()) if bool((total > 0).all()) else 0.0


def check_sums_to_one(alpha: Tensor, mask: Tensor) -> None:
    """Check that attention (n, m) sums to one over the segments that exist."""
    total = torch.where(mask, alpha, 0.0).sum(1)
    if bool(((total - 1).abs() > 1e-4).any()):
        row = int(((total - 1).abs() > 1e-4).nonzero()[0])
        raise FoveateError(
            f"forced attention of bag {row} must sum to one, got {float(total[row]):.3g}"
        )
