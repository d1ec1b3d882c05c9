"""Verdicts: a grade by a written rule, the reasons, and what to do next.

The grade of a class is the lowest of these limits, in the order trust, trust with care, cannot
tell, do not trust:

1. FT. Measured on 15 bags or more: trust from .85, trust with care from .6, else do not trust; do
   not trust where it is not above chance. Else estimated, if the auditor can see and there is one
   kind of evidence (otherwise cannot tell): trust from .85 with a lower end of at least .7, trust
   with care from .6 with a lower end of at least .5, do not trust below .6 with an upper end below
   .75, else cannot tell. Fewer known bags: do not trust where even the upper end of their exact
   interval is below .6.
2. The worst model below .6: trust with care.
3. Answers that stay without what is attended (fewer than 30 % change), or that one segment of
   another class overturns in 80 % more of the bags than the reverse: trust with care. A background
   segment that overturns 20 %: trust with care. A segment of a class that was declared to be empty
   that overturns half: do not trust. Answers of any class of which a quarter change when one
   segment of a bag is repeated: trust with care.
   Attention from a table alone, so that none of this can be tested: trust with care.
   Segments that see each other before attention, so that the state at the attended place may stand
   for others, without 15 bags of known relevance: trust with care. (The auditor reads the inputs,
   so that the estimate of FT holds for such models too.)
4. Models that differ (agreement below .7), only one model, or a top segment that changed in more
   than 30 % of bags between the last evaluations of training: trust with care.
5. Less than half of the class's bags classified right: trust with care.

Every limit falls when its fact gets worse, and the lowest decides, so that more bad evidence never
raises a grade.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from foveate.trust.facts import ClassFacts
from foveate.trust.grades import (
    BROKEN,
    CARE,
    FLIPS,
    GRADES,
    OVERRIDDEN,
    REMOVAL,
    REPEATED,
    STABLE,
    Grade,
    ft_grade,
    has_no_evidence,
    is_measured,
)
from foveate.trust.next_steps import next_steps
from foveate.trust.verdict_sentences import (
    default_sentence,
    ft_sentence,
    number_sentences,
    override_sentence,
    whole_sentence,
)

__all__ = ["Verdict", "grade_class", "judge", "judge_all"]


@dataclass(frozen=True)
class Verdict:
    """A grade and its reasons.

    Args:
        grade: One of GRADES.
        summary: One sentence.
        why: The evidence, a sentence each.
        next: What to do, a sentence each.
    """

    grade: Grade
    summary: str
    why: tuple[str, ...] = ()
    next: tuple[str, ...] = ()


def grade_class(facts: ClassFacts) -> Grade:
    """The grade of a class: the lowest of all limits."""
    if has_no_evidence(facts):
        return "do not trust" if facts.poisoned >= BROKEN else "cannot tell"
    return max((limit for limit, _ in _limits(facts)), key=GRADES.index)


def _limits(facts: ClassFacts) -> Iterator[tuple[Grade, str]]:
    """Every limit of the grade, and the sentence that explains it; the FT comes first."""
    name = f"'{facts.name}'"
    yield ft_grade(facts), ft_sentence(facts)
    few = facts.measured is not None and facts.known and not is_measured(facts)
    if few and facts.measured is not None and (facts.measured.high or 0) < CARE:
        yield "do not trust", f"Attention misses {name} on bags whose relevance is known."
    if (facts.worst if is_measured(facts) else facts.estimated_worst) < CARE:
        yield "trust with care", f"One of {facts.members} models looks elsewhere for {name}."
    if facts.removal < REMOVAL:
        yield "trust with care", default_sentence(facts)
    elif facts.overridden >= OVERRIDDEN:
        yield "trust with care", override_sentence(facts)
    if facts.background_flips >= FLIPS:
        share = f"{100 * facts.background_flips:.0f} %"
        text = f"One background segment of another bag overturns {share} of {name}."
        yield "trust with care", text
    if facts.poisoned >= BROKEN:
        share = f"{100 * facts.poisoned:.0f} %"
        yield "do not trust", f"One segment of a bag where nothing is overturns {share} of {name}."
    if facts.repeat_flips >= REPEATED:
        share = f"{100 * facts.repeat_flips:.0f} %"
        yield "trust with care", f"Repeating one segment of a bag overturns {share} of a class."
    if facts.context and not is_measured(facts):
        yield "trust with care", facts.context
    if not facts.reread:
        yield (
            "trust with care",
            f"Whether answers of {name} depend on what is attended was not tested: the models were "
            "not read again.",
        )
    yield from _stability_limits(facts)
    if facts.accuracy < 0.5:
        right = f"{100 * facts.accuracy:.0f} %"
        yield "trust with care", f"Only {right} of the bags of {name} are classified right."


def _stability_limits(facts: ClassFacts) -> Iterator[tuple[Grade, str]]:
    """Limits by question (e)."""
    name = f"'{facts.name}'"
    if np.isnan(facts.stability):
        yield "trust with care", "One model shows nothing about stability."
    elif facts.stability < STABLE:
        yield "trust with care", f"Models agree on {100 * facts.stability:.0f} % of bags of {name}."
    if facts.steady < STABLE:
        share = f"{100 * facts.steady:.0f} %"
        yield "trust with care", f"Over the last epochs the top segment stayed in {share} of bags."


def judge(facts: ClassFacts, tried: Sequence[str] = ()) -> Verdict:
    """The verdict on one class.

    Args:
        facts: What it rests on.
        tried: Paradigms that were trained already and are not advised again.
    """
    grade = grade_class(facts)
    if has_no_evidence(facts):
        how = "was declared" if facts.absent else "seems"
        text = f"'{facts.name}' {how} to mean that nothing is there, so nothing can be pointed at."
        steps = () if facts.absent else (f"If it does, say --absent '{facts.name}'.",)
        return Verdict(grade, text, number_sentences(facts), steps)
    limits = list(_limits(facts))
    text = next(sentence for limit, sentence in limits if limit == grade)
    why = [sentence for limit, sentence in limits if limit != "trust" and sentence != text]
    return Verdict(grade, text, (*why, *number_sentences(facts)), next_steps(facts, grade, tried))


def judge_all(verdicts: Sequence[Verdict], facts: Sequence[ClassFacts], value: float) -> Verdict:
    """The verdict on a model from those on its classes: as good as the worst that can be told.

    Classes that mean that nothing is there do not count. Where a class cannot be judged for another
    reason, there is no "trust"; where most bags are of such classes, the whole cannot be told.

    Args:
        verdicts: One per class.
        facts: What they rest on.
        value: FT of the whole, measured or estimated.
    """
    empty = [has_no_evidence(f) for f in facts]
    rows = list(zip(facts, verdicts, strict=True))
    counted = [row for row, none in zip(rows, empty, strict=True) if not none and row[0].bags]
    bad = [v for v in verdicts if v.grade == "do not trust"]
    graded = [(f, v) for f, v in rows if v.grade != "cannot tell"]
    unjudged = [(f, v) for f, v in counted if v.grade == "cannot tell"]
    total = sum(f.bags for f, _ in counted)
    most = bool(unjudged) and 2 * sum(f.bags for f, _ in unjudged) >= total
    if not graded or (most and not bad):
        reasons = tuple(v.summary for _, v in rows)
        steps = [step for _, v in (unjudged or rows) for step in v.next]
        text = "Nothing can be said of where these models look."
        if unjudged:
            text = f"{text[:-1]}: {unjudged[0][1].summary}"
        return Verdict("cannot tell", text, reasons, tuple(dict.fromkeys(steps)))
    grade = max((v.grade for _, v in graded), key=GRADES.index)
    if grade == "trust" and unjudged:
        grade = "trust with care"
    worst = [(f, v) for f, v in graded if v.grade == grade] + (
        unjudged if grade == "trust with care" else []
    )
    text = whole_sentence(grade, value, [f.name for f, _ in worst])
    steps = [step for _, v in worst for step in v.next]
    why = tuple(dict.fromkeys(v.summary for _, v in worst)) if grade != "trust" else ()
    return Verdict(grade, text, why, tuple(dict.fromkeys(steps)))
