"""Logistic regression of pooled segments: fitted in folds, read by torch, with evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from foveate.types import Array
from foveate.userdata.fold_draw import draw_folds
from foveate.userdata.pooled_segments import segment_shares

__all__ = ["LinearModel", "PooledLinear", "fit_linear", "rows_at"]

PENALTIES = 10.0 ** np.arange(-3, 3)  # inverse strengths of L2 that inner folds choose from


@dataclass(frozen=True)
class LinearModel:
    r"""A softmax-linear classifier of standardised features.

    Args:
        weight: Weights on the features as they come, shape (C, d).
        bias: Intercepts, shape (C,).
    """

    weight: Array
    bias: Array

    def probabilities(self, x: Array) -> Array:
        """Probabilities of the classes, from features (n, d) to (n, C)."""
        logits = x @ self.weight.T + self.bias
        exponentials = np.exp(logits - logits.max(1, keepdims=True))
        p: Array = exponentials / exponentials.sum(1, keepdims=True)
        return p


@dataclass(frozen=True)
class PooledLinear:
    """Linear models of P folds, of K pooled rows of d numbers side by side.

    Args:
        kinds: How segments are pooled: K of "mean", "max" and "min".
        weight: Weights, shape (P, C, K d).
        bias: Intercepts, shape (P, C).
    """

    kinds: tuple[str, ...]
    weight: Tensor
    bias: Tensor

    @staticmethod
    def tensors(name: str, models: Sequence[LinearModel]) -> dict[str, Tensor]:
        """What is stored of the models of all folds of the baseline ``name``."""
        return {
            f"{name}.weight": torch.from_numpy(np.stack([model.weight for model in models])),
            f"{name}.bias": torch.from_numpy(np.stack([model.bias for model in models])),
        }

    @classmethod
    def of_tensors(
        cls, stored: Mapping[str, Tensor], name: str, kinds: tuple[str, ...], folds: Sequence[int]
    ) -> "PooledLinear":
        """The models of some folds, from what :meth:`tensors` gave."""
        folds = list(folds)
        return cls(kinds, stored[f"{name}.weight"][folds], stored[f"{name}.bias"][folds])

    def probabilities(self, x: Tensor) -> Tensor:
        """Probabilities of every fold's model, from pooled features (n, K d) to (P, n, C)."""
        logits = torch.einsum("pcd,nd->pnc", self.weight, x) + self.bias[:, None]
        return logits.softmax(2)

    def evidence(self, rows: Tensor) -> Tensor:
        """Share of each segment in the centred logits of the bag, without intercept.

        Mean over folds, from segments (m, d) to (m, C).
        """
        weight = self.weight.mean(0)
        weight = weight - weight.mean(0)
        return segment_shares(rows, self.kinds) @ weight.T

    def alone(self, rows: Tensor) -> Tensor:
        """Probabilities of each segment as a bag of its own, mean over folds, (m, d) to (m, C)."""
        return self.probabilities(rows.repeat(1, len(self.kinds))).mean(0)


def fit_linear(
    x: Array,
    y: Array,
    classes: int,
    groups: Array | None = None,
    sample_weight: Array | None = None,
) -> LinearModel:
    """Logistic regression on standardised features, its L2 penalty chosen in inner folds.

    Args:
        x: Features, shape (n, d).
        y: Labels, shape (n,); every class occurs.
        classes: Number of classes C.
        groups: Groups that inner folds do not divide, shape (n,).
        sample_weight: Weights of the bags, shape (n,).
    """
    mean, scale = x.mean(0), x.std(0)
    scale = np.where(scale > 0, scale, 1.0)
    z = (x - mean) / scale
    penalty = _penalty(z, y, groups, sample_weight)
    model = _logistic(penalty).fit(z, y, sample_weight=sample_weight)
    weight, bias = model.coef_, model.intercept_
    if classes == 2:
        weight, bias = np.vstack([-weight, weight]) / 2, np.concatenate([-bias, bias]) / 2
    weight = weight / scale
    return LinearModel(weight, bias - weight @ mean)


def rows_at(values: Array | None, rows: Array) -> Array | None:
    """Some rows of an array that may be missing."""
    return None if values is None else values[rows]


def _logistic(penalty: float) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=penalty, max_iter=1000)


def _penalty(z: Array, y: Array, groups: Array | None, weight: Array | None = None) -> float:
    """The inverse penalty with the lowest log loss in inner folds; .01 where bags are too few."""
    units = np.arange(len(y)) if groups is None else groups
    folds = min(3, int(np.bincount(y).min()), len(np.unique(units)))
    if folds < 2:
        return 0.01
    fold = draw_folds(y, units, folds, 0)
    losses = np.zeros(len(PENALTIES))
    for k in range(folds):
        held_out = fold == k
        if len(np.unique(y[~held_out])) < len(np.unique(y)):
            return 0.01
        for i, penalty in enumerate(PENALTIES):
            model = _logistic(penalty).fit(
                z[~held_out], y[~held_out], sample_weight=rows_at(weight, ~held_out)
            )
            label_p = model.predict_proba(z[held_out])[np.arange(held_out.sum()), y[held_out]]
            logs = np.log(np.maximum(label_p, 1e-12))
            losses[i] -= float((logs if weight is None else logs * weight[held_out]).sum())
    return float(PENALTIES[losses.argmin()])
