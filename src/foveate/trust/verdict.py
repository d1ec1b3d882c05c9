"""Verdicts in plain words: a grade, why, and what to do next."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from foveate.metrics.intervals import Interval
from foveate.trust.error_modes import ACCURATE, Flag

__all__ = ["CARE", "FEW", "GRADES", "TRUST", "ClassFacts", "Grade", "Verdict", "judge", "judge_all"]

Grade = Literal["trust", "trust with care", "do not trust", "cannot tell"]
GRADES: tuple[Grade, ...] = ("trust", "trust with care", "do not trust", "cannot tell")

TRUST, CARE = 0.85, 0.6  # FT from which a grade is given, measured or estimated
FEW = 15  # bags of a class below which nothing is said of it


@dataclass(frozen=True)
class Verdict:
    """A grade and its reasons.

    Args:
        grade: One of GRADES.
        said: One sentence.
        why: The evidence, a sentence each.
        next: What to do, a sentence each.
    """

    grade: Grade
    said: str
    why: tuple[str, ...] = ()
    next: tuple[str, ...] = ()


@dataclass(frozen=True)
class ClassFacts:
    """What a verdict on one class rests on, means over models.

    Args:
        name: The class.
        bags: How many bags it has.
        members: How many models there are.
        accuracy: Share of its bags that are read right.
        estimate: Estimated FT.
        unattended: Probability that g gives the class to what other bags leave unattended.
        flags: Error modes found.
        measured: FT where the relevance is known, else None.
        known: Bags whose relevance is known.
        absent: Whether the class means that nothing is there.
    """

    name: str
    bags: int
    members: int
    accuracy: float
    estimate: float
    unattended: float
    flags: Sequence[Flag] = ()
    measured: Interval | None = None
    known: int = 0
    absent: bool = False


def judge(facts: ClassFacts) -> Verdict:
    """The verdict on one class."""
    name = f"'{facts.name}'"
    if facts.absent:
        said = f"{name} means that nothing is there, so there is nothing to point at."
        return Verdict("cannot tell", said, _numbers(facts))
    if facts.bags < FEW or np.isnan(facts.estimate):
        said = f"Too few bags of {name} to tell: {facts.bags}, and {FEW} are needed."
        return Verdict("cannot tell", said, (), (f"Give more labelled bags of {name}.",))
    sure = facts.measured is not None and facts.known >= FEW
    value = facts.measured.mean if sure and facts.measured else facts.estimate
    grade = grade_of(value)
    if facts.flags and not sure:
        grade = "do not trust" if 2 * facts.flags[0].members >= facts.members else "trust with care"
    return Verdict(grade, _said(facts, grade), _numbers(facts), _next(facts, grade))


def judge_all(verdicts: Sequence[Verdict], facts: Sequence[ClassFacts], value: float) -> Verdict:
    """The verdict on a model from those on its classes: as good as the worst that can be told.

    Args:
        verdicts: One per class.
        facts: What they rest on.
        value: FT of the whole, measured or estimated.
    """
    told = [v for v in verdicts if v.grade != "cannot tell"]
    if not told:
        reasons = tuple(v.said for v in verdicts)
        return Verdict("cannot tell", "Nothing can be said of where these models look.", reasons)
    worst = max(told, key=lambda v: GRADES.index(v.grade)).grade
    bad = [f.name for f, v in zip(facts, verdicts, strict=True) if v.grade == worst]
    said = f"They look at the evidence in about {100 * value:.0f} % of bags"
    said += {
        "trust": ", in every class that can be judged.",
        "trust with care": f"; look twice where they point for {_listed(bad)}.",
        "do not trust": f"; do not believe where they point for {_listed(bad)}.",
    }[worst]
    steps = [step for v in told if v.grade == worst for step in v.next]
    why = tuple(v.said for v in told if v.grade == worst)
    return Verdict(worst, said, why if worst != "trust" else (), tuple(dict.fromkeys(steps)))


def grade_of(value: float) -> Grade:
    """The grade of an FT, measured or estimated."""
    if np.isnan(value):
        return "cannot tell"
    return "trust" if value >= TRUST else "trust with care" if value >= CARE else "do not trust"


def _said(facts: ClassFacts, grade: Grade) -> str:
    name, flag = f"'{facts.name}'", facts.flags[0] if facts.flags else None
    if grade == "trust":
        return f"Where attention points for {name} can be trusted."
    if flag is None:
        if facts.accuracy < ACCURATE:
            right = f"{name} is read right in {100 * facts.accuracy:.0f} % of its bags"
            return f"{right}, and attention often misses it."
        return f"Attention for {name} is partly elsewhere."
    who = "" if facts.members == 1 else f" ({flag.members} of {facts.members} models)"
    return {
        1: f"{name} is read from the background{who}: the models answer {name} when they see "
        "nothing else, and look past its evidence.",
        2: f"Two wrongs make a right for {name}{who}: the focus ranks its evidence last, and the "
        f"classifier reads the rest as {name}.",
        3: f"Attention for {name} is nearly uniform{who}: the answer comes from the average of all "
        "segments, and the top segment means little.",
    }[flag.mode]


def _numbers(facts: ClassFacts) -> tuple[str, ...]:
    lines = []
    if facts.measured is not None and facts.known:
        ends = facts.measured
        spread = (
            "" if ends.low is None else f" [{100 * ends.low:.0f}, {100 * (ends.high or 0):.0f}]"
        )
        value = f"FT {100 * ends.mean:.0f} %{spread}"
        lines.append(f"Measured on {facts.known} bags with known relevance: {value}.")
    lines.append(
        f"Estimated FT {100 * facts.estimate:.0f} %, accuracy {100 * facts.accuracy:.0f} % on "
        f"{facts.bags} bags."
    )
    lines.append(
        f"What bags of other classes leave unattended is read as '{facts.name}' with probability "
        f"{facts.unattended:.2f}."
    )
    return tuple(lines)


def _next(facts: ClassFacts, grade: Grade) -> tuple[str, ...]:
    name = f"'{facts.name}'"
    if grade == "trust":
        return ()
    label = f"Mark the relevant segments of 20 bags of {name} and train with --supervise-focus."
    if not facts.flags:
        more = f"Train longer or with more bags of {name}: it is not learnt yet."
        return (more, label) if facts.accuracy < ACCURATE else (label,)
    step = {
        1: "Train with --paradigms witness, which works against reading a class from the "
        "background, and examine again.",
        2: "Give the focus a network that can rank it first (a hidden layer), and examine again.",
        3: "Train with lvml, hard or hybrid attention, whose loss reads single segments.",
    }[facts.flags[0].mode]
    return (step, label)


def _listed(names: Sequence[str]) -> str:
    quoted = [f"'{name}'" for name in names]
    if len(quoted) > 6:
        return f"{', '.join(quoted[:5])} and {len(quoted) - 5} other classes"
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"
