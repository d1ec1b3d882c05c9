"""How well bags are classified: balanced accuracy, AUROC, log loss, calibration; with intervals."""

import numpy as np

from foveate.metrics.calibration import calibration_error
from foveate.metrics.intervals import Interval
from foveate.types import Array

__all__ = ["MEASURES", "auroc_difference", "mean_probability", "scores"]

DRAWS = 1000
MEASURES = ("balanced_accuracy", "accuracy", "auroc", "log_loss", "calibration_error")


def mean_probability(log_p: Array) -> Array:
    """Probabilities averaged over members, from log-probabilities (S, n, C) to (n, C)."""
    p: Array = np.exp(np.asarray(log_p, np.float64)).mean(0)
    return p / p.sum(1, keepdims=True)


def scores(p: Array, y: Array, group: Array | None = None, *, seed: int = 0) -> dict[str, Interval]:
    """All of :data:`MEASURES`, each with a 95 % interval by bootstrap over bags, groups whole.

    Args:
        p: Probabilities, shape (n, C).
        y: Labels, shape (n,).
        group: Groups, shape (n,).
        seed: Decides the resamples.
    """
    weights = np.vstack([np.ones(len(y)), _resampled(len(y), group, seed)])
    result = {
        "balanced_accuracy": _balanced_accuracy(p, y, weights),
        "accuracy": _mean(p.argmax(1) == y, weights),
        "auroc": _auroc(p, y, weights),
        "log_loss": _mean(_log_loss(p, y), weights),
    }
    intervals = {name: _interval(values) for name, values in result.items()}
    return {**intervals, "calibration_error": Interval(calibration_error(p, y), None, None)}


def auroc_difference(
    p: Array, q: Array, y: Array, group: Array | None = None, *, seed: int = 0
) -> Interval:
    """AUROC of p minus AUROC of q on the same bags, with a 95 % interval by paired bootstrap.

    Args:
        p: Probabilities of one classifier, shape (n, C).
        q: Probabilities of another, shape (n, C).
        y: Labels, shape (n,).
        group: Groups, shape (n,).
        seed: Decides the resamples.
    """
    weights = np.vstack([np.ones(len(y)), _resampled(len(y), group, seed)])
    return _interval(_auroc(p, y, weights) - _auroc(q, y, weights))


def _resampled(n: int, group: Array | None, seed: int) -> Array:
    """How often each bag is drawn, shape (draws, n)."""
    _, unit = (None, np.arange(n)) if group is None else np.unique(group, return_inverse=True)
    many = int(unit.max()) + 1
    draws = np.random.default_rng(seed).integers(many, size=(DRAWS, many))
    counts = np.zeros((DRAWS, many))
    np.add.at(counts, (np.arange(DRAWS)[:, None], draws), 1)
    return counts[:, unit]


def _interval(values: Array) -> Interval:
    """The first value is that of all bags, the others those of resamples."""
    drawn = values[1:][np.isfinite(values[1:])]
    if not len(drawn) or not np.isfinite(values[0]):
        return Interval(float(values[0]), None, None)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Interval(float(values[0]), float(low), float(high))


def _mean(values: Array, weights: Array) -> Array:
    mean: Array = weights @ values.astype(float) / weights.sum(1)
    return mean


def _log_loss(p: Array, y: Array) -> Array:
    label_p = p[np.arange(len(y)), y]
    loss: Array = -np.log(np.maximum(label_p, 1e-12))
    return loss


def _balanced_accuracy(p: Array, y: Array, weights: Array) -> Array:
    """The mean over classes of the share that is right; classes not drawn are left out."""
    right = (p.argmax(1) == y).astype(float)
    members = y[:, None] == np.arange(p.shape[1])
    drawn, hits = weights @ members, weights @ (members * right[:, None])
    share = np.divide(hits, drawn, out=np.full_like(hits, np.nan), where=drawn > 0)
    mean: Array = np.nanmean(share, 1)
    return mean


def _auroc(p: Array, y: Array, weights: Array) -> Array:
    """The mean over classes of one against the rest; of two classes, the one area there is."""
    classes = [c for c in np.unique(y) if p.shape[1] > 2 or c == 1]
    areas = [_area(p[:, c], y == c, weights) for c in classes if (y == c).any() and (y != c).any()]
    if not areas:
        return np.full(len(weights), np.nan)
    mean: Array = np.mean(areas, 0)
    return mean


def _area(score: Array, positive: Array, weights: Array) -> Array:
    """Probability that a positive scores above a negative, ties counting half."""
    order = np.argsort(score, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(score[order]) > 0])
    up = np.add.reduceat((weights * positive)[:, order], starts, axis=1)
    down = np.add.reduceat((weights * ~positive)[:, order], starts, axis=1)
    wins = (up * (down.cumsum(1) - down / 2)).sum(1)
    pairs = up.sum(1) * down.sum(1)
    return np.divide(wins, pairs, out=np.full(len(wins), np.nan), where=pairs > 0)
