"""Statistics over starts: differences, ranks, and cross-validated predictions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from foveate.metrics.intervals import Interval
from foveate.types import Array

__all__ = ["as_row", "auc", "cross_validated_scores", "mean_of_means"]

DRAWS = 2000


def mean_of_means(groups: Sequence[Array]) -> Interval:
    """The mean of the groups' means, members resampled within each group."""
    return _resampled(groups, lambda parts: np.mean([part.mean(-1) for part in parts], 0))


def auc(score: Array, positive: Array) -> Interval:
    """Chance that a positive scores above a negative, ties counting half, with its interval.

    Args:
        score: The predictor, shape (S,).
        positive: Boolean, shape (S,). Both kinds must be there.

    Example:
        >>> auc(np.array([0.1, 0.4, 0.4, 0.9]), np.array([False, False, True, True])).mean
        0.875
    """
    return _resampled([score[positive], score[~positive]], lambda parts: _share_above(*parts))


def _share_above(above: Array, below: Array) -> Array:
    """Mean over pairs of [a > b] + [a = b]/2, along the last axis."""
    edges = np.sort(below, -1)
    auc = np.empty(above.shape[:-1])
    for i in np.ndindex(auc.shape):
        left = np.searchsorted(edges[i], above[i], "left")
        right = np.searchsorted(edges[i], above[i], "right")
        auc[i] = (left + right).mean() / 2 / edges.shape[-1]
    return auc


def _resampled(groups: Sequence[Array], statistic: Any) -> Interval:
    value = float(statistic([np.asarray(group, dtype=float) for group in groups]))
    if any(len(group) < 2 for group in groups):
        return Interval(value, None, None)
    rng = np.random.default_rng(0)
    resampled = [group[rng.integers(len(group), size=(DRAWS, len(group)))] for group in groups]
    low, high = np.quantile(statistic([part.astype(float) for part in resampled]), [0.025, 0.975])
    return Interval(value, float(low), float(high))


def as_row(value: Interval) -> dict[str, float]:
    """``mean``, ``low`` and ``high`` for a chart; a missing interval has width 0."""
    low, high = value.low, value.high
    return {
        "mean": value.mean,
        "low": value.mean if low is None else low,
        "high": value.mean if high is None else high,
    }


def cross_validated_scores(features: Array, positive: Array, folds: int = 5) -> Array:
    """The log-odds that a logistic regression, fitted to the other folds, gives to each member.

    Args:
        features: Shape (S, F).
        positive: Boolean, shape (S,), with at least ``folds`` of each kind.
        folds: Parts of the cross-validation.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    parts = StratifiedKFold(folds, shuffle=True, random_state=0)
    odds: Array = cross_val_predict(model, features, positive, cv=parts, method="decision_function")
    return odds
