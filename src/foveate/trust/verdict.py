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
from typing import Literal

import numpy as np

from foveate.trust.error_modes import ACCURATE
from foveate.trust.facts import ClassFacts
from foveate.trust.visibility import FEW

__all__ = ["CARE", "FEW", "GRADES", "TRUST", "Grade", "Verdict", "grade_class", "grade_of", "judge",
           "judge_all"]  # fmt: skip

Grade = Literal["trust", "trust with care", "do not trust", "cannot tell"]
GRADES: tuple[Grade, ...] = ("trust", "trust with care", "cannot tell", "do not trust")

TRUST, CARE = 0.85, 0.6  # FT from which a grade is given, measured or estimated
LEAST_TRUST, LEAST_CARE = 0.7, 0.5  # lower ends that an estimate must have
MOST = 0.75  # upper end below which an estimate is enough for "do not trust"
REMOVAL = 0.3  # of right answers must change without the attended segments: half of chance, C = 2
OVERRIDDEN = 0.8  # share that one segment of another class overturns, beyond the reverse
FLIPS = 0.2  # share overturned by one background segment
REPEATED = 0.25  # share that changes when one segment of a bag is repeated
BROKEN = 0.5  # share overturned by a segment of a class that was declared empty
STABLE = 0.7  # agreement of models
PATHS = {1: ("witness", "lvml"), 2: ("witness",), 3: ("lvml", "hard", "hybrid")}


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


def grade_of(value: float) -> Grade:
    """The grade of an FT, measured or estimated."""
    if np.isnan(value):
        return "cannot tell"
    return "trust" if value >= TRUST else "trust with care" if value >= CARE else "do not trust"


def grade_class(facts: ClassFacts) -> Grade:
    """The grade of a class: the lowest of all limits."""
    if facts.absent or (facts.presence == "nothing" and not _sure(facts)):
        return "do not trust" if facts.poisoned >= BROKEN else "cannot tell"
    return max((limit for limit, _ in _limits(facts)), key=GRADES.index)


def _limits(facts: ClassFacts) -> Iterator[tuple[Grade, str]]:
    """Every limit of the grade, and the sentence that explains it; the FT comes first."""
    name = f"'{facts.name}'"
    yield _by_ft(facts), _look_sentence(facts)
    if facts.known and not _sure(facts) and facts.measured and (facts.measured.high or 0) < CARE:
        yield "do not trust", f"Attention misses {name} on bags whose relevance is known."
    if (facts.worst if _sure(facts) else facts.estimated_worst) < CARE:
        yield "trust with care", f"One of {facts.members} models looks elsewhere for {name}."
    if facts.removal < REMOVAL:
        yield "trust with care", _default_sentence(facts)
    elif facts.overridden >= OVERRIDDEN:
        yield "trust with care", _override_sentence(facts)
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
    if facts.context and not _sure(facts):
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


def _sure(facts: ClassFacts) -> bool:
    """Whether enough bags have known relevance."""
    return facts.measured is not None and facts.known >= FEW


def _by_ft(facts: ClassFacts) -> Grade:
    """The limit by where the models look."""
    if _sure(facts) and facts.measured is not None:
        below = facts.measured.mean <= facts.measured_chance
        return "do not trust" if below else grade_of(facts.measured.mean)
    unseen = not facts.visible or facts.other_kind or facts.presence != "some"
    if unseen or facts.bags < FEW or np.isnan(facts.estimate):
        return "cannot tell"
    if facts.estimate >= TRUST and facts.low >= LEAST_TRUST:
        return "trust"
    if facts.estimate >= CARE and facts.low >= LEAST_CARE:
        return "trust with care"
    return "do not trust" if facts.estimate < CARE and facts.high < MOST else "cannot tell"


