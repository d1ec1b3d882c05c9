"""From checks of one claim on several data sets to one finding."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foveate.experiments.experiment import Finding, Verdict
from foveate.metrics.intervals import bootstrap

__all__ = ["Check", "Judged", "finding", "largest", "smallest"]

Array = NDArray[np.float64]


class Check(NamedTuple):
    """One condition: whether it is met, and the numbers."""

    met: bool
    said: str


class Judged(NamedTuple):
    """The checks of a claim, the number to report (one a seed), and its picture."""

    checks: Sequence[Check]
    effect: Array
    measure: str
    figure: str
    extra: str = ""


def finding(claim: str, judged: Judged, deviation: str) -> Finding:
    """All checks met: it holds; some: it holds in part; none: it does not hold."""
    met = [check.met for check in judged.checks]
    verdict: Verdict = "holds" if all(met) else "holds in part" if any(met) else "does not hold"
    said = ". ".join(("Yes, " if check.met else "No, ") + check.said for check in judged.checks)
    mean, low, high = bootstrap(judged.effect)
    return Finding(
        claim,
        verdict,
        mean,
        low,
        high,
        judged.measure,
        said + "." + judged.extra,
        judged.figure,
        deviation,
    )


def largest(rows: Mapping[str, Array]) -> Array:
    """The row of the data set with the largest mean, shape (S,)."""
    return max(rows.values(), key=lambda values: float(values.mean()))


def smallest(rows: Mapping[str, Array]) -> Array:
    """The row of the data set with the smallest mean, shape (S,)."""
    return min(rows.values(), key=lambda values: float(values.mean()))
