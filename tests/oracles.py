"""The same quantities as plain loops: slow, obvious, and independent of the library."""

import math

import torch
from torch import Tensor


def softmax_loop(scores: list[float]) -> list[float]:
    top = max(scores)
    weights = [math.exp(s - top) for s in scores]
    return [w / sum(weights) for w in weights]


def log_prob_loop(g, segment: Tensor) -> Tensor:
    logits = g(segment[None])[0]
    return logits - torch.logsumexp(logits, 0)


def soft_loop(alpha, x, g, y) -> Tensor:
    losses = []
    for a, bag, label in zip(alpha, x, y, strict=True):
        mixed = sum(a[j] * bag[j] for j in range(len(bag)))
        losses.append(-log_prob_loop(g, mixed)[label])
    return torch.stack(losses)


def hard_loop(alpha, x, g, y) -> Tensor:
    return torch.stack(
        [
            -sum(a[j] * log_prob_loop(g, bag[j])[label] for j in range(len(bag)))
            for a, bag, label in zip(alpha, x, y, strict=True)
        ]
    )


def marginal_loop(alpha, x, g, y) -> Tensor:
    return torch.stack(
        [
            -torch.log(sum(a[j] * log_prob_loop(g, bag[j])[label].exp() for j in range(len(bag))))
            for a, bag, label in zip(alpha, x, y, strict=True)
        ]
    )


def logit_loop(alpha, x, g, y) -> Tensor:
    losses = []
    for a, bag, label in zip(alpha, x, y, strict=True):
        logits = sum(a[j] * g(bag[j][None])[0] for j in range(len(bag)))
        losses.append(torch.logsumexp(logits, 0) - logits[label])
    return torch.stack(losses)


def responsibilities_loop(alpha, x, g, y) -> Tensor:
    rows = []
    for a, bag, label in zip(alpha, x, y, strict=True):
        joint = [a[j] * log_prob_loop(g, bag[j])[label].exp() for j in range(len(bag))]
        rows.append(torch.stack(joint) / sum(joint))
    return torch.stack(rows)


def projection_by_bisection(s: Tensor, power: float) -> Tensor:
    """Sparsemax (power 1) and 1.5-entmax of s/2 (power 2): find tau with Σ (s − tau)₊^power = 1."""
    low, high = float(s.max()) - 1, float(s.max())
    for _ in range(200):
        middle = (low + high) / 2
        total = float((s - middle).clamp_min(0).pow(power).sum())
        low, high = (middle, high) if total > 1 else (low, middle)
    return (s - (low + high) / 2).clamp_min(0).pow(power)