def judge(facts: ClassFacts, tried: Sequence[str] = ()) -> Verdict:
    """The verdict on one class.

    Args:
        facts: What it rests on.
        tried: Paradigms that were trained already and are not advised again.
    """
    grade = grade_class(facts)
    if facts.absent or (facts.presence == "nothing" and not _sure(facts)):
        how = "was declared" if facts.absent else "seems"
        text = f"'{facts.name}' {how} to mean that nothing is there, so nothing can be pointed at."
        steps = () if facts.absent else (f"If it does, say --absent '{facts.name}'.",)
        return Verdict(grade, text, _numbers(facts), steps)
    limits = list(_limits(facts))
    text = next(sentence for limit, sentence in limits if limit == grade)
    why = [sentence for limit, sentence in limits if limit not in (grade, "trust")]
    return Verdict(grade, text, (*why, *_numbers(facts)), _next(facts, grade, tried))


def judge_all(verdicts: Sequence[Verdict], facts: Sequence[ClassFacts], value: float) -> Verdict:
    """The verdict on a model from those on its classes: as good as the worst that can be told.

    Classes that mean that nothing is there do not count. Where a class cannot be judged for another
    reason, there is no "trust"; where most bags are of such classes, the whole cannot be told.

    Args:
        verdicts: One per class.
        facts: What they rest on.
        value: FT of the whole, measured or estimated.
    """
    empty = [f.absent or (f.presence == "nothing" and not _sure(f)) for f in facts]
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
    text = _whole_sentence(grade, value, [f.name for f, _ in worst])
    steps = [step for _, v in worst for step in v.next]
    why = tuple(v.summary for _, v in worst) if grade != "trust" else ()
    return Verdict(grade, text, why, tuple(dict.fromkeys(steps)))


def _whole_sentence(grade: Grade, value: float, names: Sequence[str]) -> str:
    text = "How often they look at the evidence is not known"
    if not np.isnan(value):
        text = f"They look at the evidence in about {100 * value:.0f} % of bags"
    return (
        text
        + {
            "trust": ", in every class that has evidence, and their answers depend on it.",
            "trust with care": f"; check where they point for {_listed(names)}.",
            "do not trust": f"; do not rely on where they point for {_listed(names)}.",
            "cannot tell": ".",
        }[grade]
    )


def _look_sentence(facts: ClassFacts) -> str:
    """The sentence on where the models look."""
    name, grade = f"'{facts.name}'", _by_ft(facts)
    if _sure(facts) and facts.measured is not None:
        share, chance = 100 * facts.measured.mean, 100 * facts.measured_chance
        if facts.measured.mean <= facts.measured_chance:
            return f"FT for {name} is {share:.0f} %, not above chance ({chance:.0f} %)."
        return f"For {name} the top segment is relevant in {share:.0f} % of bags."
    if grade == "cannot tell":
        return _unseen_sentence(facts)
    if grade == "trust":
        return f"Where attention points for {name} can be trusted."
    return (_mode_sentence(facts) if grade == "do not trust" else None) or _elsewhere(facts)


def _elsewhere(facts: ClassFacts) -> str:
    name, share = f"'{facts.name}'", 100 * facts.estimate
    if facts.estimate <= facts.chance:
        chance = f"({100 * facts.chance:.0f} %)"
        return f"Attention for {name} finds no more evidence ({share:.0f} %) than chance {chance}."
    return f"Attention for {name} is elsewhere in {100 - share:.0f} % of bags."


def _unseen_sentence(facts: ClassFacts) -> str:
    name = f"'{facts.name}'"
    if facts.bags < FEW:
        return f"Too few bags of {name} to tell: {facts.bags}, and {FEW} are needed."
    if facts.presence == "everywhere":
        return f"Every segment of a bag of {name} tells its class, so that pointing means nothing."
    if facts.other_kind and facts.visible:
        return f"Two kinds of segments tell {name}; which of them is meant is not known."
    if facts.reasons:
        return facts.reasons[0]
    return f"The estimate for {name} is too uncertain to tell."


