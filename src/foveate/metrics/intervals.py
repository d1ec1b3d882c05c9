"""Intervals of means over seeds, by Student's t: a few seeds are too few to resample."""

from typing import NamedTuple

import numpy as np

from foveate.types import Array

__all__ = ["Interval", "difference_interval", "ends_of_mean", "mean_interval", "wilson_interval"]


class Interval(NamedTuple):
    """A mean over seeds and its interval; the ends are None where one seed gives no spread."""

    mean: float
    low: float | None
    high: float | None


def mean_interval(
    values: Array, *, level: float = 0.95, within: tuple[float, float] | None = None
) -> Interval:
    """The mean of ``values`` with its interval by Student's t.

    Its coverage is nominal for about normal values, from two seeds on. Resampling covers less: a
    percentile bootstrap of three values covers the mean three times in four.

    Args:
        values: One value per seed, shape (S,).
        level: Coverage.
        within: Bounds of the mean; the interval is clipped to them.

    Example:
        >>> mean_interval(np.array([1.0, 1.0, 1.0]))
        Interval(mean=1.0, low=1.0, high=1.0)
    """
    values = np.asarray(values, dtype=float)
    mean = float(values.mean())
    if len(values) < 2:
        return Interval(mean, None, None)
    low, high = (float(end) for end in ends_of_mean(values, level=level))
    if within is not None:
        low, high = max(low, min(mean, within[0])), min(high, max(mean, within[1]))
    return Interval(mean, low, high)


def ends_of_mean(values: Array, *, level: float = 0.95) -> tuple[Array, Array]:
    """The ends that :func:`mean_interval` has, for all rows of values (…, S) at once, each (…).

    With one seed they are its value.
    """
    seeds = values.shape[-1]
    mean = values.mean(-1)
    spread = values.std(-1, ddof=1) / np.sqrt(seeds) if seeds > 1 else np.zeros_like(mean)
    spread = np.where(np.ptp(values, -1) == 0, 0.0, spread)  # equal ones differ from their mean
    half = _quantile(max(1, seeds - 1), level) * spread
    return mean - half, mean + half


def difference_interval(one: Array, other: Array, *, level: float = 0.95) -> Interval:
    """The difference of two means over seeds that are not paired, by Welch's t.

    Args:
        one: One value a seed, shape (S,).
        other: One value a seed, shape (S',).
        level: Coverage.

    Example:
        >>> difference_interval(np.array([2.0, 2.0]), np.array([1.0, 1.0, 1.0]))
        Interval(mean=1.0, low=1.0, high=1.0)
    """
    mean = float(np.mean(one) - np.mean(other))
    if min(len(one), len(other)) < 2:
        return Interval(mean, None, None)
    parts = np.array([np.var(part, ddof=1) / len(part) for part in (one, other)])
    if not parts.any():
        return Interval(mean, mean, mean)
    freedom = parts.sum() ** 2 / (parts**2 / [len(one) - 1, len(other) - 1]).sum()
    half = float(_quantile(freedom, level) * np.sqrt(parts.sum()))
    return Interval(mean, mean - half, mean + half)


def wilson_interval(count: int, total: int, *, level: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a share; it has a width also if all or none of few cases count.

    Args:
        count: Number of cases that count.
        total: Number of cases, at least 1.
        level: Coverage.

    Example:
        >>> [round(end, 3) for end in wilson_interval(2, 2)]
        [0.342, 1.0]
    """
    from scipy.special import ndtri

    z, share = float(ndtri((1 + level) / 2)), count / total
    centre = share + z**2 / (2 * total)
    half = z * float(np.sqrt(share * (1 - share) / total + z**2 / (4 * total**2)))
    scale = 1 + z**2 / total
    return max(0.0, (centre - half) / scale), min(1.0, (centre + half) / scale)


def _quantile(freedom: float, level: float) -> float:
    """Student's t that a share of ``level`` lies within, two-sided."""
    from scipy.special import stdtrit  # slow to import

    return float(stdtrit(freedom, (1 + level) / 2))
