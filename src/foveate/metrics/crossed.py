"""Intervals over two factors: members (seeds) and the cases that all of them were evaluated on."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foveate.metrics.intervals import Interval

__all__ = ["crossed"]


Parts = tuple[NDArray[Any], NDArray[Any]]


def crossed(
    total: NDArray[Any],
    count: NDArray[Any],
    minus: Parts | None = None,
    *,
    draws: int = 2000,
    seed: int = 0,
) -> Interval:
    r"""A mean :math:`\sum_{s,n} t_{sn} / \sum_{s,n} c_{sn}` with its 95 % bootstrap interval.

    Members and cases are resampled with replacement, independently of each other, so
    that the interval covers other seeds and other images. With one member only cases are drawn;
    where nothing is counted the mean is 0.

    Args:
        total: Sum of the values of each member on each case, shape (S, N).
        count: How many values are in each sum, shape (S, N).
        minus: Totals and counts of another mean that is subtracted, on the same draws.
        draws: Resamples.
        seed: Decides the resamples, so that a report repeats.

    Example:
        >>> crossed(np.array([[1.0, 4.0]]), np.array([[1, 2]])).mean
        1.6666666666666667
    """
    parts = [(total, count), *([minus] if minus is not None else [])]
    pairs = [(np.asarray(t, float), np.asarray(c, float)) for t, c in parts]
    members, cases = pairs[0][0].shape
    one = np.ones((1, members)), np.ones((1, cases))
    mean = float(_difference(pairs, *one)[0])
    if cases < 2:
        return Interval(mean, None, None)
    generator = np.random.default_rng(seed)
    by_member = generator.multinomial(members, np.full(members, 1 / members), draws)
    by_case = generator.multinomial(cases, np.full(cases, 1 / cases), draws)
    low, high = np.quantile(_difference(pairs, by_member, by_case), [0.025, 0.975])
    return Interval(mean, float(low), float(high))


def _difference(
    pairs: list[Parts], by_member: NDArray[Any], by_case: NDArray[Any]
) -> NDArray[np.float64]:
    """The first mean less the second, for each draw; a mean of nothing is 0."""
    means = []
    for pair in pairs:
        above, below = (((by_member @ part) * by_case).sum(1) for part in pair)
        means.append(above / np.where(below > 0, below, 1))
    result: NDArray[np.float64] = means[0] - means[1] if len(means) > 1 else means[0]
    return result
