"""Verdicts: a grade by a written rule, the reasons, and what to do next.

The grade of a class is the lowest of these limits, in the order trust, trust with care, cannot
tell, do not trust:

1. FT. Measured on 15 bags or more: trust from .85 with a lower end of at least .7, trust with care
   from .6, else do not trust; do not trust where it is not above chance. Else estimated, if the
   auditor can see and there is one kind of evidence (otherwise cannot tell): trust from .85 with a
   lower end of at least .7, trust with care from .6 with a lower end of at least .55, do not trust
   below .6 with an upper end below .75, else cannot tell. Fewer known bags: do not trust where even
   the upper end of their exact interval is below .6.
2. The worst model below .6, or the models of a fold whose exact interval ends below .6: trust with
   care.
3. Answers of which fewer than half stay with the attended segments alone, of which fewer than 30 %
   change without them, or which one segment of another class overturns in 80 % more of the bags
   than the reverse: trust with care. A background segment that overturns 20 %: trust with care. A
   segment of a class that was declared to be empty that overturns half: do not trust. Answers of
   any class of which a quarter change when one segment of a bag is repeated: trust with care.
   Attention from a table alone, so that none of this can be tested: trust with care.
   Segments that see each other before attention, so that the state at the attended place may stand
   for others, without 15 bags of known relevance: trust with care. (The auditor reads the inputs,
   so that the estimate of FT holds for such models too.)
4. Models that differ (agreement below .7), only one model, or a top segment that changed in more
   than 30 % of bags between the last evaluations of training: trust with care.
5. Less than half of the class's bags classified right: trust with care.

Every limit falls when its fact gets worse, and the lowest decides, so that more bad evidence never
raises a grade. Where less is known (fewer bags, an auditor that sees less), "do not trust" may turn
into "cannot tell", and no grade into a better one.
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
    KEEP_ONLY,
    OVERRIDDEN,
    REMOVAL,
    REPEATED,
    STABLE,
    Grade,
    fold_misses,
    ft_grade,
    has_no_evidence,
    is_measured,
)
from foveate.trust.next_steps import absent_steps, by_class, next_steps
from foveate.trust.verdict_sentences import (
    default_sentence,
    ft_sentence,
    keep_sentence,
    listed,
    number_sentences,
    override_sentence,
    whole_sentence,
)

__all__ = ["Verdict", "class_verdict", "grade_all", "grade_class", "overall_verdict"]


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
    if fold_misses(facts) and facts.worst_fold is not None:
        share = f"{100 * facts.worst_fold.mean:.0f} %"
        yield "trust with care", f"The models of one fold look elsewhere for {name} (FT {share})."
    if facts.keep_only < KEEP_ONLY:
        yield "trust with care", keep_sentence(facts)
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
        share = f"{100 * facts.repeat_flips:.0f} % of the right answers of a class"
        yield "trust with care", f"Repeating one segment of a bag overturns {share}."
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


def class_verdict(facts: ClassFacts, tried: Sequence[str] = ()) -> Verdict:
    """The verdict on one class.

    Args:
        facts: What it rests on.
        tried: Paradigms and options of training that are not to be advised.
    """
    grade = grade_class(facts)
    if has_no_evidence(facts):
        how = "was declared or marked" if facts.absent else "seems"
        text = f"'{facts.name}' {how} to mean that nothing is there, so nothing can be pointed at."
        steps = () if facts.absent else (f"If it does, say --absent '{facts.name}'.",)
        return Verdict(grade, text, number_sentences(facts), steps)
    limits = list(_limits(facts))
    text = next(sentence for limit, sentence in limits if limit == grade)
    why = [sentence for limit, sentence in limits if limit != "trust" and sentence != text]
    return Verdict(grade, text, (*why, *number_sentences(facts)), next_steps(facts, grade, tried))


def grade_all(grades: Sequence[Grade], facts: Sequence[ClassFacts]) -> Grade:
    """The grade of a model: as good as its worst class that can be judged.

    Classes that mean that nothing is there do not count. Where a class cannot be judged for another
    reason, there is no "trust"; where most bags are of such classes, or where a class has two kinds
    of evidence and it is not known which is meant, the whole cannot be told.

    Args:
        grades: One per class.
        facts: What they rest on.
    """
    graded = [grade for grade in grades if grade != "cannot tell"]
    counted = [f.bags * (not has_no_evidence(f)) for f in facts]
    blind = sum(n for n, grade in zip(counted, grades, strict=True) if grade == "cannot tell")
    if "do not trust" in graded:
        return "do not trust"
    rows = zip(facts, grades, counted, strict=True)
    asked = any(f.other_kind and n and grade == "cannot tell" for f, grade, n in rows)
    if not graded or asked or (blind and 2 * blind >= sum(counted)):
        return "cannot tell"
    worst = max(graded, key=GRADES.index)
    return "trust with care" if blind and worst == "trust" else worst


def overall_verdict(
    verdicts: Sequence[Verdict],
    facts: Sequence[ClassFacts],
    value: float,
    chance: float = float("nan"),
) -> Verdict:
    """The verdict on a model from those on its classes.

    Args:
        verdicts: One per class.
        facts: What they rest on.
        value: FT of the whole, measured or estimated.
        chance: FT of a random segment.
    """
    rows = list(zip(facts, verdicts, strict=True))
    grade = grade_all([v.grade for v in verdicts], facts)
    blind = [
        (f, v) for f, v in rows if v.grade == "cannot tell" and f.bags and not has_no_evidence(f)
    ]
    if grade == "cannot tell":
        graded = any(v.grade != "cannot tell" for _, v in rows)
        which = f" for {listed([f.name for f, _ in blind])}" if graded else ""
        text = f"Nothing can be said of where these models look{which}."
        text += f" {blind[0][1].summary}" if blind else ""
        why = tuple(dict.fromkeys(v.summary for _, v in rows))
        steps = by_class([(f.name, v.next) for f, v in blind or rows])
        return Verdict(grade, text, why, (*absent_steps(facts), *steps))
    decisive = [row for row in rows if row[1].grade == grade]
    decisive += blind if grade == "trust with care" else []
    names = [f.name for f, _ in decisive]
    first, verdict = decisive[0]
    reason = verdict.summary if grade == "trust with care" and ft_grade(first) == "trust" else ""
    text = whole_sentence(grade, value, names, chance=chance, all_graded=not blind, reason=reason)
    if grade == "do not trust" and ft_grade(first) != grade:  # it is not where they look
        text += f" {verdict.summary}"
    why = tuple(dict.fromkeys(v.summary for _, v in decisive)) if grade != "trust" else ()
    return Verdict(grade, text, why, by_class([(f.name, v.next) for f, v in decisive]))
