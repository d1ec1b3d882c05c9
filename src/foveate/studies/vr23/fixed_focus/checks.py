"""From checks of one claim on several data sets to one finding."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from foveate.metrics.intervals import mean_interval
from foveate.records.findings import Finding
from foveate.studies.verdicts import Outcome, at_least, at_most, combine
from foveate.types import FloatArray

__all__ = [
    "Check",
    "CheckedClaim",
    "compare_interval",
    "compare_mean",
    "finding",
    "largest",
    "smallest",
]


TITLES: dict[Outcome, str] = {
    "met": "Met",
    "missed": "Not met",
    "against": "Contradicted",
    "open": "Undecided",
}


class Check(NamedTuple):
    """One condition: whether it is met, and the numbers.

    Args:
        met: Whether the mean meets it.
        text: The numbers in words.
        outcome: What the interval over seeds decides, where the criterion asks for it.
    """

    passed: bool
    text: str
    outcome: Outcome | None = None

    @property
    def result(self) -> Outcome:
        """The outcome, by the interval or else by the mean alone."""
        return self.outcome or ("met" if self.passed else "missed")


class CheckedClaim(NamedTuple):
    """The checks of a claim, the number to report (one per seed), and its figure."""

    checks: Sequence[Check]
    effect: FloatArray
    measure: str
    figure: str
    extra: str = ""


def finding(claim: str, checked: CheckedClaim, deviation: str) -> Finding:
    """The finding that follows from the checks of a claim."""
    verdict = combine([check.result for check in checked.checks])
    parts = {
        title: [check.text for check in checked.checks if check.result == outcome]
        for outcome, title in TITLES.items()
    }
    text = ". ".join(f"{title}: {'; '.join(texts)}" for title, texts in parts.items() if texts)
    mean, low, high = mean_interval(checked.effect)
    return Finding(
        claim,
        verdict,
        mean,
        low,
        high,
        checked.measure,
        text + "." + checked.extra,
        checked.figure,
        deviation,
    )


def compare_mean(values: FloatArray, bound: float, *, below: bool, text: str) -> Check:
    """A check of a mean over seeds against a bound; the text says if the interval contains it.

    A mean on the wrong side with its whole interval contradicts the claim.

    Args:
        values: One number a seed, shape (S,).
        bound: What the mean is compared with.
        below: Whether it must lie below, else above.
        text: The numbers in words.
    """
    interval = mean_interval(values)
    mean, low, high = interval
    if low is not None and high is not None and low < bound < high:
        text += f" (a close call: the 95 % interval, {low:.3g} to {high:.3g}, contains the bound)"
    passed = mean < bound if below else mean > bound
    against = (at_most if below else at_least)(interval, bound) == "against"
    return Check(passed, text, "against" if against else None)


def compare_interval(values: FloatArray, bound: float, *, below: bool, text: str) -> Check:
    """A check of the 95 % interval over seeds against a bound; arguments as above."""
    interval = mean_interval(values)
    outcome = at_most(interval, bound) if below else at_least(interval, bound)
    if interval.low is not None and interval.high is not None:
        text += f" [{interval.low:.3g}, {interval.high:.3g}]"
    return Check(outcome == "met", text, outcome)


def largest(rows: Mapping[str, FloatArray]) -> FloatArray:
    """The row of the data set with the largest mean, shape (S,)."""
    return max(rows.values(), key=lambda values: float(values.mean()))


def smallest(rows: Mapping[str, FloatArray]) -> FloatArray:
    """The row of the data set with the smallest mean, shape (S,)."""
    return min(rows.values(), key=lambda values: float(values.mean()))
