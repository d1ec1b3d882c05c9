"""From differences over paired seeds to verdicts and words."""

from collections.abc import Sequence

from foveate.metrics.intervals import Interval
from foveate.records.findings import Verdict

__all__ = ["above", "below", "in_words", "verdict_of"]


def verdict_of(conditions: Sequence[bool]) -> Verdict:
    """All of them: holds; some: in part; none: does not hold."""
    return "holds" if all(conditions) else "holds in part" if any(conditions) else "does not hold"


def above(interval: Interval, bound: float = 0.0) -> bool:
    """Whether the mean is above ``bound`` and the interval lies above 0."""
    return interval.mean > bound and interval.low is not None and interval.low > 0


def below(interval: Interval, bound: float = 0.0) -> bool:
    """Whether the mean is below ``bound`` and the interval lies below 0."""
    return interval.mean < bound and interval.high is not None and interval.high < 0


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
