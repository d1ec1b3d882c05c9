"""From differences over paired seeds to verdicts and words."""

from collections.abc import Sequence

import numpy as np

from foveate.experiments.experiment import Verdict
from foveate.metrics.intervals import Interval
from foveate.record import Array

__all__ = ["above", "apart", "below", "in_words", "verdict_of"]


def verdict_of(conditions: Sequence[bool]) -> Verdict:
    """All of them: holds; some: in part; none: does not hold."""
    return "holds" if all(conditions) else "holds in part" if any(conditions) else "does not hold"


def above(interval: Interval, bound: float = 0.0) -> bool:
    """Whether the mean is above ``bound`` and the interval lies above 0."""
    return interval.mean > bound and interval.low is not None and interval.low > 0


def below(interval: Interval, bound: float = 0.0) -> bool:
    """Whether the mean is below ``bound`` and the interval lies below 0."""
    return interval.mean < bound and interval.high is not None and interval.high < 0


def apart(one: Array, other: Array) -> Interval:
    """The difference of two means over seeds that are not paired, with its bootstrap interval.

    Args:
        one: One value a seed, shape (S,).
        other: One value a seed, shape (S',).

    Example:
        >>> apart(np.array([2.0, 2.0]), np.array([1.0, 1.0, 1.0]))
        Interval(mean=1.0, low=1.0, high=1.0)
    """
    mean = float(np.mean(one) - np.mean(other))
    if min(len(one), len(other)) < 2:
        return Interval(mean, None, None)
    chance = np.random.default_rng(0)
    drawn = [
        part[chance.integers(len(part), size=(4000, len(part)))].mean(1) for part in (one, other)
    ]
    low, high = np.quantile(drawn[0] - drawn[1], [0.025, 0.975])
    return Interval(mean, float(low), float(high))


def in_words(value: Interval, digits: int = 1) -> str:
    """A difference with its interval.

    Example:
        >>> in_words(Interval(2.0, 1.0, 3.0))
        '+2.0 [+1.0, +3.0]'
    """
    mean = f"{value.mean:+.{digits}f}"
    if value.low is None or value.high is None:
        return mean
    return f"{mean} [{value.low:+.{digits}f}, {value.high:+.{digits}f}]"
