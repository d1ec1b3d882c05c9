"""Intervals over seeds, by bootstrap."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Interval", "bootstrap"]


class Interval(NamedTuple):
    """A mean over seeds and its interval; the ends are None where one seed gives no spread."""

    mean: float
    low: float | None
    high: float | None


def bootstrap(
    values: NDArray[Any], *, level: float = 0.95, draws: int = 4000, seed: int = 0
) -> Interval:
    """The mean of ``values`` with its percentile bootstrap interval.

    Args:
        values: One value per seed, shape (S,).
        level: Coverage.
        draws: Resamples.
        seed: Decides the resamples, so that a report repeats.

    Example:
        >>> bootstrap(np.array([1.0, 1.0, 1.0]))
        Interval(mean=1.0, low=1.0, high=1.0)
    """
    values = np.asarray(values, dtype=float)
    mean = float(values.mean())
    if len(values) < 2:
        return Interval(mean, None, None)
    picks = np.random.default_rng(seed).integers(len(values), size=(draws, len(values)))
    low, high = np.quantile(values[picks].mean(1), [(1 - level) / 2, (1 + level) / 2])
    return Interval(mean, float(low), float(high))
