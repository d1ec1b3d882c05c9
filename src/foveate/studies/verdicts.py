"""Outcomes of conditions from intervals over seeds, and the verdict on a claim from outcomes."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from foveate.metrics.intervals import Interval
from foveate.records.findings import Verdict

__all__ = [
    "Outcome",
    "above",
    "at_least",
    "at_most",
    "below",
    "combine",
    "in_words",
    "tally_text",
    "verdict_of",
    "within",
]

Outcome = Literal["met", "missed", "against", "open", "untestable"]
"""Of one condition: its interval lies on the right side; a number without interval misses its
bound; the interval lies on the other side; it contains the bound; no model could meet it here."""


def at_least(interval: Interval, bound: float = 0.0) -> Outcome:
    """Whether an effect is above ``bound``, judged by its interval.

    Example:
        >>> at_least(Interval(2.0, 1.0, 3.0)), at_least(Interval(2.0, -1.0, 5.0))
        ('met', 'open')
        >>> at_least(Interval(-2.0, -3.0, -1.0)), at_least(Interval(2.0, None, None))
        ('against', 'open')
    """
    if interval.low is None or interval.high is None:
        return "open"
    if interval.low > bound:
        return "met"
    return "against" if interval.high < bound else "open"


def at_most(interval: Interval, bound: float = 0.0) -> Outcome:
    """Whether an effect is below ``bound``, judged by its interval.

    Example:
        >>> at_most(Interval(-2.0, -3.0, -1.0)), at_most(Interval(2.0, 1.0, 3.0))
        ('met', 'against')
    """
    if interval.low is None or interval.high is None:
        return "open"
    if interval.high < bound:
        return "met"
    return "against" if interval.low > bound else "open"


def within(interval: Interval, margin: float) -> Outcome:
    """Whether an effect lies between −margin and margin, judged by its interval.

    Example:
        >>> within(Interval(0.0, -1.0, 1.0), 5.0), within(Interval(9.0, 7.0, 11.0), 5.0)
        ('met', 'against')
    """
    sides = (at_least(interval, -margin), at_most(interval, margin))
    if "against" in sides:
        return "against"
    return "open" if "open" in sides else "met"


def combine(outcomes: Sequence[Outcome]) -> Verdict:
    """The verdict on a claim whose conditions have these outcomes.

    Conditions that are not testable do not count; without any other the claim is *not testable
    here*. All met: *holds*. More intervals on the other side than met: *contradicted*. More
    undecided conditions than decided ones: *underpowered*. Else *holds in part* if any is met, and
    *does not hold* (or *underpowered*, where nothing is decided) if none is.

    Example:
        >>> combine(["met", "untestable"]), combine(["met", "against", "against", "open"])
        ('holds', 'contradicted')
        >>> combine(["met", "open", "open"]), combine(["missed"]), combine(["untestable"])
        ('underpowered', 'does not hold', 'not testable here')
    """
    counts = Counter(outcome for outcome in outcomes if outcome != "untestable")
    total = counts.total()
    if not total:
        return "not testable here"
    if counts["met"] == total:
        return "holds"
    if counts["against"] > counts["met"]:
        return "contradicted"
    if 2 * counts["open"] > total:
        return "underpowered"
    if counts["met"]:
        return "holds in part"
    return "does not hold" if counts["missed"] else "underpowered"


_TITLES: dict[Outcome, str] = {
    "met": "met",
    "missed": "missed",
    "against": "contradicted",
    "open": "undecided",
    "untestable": "not testable here",
}


def tally_text(outcomes: Sequence[Outcome]) -> str:
    """How many conditions have each outcome, as a sentence.

    Example:
        >>> tally_text(["met", "open", "open"])
        '3 conditions: 1 met, 2 undecided.'
    """
    counts = Counter(outcomes)
    parts = [f"{counts[key]} {title}" for key, title in _TITLES.items() if counts[key]]
    return f"{len(outcomes)} condition{'s' * (len(outcomes) != 1)}: {', '.join(parts)}."


def verdict_of(conditions: Sequence[bool]) -> Verdict:
    """The verdict "holds" if all are true, "holds in part" if some are, else "does not hold".

    Example:
        >>> verdict_of([True, False])
        'holds in part'
    """
    return "holds" if all(conditions) else "holds in part" if any(conditions) else "does not hold"


def above(interval: Interval, bound: float = 0.0) -> bool:
    """Whether the mean is above ``bound`` and the interval lies above 0.

    Example:
        >>> above(Interval(2.0, 1.0, 3.0)), above(Interval(2.0, 1.0, 3.0), 10)
        (True, False)
    """
    return interval.mean > bound and interval.low is not None and interval.low > 0


def below(interval: Interval, bound: float = 0.0) -> bool:
    """Whether the mean is below ``bound`` and the interval lies below 0.

    Example:
        >>> below(Interval(-2.0, -3.0, -1.0))
        True
    """
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
