"""Question (e): is attention stable, over seeds, folds and the last epochs?"""

from dataclasses import dataclass

import numpy as np

from foveate.metrics.intervals import Interval
from foveate.trust.facts import exact_interval
from foveate.types import Array

__all__ = ["Stability", "by_fold", "last_epochs", "stability"]

BOTH = 0.5  # a from which on a top segment counts as evidence
LAST = 0.25  # share of the evaluations that count as the end of training


@dataclass(frozen=True)
class Stability:
    """How alike models attend on the bags of one class.

    Args:
        seeds: Share of pairs of models and bags with the same top segment, or both tops evidence;
            nan with one model.
        same_top: Share with the same top segment.
        epochs: Share of held-out bags whose top segment stays from one evaluation to the next at
            the end of training, all classes together; nan where that is not known.
        spread: Largest minus smallest estimated FT of a model; nan with one model.
        models: Number of models.
        folds: FT by the models of each fold; empty where bags are not read by folds, or where it is
            neither measured nor estimated.
    """

    seeds: float
    same_top: float
    epochs: float
    spread: float
    models: int
    folds: tuple[float, ...] = ()


def last_epochs(same_top: Array) -> float:
    """How often the top segment stays between evaluations at the end of training.

    Args:
        same_top: Share of bags with the same top segment as one evaluation before, by evaluation
            and model, shape (T, S); nan where it is not known.

    Example:
        >>> last_epochs(np.array([[np.nan], [0.2], [0.5], [0.9], [0.7]]))
        0.7
    """
    rows = same_top[~np.isnan(same_top).any(1)]
    if len(rows) < 2:  # one step from the random start to the end says nothing of the end
        return float("nan")
    return float(rows[-max(1, int(LAST * len(rows))) :].mean())


def by_fold(ft: Array, fold: Array) -> list[Interval]:
    """FT by the models of each fold, with an exact interval.

    Args:
        ft: FT of each bag, or the probability that its top segment is evidence, shape (k,).
        fold: The fold whose models read it, shape (k,).

    Example:
        >>> first, second = by_fold(np.array([1.0, 1.0, 0.0, 0.0]), np.array([0, 0, 0, 1]))
        >>> round(first.mean, 2), second.mean
        (0.67, 0.0)
    """
    parts = [ft[fold == k] for k in np.unique(fold)]
    return [exact_interval(float(part.sum()), len(part)) for part in parts]


def stability(
    top: Array, a: Array, of: Array, members: Array, epochs: float = float("nan")
) -> Stability:
    """How alike models attend on bags that they share.

    Args:
        top: The most attended segment of each bag, shape (S, k).
        a: Probability that it is evidence, shape (S, k).
        of: Which bags are of the class, boolean, shape (k,).
        members: Estimated FT of each model, shape (S,).
        epochs: What :func:`last_epochs` gave.

    Example:
        >>> top, a = np.array([[0, 1], [0, 2]]), np.array([[1.0, 0.9], [1.0, 0.0]])
        >>> stability(top, a, np.array([True, True]), a.mean(1)).seeds
        0.5
    """
    nan = float("nan")
    top, a = top[:, of], a[:, of]
    size = len(top)
    if size < 2 or not of.any():
        alike = same = spread = nan
    else:
        pairs = [(i, j) for i in range(size) for j in range(i)]
        equal = np.array([(top[i] == top[j]).mean() for i, j in pairs])
        both = [((a[i] >= BOTH) & (a[j] >= BOTH)) | (top[i] == top[j]) for i, j in pairs]
        same, alike = float(equal.mean()), float(np.mean([part.mean() for part in both]))
        spread = float(np.nanmax(members) - np.nanmin(members))
    return Stability(alike, same, epochs, spread, size)
