"""Controls: do seeds attend alike, and what do unattended segments still tell?"""

from collections.abc import Sequence
from math import prod

import numpy as np
import torch

from foveate.bags.bag import Bag
from foveate.metrics.ranks import from_the_top, spearman
from foveate.trust.segment_evidence import masks
from foveate.trust.subject import Reading
from foveate.types import Array

__all__ = ["left_over", "seed_agreement"]

NUMBERS = 2**22  # of segments written out at a time: 32 MB


def seed_agreement(reading: Reading, mask: Array) -> tuple[Array, Array]:
    """How alike members attend on the same bags: each with all others, shape (S, n) twice.

    The first is the share of other members with the same top segment, the second the mean
    Spearman correlation of attention with theirs. nan where there is one member.

    Args:
        reading: All members on one set of bags.
        mask: Where segments exist, shape (n, m).
    """
    size, n, _ = reading.alpha.shape
    if size < 2:
        return np.full((size, n), np.nan), np.full((size, n), np.nan)
    order = from_the_top(reading.alpha, reading.s, np.broadcast_to(mask, reading.alpha.shape))
    top = order[..., 0]
    same = (top[:, None] == top[None]).sum(1) - 1.0
    total, counted = np.zeros((size, n)), np.zeros((size, n))
    for i in range(size):
        for j in range(i):
            rho = spearman(reading.s[i], reading.s[j], mask)
            known = ~np.isnan(rho)
            for k in (i, j):
                total[k] += np.where(known, rho, 0.0)
                counted[k] += known
    mean = np.divide(total, counted, out=np.full((size, n), np.nan), where=counted > 0)
    return same / (size - 1), mean


def left_over(bags: Sequence[Bag], alpha: Array, *, folds: int = 3, width: int = 32) -> Array:
    """How well a fresh probe reads the label off what was not attended, shape (S,).

    Segments are averaged with weights 1 − α; a logistic regression on at most ``width`` principal
    components is cross-validated. nan where a class has fewer bags than folds, and for words, whose
    numbers are names.

    Args:
        bags: One set for all members, or one each.
        alpha: Attention, shape (S, n, m).
        folds: Folds of the cross-validation.
        width: Most components.
    """
    from sklearn.decomposition import PCA
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    values = []
    mask = np.broadcast_to(masks(bags), alpha.shape)
    for i, member_alpha in enumerate(alpha):
        bag = bags[0] if len(bags) == 1 else bags[i]
        y = bag.y.numpy()
        counts = np.bincount(y)
        few = len(counts[counts > 0]) < 2 or counts[counts > 0].min() < folds
        if few or not bag.take(slice(0, 1)).dense().is_floating_point():
            values.append(float("nan"))
            continue
        weight = torch.from_numpy(np.where(mask[i], 1 - member_alpha, 0.0))
        weight /= weight.sum(1, keepdim=True).clamp_min(1e-12)
        features = _mixed(bag, weight).numpy()
        parts = min(width, features.shape[1], len(y) * (folds - 1) // folds - 1)
        model = make_pipeline(
            PCA(parts, svd_solver="full"), StandardScaler(), LogisticRegression(max_iter=500)
        )
        split = StratifiedKFold(folds, shuffle=True, random_state=0)
        values.append(float(cross_val_score(model, features, y, cv=split).mean()))
    return np.array(values)


def _mixed(bag: Bag, weight: torch.Tensor) -> torch.Tensor:
    """Segments mixed with weights (n, m), shape (n, d); a bounded number is written out at once."""
    at_once = max(1, NUMBERS // (bag.m * prod(bag.segment_shape)))
    return torch.cat(
        [
            torch.einsum("nm,nmd->nd", weight[rows], bag.take(rows).dense().flatten(2).double())
            for rows in torch.arange(len(bag)).split(at_once)
        ]
    )