def _mode_sentence(facts: ClassFacts) -> str | None:
    """The error mode in words, where the model-dependent score names one."""
    if not facts.flags or facts.accuracy < ACCURATE:
        return None
    flag, name = facts.flags[0], f"'{facts.name}'"
    who = "" if facts.members == 1 else f" ({flag.members} of {facts.members} models)"
    return {
        1: f"{name} is read from the background{who}: the models answer {name} when they see "
        "nothing else, and do not attend to its evidence.",
        2: f"Two errors cancel for {name}{who}: the focus ranks its evidence last, and the "
        f"classifier reads the rest as {name}.",
        3: f"Attention for {name} is nearly uniform{who}: the answer comes from the average of all "
        "segments, and the top segment means little.",
    }[flag.mode]


def _default_sentence(facts: ClassFacts) -> str:
    text = f"'{facts.name}' is still answered without its attended segments"
    if facts.overridden >= BROKEN:
        return f"{text}, and one segment of another class overturns it: it is the default answer."
    return f"{text}: the answer does not depend on them."


def _override_sentence(facts: ClassFacts) -> str:
    return (
        f"One segment of another class overturns '{facts.name}' whatever else a bag holds, and not "
        "the other way round."
    )


def _numbers(facts: ClassFacts) -> tuple[str, ...]:
    """Numbers behind the verdict, a sentence each."""
    lines = []
    if facts.measured is not None and facts.known:
        low, high = (100 * (end or 0) for end in facts.measured[1:])
        hits = facts.measured.mean * facts.known
        count = f"{hits:.0f} of {facts.known}" if facts.known < FEW else f"{facts.known}"
        above = facts.measured.mean > facts.measured_chance
        lines.append(
            f"Measured on {count} bags with known relevance: FT {100 * facts.measured.mean:.0f} % "
            f"[{low:.0f}, {high:.0f}], {'' if above else 'not above '}chance "
            f"{100 * facts.measured_chance:.0f} %."
        )
    if not np.isnan(facts.estimate):
        lines.append(
            f"Estimated FT {100 * facts.estimate:.0f} % [{100 * facts.low:.0f}, "
            f"{100 * facts.high:.0f}], chance {100 * facts.chance:.0f} %."
        )
    if np.isnan(facts.accuracy):
        lines.append(f"{facts.bags} bags; what the models answer is not known.")
    else:
        lines.append(f"Accuracy {100 * facts.accuracy:.0f} % on {facts.bags} bags.")
    return tuple(lines)


def _next(facts: ClassFacts, grade: Grade, tried: Sequence[str]) -> tuple[str, ...]:
    """What to do, most useful first; what was tried is not advised."""
    name = f"'{facts.name}'"
    mark = f"Mark the relevant segments of 20 bags of {name} and train with --supervise-focus."
    steps: list[str] = []
    if grade == "trust":
        return ()
    if facts.presence == "everywhere" and not _sure(facts):
        steps.append(f"Look for a stain, site or batch that goes with {name}; name a group column.")
    if facts.other_kind and not _sure(facts):
        steps.append(
            "Look at the examples of both kinds and say which is meant, with --evidence A, or by "
            "class with --evidence CLASS=A,CLASS=B; or mark the relevant segments of a few bags."
        )
    if grade == "cannot tell":
        return (*steps, *facts.needs) or (f"Give more labelled bags of {name}.",)
    if facts.overfitted:
        steps.append("Held-out loss rose while training loss fell: stop earlier or regularise.")
    elif facts.accuracy < ACCURATE:
        steps.append(f"Train longer or with more bags of {name}: it is not learnt yet.")
    mode = facts.flags[0].mode if facts.flags else 1
    fresh = [path for path in PATHS[mode] if path not in tried]
    if fresh and (facts.flags or facts.removal < REMOVAL):
        steps.append(f"Train with --paradigms {fresh[0]} and examine again.")
    if np.isnan(facts.stability):
        steps.append("Train three seeds and examine them together.")
    if facts.removal < REMOVAL:
        steps.append(f"If {name} means that nothing is there, say --absent {name}.")
    return (*steps, mark)


def _listed(names: Sequence[str]) -> str:
    quoted = [f"'{name}'" for name in dict.fromkeys(names)]
    if len(quoted) > 6:
        return f"{', '.join(quoted[:5])} and {len(quoted) - 5} other classes"
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"
