"""From checks of one claim on several data sets to one finding."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from foveate.metrics.intervals import mean_interval
from foveate.records.findings import Finding, Verdict
from foveate.types import FloatArray

__all__ = ["Check", "Judged", "finding", "held_to", "largest", "smallest"]


SIDES = {"Met": True, "Not met": False}


class Check(NamedTuple):
    """One condition: whether it is met, and the numbers."""

    met: bool
    said: str


class Judged(NamedTuple):
    """The checks of a claim, the number to report (one a seed), and its picture."""

    checks: Sequence[Check]
    effect: FloatArray
    measure: str
    figure: str
    extra: str = ""


def finding(claim: str, judged: Judged, deviation: str) -> Finding:
    """All checks met: it holds; some: it holds in part; none: it does not hold."""
    met = [check.met for check in judged.checks]
    verdict: Verdict = "holds" if all(met) else "holds in part" if any(met) else "does not hold"
    sides = {word: [c.said for c in judged.checks if c.met == met] for word, met in SIDES.items()}
    said = ". ".join(f"{word}: {'; '.join(parts)}" for word, parts in sides.items() if parts)
    mean, low, high = mean_interval(judged.effect)
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


def held_to(values: FloatArray, bound: float, *, below: bool, said: str) -> Check:
    """A check of a mean over seeds against a bound, which tells when seeds leave it open.

    Args:
        values: One number a seed, shape (S,).
        bound: What the mean is held to.
        below: Whether it must lie below, else above.
        said: The numbers in words.
    """
    mean, low, high = mean_interval(values)
    if low is not None and high is not None and low < bound < high:
        said += f" (a close call: the 95 % interval, {low:.3g} to {high:.3g}, holds the bound)"
    return Check(mean < bound if below else mean > bound, said)


def largest(rows: Mapping[str, FloatArray]) -> FloatArray:
    """The row of the data set with the largest mean, shape (S,)."""
    return max(rows.values(), key=lambda values: float(values.mean()))


def smallest(rows: Mapping[str, FloatArray]) -> FloatArray:
    """The row of the data set with the smallest mean, shape (S,)."""
    return min(rows.values(), key=lambda values: float(values.mean()))
