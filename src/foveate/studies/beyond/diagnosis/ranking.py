"""Does information rank the conditions by how fast and how surely they are learnt?"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from foveate.jobs.experiment import Records
from foveate.metrics.intervals import Interval
from foveate.studies.snell21.copying.findings import first_above
from foveate.types import FloatArray

if TYPE_CHECKING:
    from foveate.studies.beyond.diagnosis import DiagnosisSettings

__all__ = ["Ranking", "rank_correlation", "ranking", "steps_to_learn", "trained"]

DRAWS = 2000


class Ranking(NamedTuple):
    """Spearman's correlation of information with speed, and with the share of seeds that learn.

    Intervals are by bootstrap over seeds within each condition; conditions stay as they are.
    """

    speed: Interval
    success: Interval
    most: float
    """What the second could be at most: conditions that all seeds learn, or none, tie."""


def steps_to_learn(settings: "DiagnosisSettings", records: Records) -> dict[str, FloatArray]:
    """The first measured step at which each seed has learnt, infinite where none; by condition."""
    return {
        name: first_above(r, settings.learnt, settings.steps)
        for name, r in trained(records).items()
    }


def trained(records: Records) -> Records:
    """The records of what was trained; corpora are diagnosed alone."""
    return {name: record for name, record in records.items() if record.values}


def ranking(settings: "DiagnosisSettings", records: Records) -> Ranking:
    """How well the information of each condition ranks the results."""
    learnt = steps_to_learn(settings, records)
    information = np.array([float(records[name].final["information"][0]) for name in learnt])
    steps = np.stack(list(learnt.values()))
    share = np.isfinite(steps).mean(1)
    rng = np.random.default_rng(0)
    indices = rng.integers(steps.shape[1], size=(DRAWS, *steps.shape))
    sampled = np.take_along_axis(steps[None], indices, 2)
    return Ranking(
        _interval(information, -_ranks(np.median(steps, 1)), -_ranks(np.median(sampled, 2))),
        _interval(information, share, np.isfinite(sampled).mean(2)),
        float(rank_correlation(np.sort(information), np.sort(share))),
    )


def rank_correlation(a: FloatArray, b: FloatArray) -> Any:
    """Spearman's correlation with average ranks for ties; NaN where one of them is all ties.

    Args:
        a: Shape (n,).
        b: Shape (…, n).

    Returns:
        Shape (…).

    Example:
        >>> float(rank_correlation(np.array([0.0, 1.0, 5.0]), np.array([2.0, 3.0, 9.0])))
        1.0
    """
    from scipy.stats import rankdata

    u, v = (rankdata(x, axis=-1) - (len(a) + 1) / 2 for x in (a, b))
    with np.errstate(invalid="ignore"):
        return (v @ u) / np.sqrt((u @ u) * (v * v).sum(-1))


def _ranks(steps: FloatArray) -> FloatArray:
    """Steps with the infinite ones as one large number, so that they tie."""
    return np.where(np.isfinite(steps), steps, 1e12)


def _interval(information: FloatArray, value: FloatArray, draws: FloatArray) -> Interval:
    correlations = rank_correlation(information, draws)
    finite = correlations[np.isfinite(correlations)]
    mean = float(rank_correlation(information, value))
    if draws.shape[1] < 2 or not len(finite):
        return Interval(mean, None, None)
    low, high = np.quantile(finite, [0.025, 0.975])
    return Interval(mean, float(low), float(high))
