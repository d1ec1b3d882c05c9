"""The same quantities as plain loops: slow, obvious, and independent of the library."""

import itertools
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


def odds_loop(g, bag: Tensor, kind: str) -> Tensor:
    """Odds of every class in a bag by enumeration of its segments."""
    scores = [g(segment[None])[0].exp() for segment in bag]
    if kind == "max":
        return torch.stack(
            [max((odds[c] for odds in scores), key=float) for c in range(len(scores[0]))]
        )
    if kind == "presence":
        return sum(scores)
    total = torch.zeros_like(scores[0])
    for flags in itertools.product((False, True), repeat=len(scores)):  # which segments show it
        if any(flags):
            chosen = [odds for odds, exists in zip(scores, flags, strict=True) if exists]
            total = total + torch.stack(chosen).prod(0)
    return total


def pooled_loop(x, g, y, kind: str, absent=(), bias: float = 0.0) -> Tensor:
    """Losses of max, presence and noisy-or pooling."""
    losses = []
    for bag, label in zip(x, y, strict=True):
        odds = odds_loop(g, bag, kind)
        odds = torch.stack(
            [torch.tensor(bias).double().exp() if c in absent else o for c, o in enumerate(odds)]
        )
        losses.append(-(odds[label] / odds.sum()).log())
    return torch.stack(losses)


def additive_loop(alpha, x, g, y) -> Tensor:
    losses = []
    for a, bag, label in zip(alpha, x, y, strict=True):
        logits = sum(g((a[j] * bag[j])[None])[0] for j in range(len(bag)))
        losses.append(torch.logsumexp(logits, 0) - logits[label])
    return torch.stack(losses)


def mean_loop(alpha, x, g, y) -> Tensor:
    return soft_loop(torch.full_like(alpha, 1 / alpha.shape[1]), x, g, y)


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


def focus_true_loop(s, z, mask) -> bool:
    """FT of one bag: the best relevant segment strictly above every other that exists."""
    exists = [j for j in range(len(s)) if mask[j]]
    relevant = [s[j] for j in exists if z[j]]
    others = [s[j] for j in exists if not z[j]]
    return bool(relevant) and all(max(relevant) > score for score in others)


def heat_map_loop(a_z, p_y, edges) -> list[list[float]]:
    """Shares of the cells [e_i, e_{i+1}), the last one closed; rows follow the prediction score."""
    cells = len(edges) - 1
    share = [[0.0] * cells for _ in range(cells)]

    def cell(value):
        inside = [i for i in range(cells) if edges[i] <= value < edges[i + 1]]
        return inside[0] if inside else cells - 1

    for a, p in zip(a_z, p_y, strict=True):
        share[cell(p)][cell(a)] += 1 / len(a_z)
    return share


def corner_distance_loop(alpha) -> float:
    """The least Euclidean distance of attention from a corner of the simplex."""
    return min(
        math.sqrt(sum((a - (i == j)) ** 2 for i, a in enumerate(alpha))) for j in range(len(alpha))
    )


def entropy_bits_loop(alpha) -> float:
    return -sum(a * math.log2(a) for a in alpha if a > 0)


def mix_loop(alpha: Tensor, x: Tensor) -> Tensor:
    return torch.stack(
        [
            sum((a[j] * bag[j] for j in range(1, len(bag))), a[0] * bag[0])
            for a, bag in zip(alpha, x, strict=True)
        ]
    )


def fixed_focus_loop(alpha: float, z, mask) -> list[float]:
    """α shared among the relevant segments of one bag, 1 − α among the others that exist."""
    relevant = sum(map(bool, z))
    others = sum(m and not r for r, m in zip(z, mask, strict=True))
    return [
        (alpha / relevant if r else (1 - alpha) / others) if m else 0.0
        for r, m in zip(z, mask, strict=True)
    ]
