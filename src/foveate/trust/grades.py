"""Grades of attention, their thresholds, and the grade by FT alone."""

from typing import Literal

import numpy as np

from foveate.metrics.intervals import Interval
from foveate.trust.facts import ClassFacts
from foveate.trust.visibility import FEW

__all__ = [
    "BROKEN", "CARE", "FLIPS", "GRADES", "KEEP_ONLY", "OVERRIDDEN", "REMOVAL", "REPEATED", "STABLE",
    "TRUST", "Grade", "fold_misses", "ft_grade", "grade_of", "has_no_evidence", "is_measured",
]  # fmt: skip

Grade = Literal["trust", "trust with care", "do not trust", "cannot tell"]
GRADES: tuple[Grade, ...] = ("trust", "trust with care", "cannot tell", "do not trust")

TRUST, CARE = 0.85, 0.6  # FT from which a grade is given, measured or estimated
LEAST_TRUST, LEAST_CARE = 0.7, 0.55  # lower ends that an estimate must have, "trust" also measured
MOST = 0.75  # upper end below which an estimate is enough for "do not trust"
KEEP_ONLY = 0.5  # of right answers must stay with the attended segments alone
REMOVAL = 0.3  # of right answers must change without the attended segments: half of chance, C = 2
OVERRIDDEN = 0.8  # share that one segment of another class overturns, beyond the reverse
FLIPS = 0.2  # share overturned by one background segment
REPEATED = 0.25  # share that changes when one segment of a bag is repeated
BROKEN = 0.5  # share overturned by a segment of a class that was declared empty
STABLE = 0.7  # agreement of models


def grade_of(value: float) -> Grade:
    """The grade of an FT, measured or estimated."""
    if np.isnan(value):
        return "cannot tell"
    return "trust" if value >= TRUST else "trust with care" if value >= CARE else "do not trust"


def _measured_grade(measured: Interval, chance: float) -> Grade:
    """The grade of measured FT; "trust" also needs a lower end that leaves little doubt."""
    if measured.mean <= chance:
        return "do not trust"
    grade = grade_of(measured.mean)
    return "trust with care" if grade == "trust" and (measured.low or 0) < LEAST_TRUST else grade


def is_measured(facts: ClassFacts) -> bool:
    """Whether FT was measured on enough bags, so that no estimate is needed."""
    return facts.measured is not None and facts.known >= FEW


def has_no_evidence(facts: ClassFacts) -> bool:
    """Whether the class means that nothing is there, declared or inferred."""
    return facts.absent or (facts.presence == "nothing" and not is_measured(facts))


def fold_misses(facts: ClassFacts) -> bool:
    """Whether even the upper end of the worst fold's FT is too low, though FT of all is not."""
    whole = facts.measured.mean if is_measured(facts) and facts.measured else facts.estimate
    fold = facts.worst_fold
    return fold is not None and whole >= CARE and (fold.high or 0) < CARE


def ft_grade(facts: ClassFacts) -> Grade:
    """The limit by where the models look."""
    if is_measured(facts) and facts.measured is not None:
        return _measured_grade(facts.measured, facts.measured_chance)
    unseen = not facts.visible or facts.other_kind or facts.presence != "some"
    if unseen or facts.bags < FEW or np.isnan(facts.estimate):
        return "cannot tell"
    if facts.estimate >= TRUST and facts.low >= LEAST_TRUST:
        return "trust"
    if facts.estimate >= CARE and facts.low >= LEAST_CARE:
        return "trust with care"
    return "do not trust" if facts.estimate < CARE and facts.high < MOST else "cannot tell"
