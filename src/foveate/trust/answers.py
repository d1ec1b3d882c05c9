"""The six questions as six short lines with a mark each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from foveate.trust.facts import ClassFacts
from foveate.trust.grades import (
    BROKEN,
    CARE,
    FLIPS,
    KEEP_ONLY,
    OVERRIDDEN,
    REMOVAL,
    REPEATED,
    STABLE,
    TRUST,
    fold_misses,
    has_no_evidence,
    is_measured,
)
from foveate.trust.verdict_sentences import keep_sentence

__all__ = ["QUESTIONS", "Answer", "answers_of"]

Mark = Literal["good", "fair", "bad", "unknown"]
QUESTIONS = {
    "evidence": "Is there evidence, and how much?",
    "looks": "Do the models look at it?",
    "depends": "Do their answers depend on it?",
    "kinds": "Is it the only kind of evidence?",
    "stable": "Is attention stable?",
    "visible": "Can the auditor see?",
}
UNTESTED: tuple[Mark, str] = (
    "unknown",
    "Not tested: removal and transplant need the models read again.",
)


@dataclass(frozen=True)
class Answer:
    """One of the six questions answered for a paradigm.

    Args:
        question: The question.
        mark: "good", "fair", "bad" or "unknown".
        text: The answer in one sentence.
    """

    question: str
    mark: Mark
    text: str


def answers_of(facts: Sequence[ClassFacts], counts: Sequence[float]) -> dict[str, Answer]:
    """The six answers, each by the worst class that has evidence.

    Args:
        facts: Of every class.
        counts: Evidence segments a bag, of every class.
    """
    present = [f for f in facts if not has_no_evidence(f) and f.bags]
    pairs = {
        "evidence": _evidence(facts, counts),
        "looks": _looks(present),
        "depends": _depends(present) if all(f.reread for f in facts) else UNTESTED,
        "kinds": _kinds(present),
        "stable": _stable(present),
        "visible": _visible(present),
    }
    return {key: Answer(QUESTIONS[key], *pair) for key, pair in pairs.items()}


def _evidence(facts: Sequence[ClassFacts], counts: Sequence[float]) -> tuple[Mark, str]:
    everywhere = [f.name for f in facts if f.presence == "everywhere"]
    unknown = [f.name for f in facts if f.presence == "unknown" and f.bags]
    nothing = [f.name for f in facts if has_no_evidence(f)]
    absent = f"; {_names(nothing)} has none" if nothing else ""
    if _all_measured(facts):
        return "good", f"Relevant segments are known{absent}."
    if everywhere:
        return "bad", f"Every segment tells {_names(everywhere)}: a stain, a site or a batch."
    if unknown:
        return "unknown", f"No segment is typical of {_names(unknown)}."
    rows = [(f, n) for f, n in zip(facts, counts, strict=True) if f.presence == "some"]
    some = [n for f, n in rows if not f.absent]
    if not some:
        return "unknown", "No class has evidence."
    low, high = min(some), max(some)
    text = f"About {low:.1f} evidence segments a bag"
    if high - low >= 0.5:
        text = f"About {low:.1f} to {high:.1f} evidence segments a bag, by class"
    text += absent
    if not any(f.visible for f, _ in rows):
        return "unknown", f"{text}, if the auditor saw right: see the last question."
    return "good", f"{text}."


def _looks(facts: Sequence[ClassFacts]) -> tuple[Mark, str]:
    values = [(_value(f), f) for f in facts if not np.isnan(_value(f))]
    if not values:
        return "unknown", "No estimate is given."
    least, worst = min(values, key=lambda pair: pair[0])
    measured = is_measured(worst)
    chance = worst.measured_chance if measured else worst.chance
    how = "measured" if measured else "estimated"
    text = f"FT {100 * least:.0f} % for '{worst.name}', the lowest, {how}"
    text = f"{text}; chance {100 * chance:.0f} %."
    mark: Mark = "good" if least >= TRUST else "fair" if least >= CARE else "bad"
    return mark, text


def _value(facts: ClassFacts) -> float:
    if facts.measured is not None and is_measured(facts):
        return facts.measured.mean
    certain = facts.visible and not facts.other_kind and facts.presence == "some"
    return facts.estimate if certain else float("nan")


def _depends(facts: Sequence[ClassFacts]) -> tuple[Mark, str]:
    if not facts:
        return "unknown", "No class has evidence."
    if broken := _overturned(facts):
        return "bad", broken
    least = min(facts, key=lambda f: f.removal)
    share = f"{100 * max(0.0, least.removal):.0f} %"
    text = f"Without attended segments {share} of right answers change for '{least.name}'"
    weak = max(facts, key=lambda f: f.overridden)
    if least.removal >= REMOVAL and weak.overridden >= OVERRIDDEN:
        return (
            "bad",
            f"One segment of another class overturns '{weak.name}' whatever else is there.",
        )
    if least.removal >= REMOVAL:
        return "good", f"{text}, the lowest."
    if least.overridden >= BROKEN:
        return "bad", f"{text}, and one segment of another class overturns them."
    return "bad", f"{text}: they hardly depend on them."


def _overturned(facts: Sequence[ClassFacts]) -> str | None:
    """What overturns answers though it should not, the worst class first; or what they lack."""
    checks = (
        ("background_flips", FLIPS, "One background segment overturns"),
        ("poisoned", BROKEN, "One segment of an empty bag overturns"),
        ("repeat_flips", REPEATED, "Repeating one segment of a bag overturns"),
    )
    for key, limit, text in checks:
        value, name = max((float(getattr(f, key)), f.name) for f in facts)
        if value >= limit:
            whose = "a class" if key == "repeat_flips" else f"'{name}'"
            return f"{text} {100 * value:.0f} % of the right answers of {whose}."
    for f in facts:
        if np.isnan(f.keep_only):
            return f"No answer '{f.name}' is right, so that nothing shows what it depends on."
    alone = min(facts, key=lambda f: f.keep_only)
    return keep_sentence(alone) if alone.keep_only < KEEP_ONLY else None


def _kinds(facts: Sequence[ClassFacts]) -> tuple[Mark, str]:
    two = [f.name for f in facts if f.other_kind]
    if two:
        return "bad", f"Two kinds of segments tell {_names(two)}: which of these do you mean?"
    if _all_measured(facts):
        return "good", "Known locations say which evidence is meant."
    if chosen := [f"{f.chosen_kind} of '{f.name}'" for f in facts if f.chosen_kind]:
        return "good", f"There are two; {', '.join(chosen[:5])} is meant, as declared or marked."
    if not any(f.presence == "some" and f.visible for f in facts):
        return "unknown", "Not known: the auditor does not see the evidence."
    return "good", "No second kind of evidence was found."


def _stable(facts: Sequence[ClassFacts]) -> tuple[Mark, str]:
    unsteady = [f.steady for f in facts if f.steady < STABLE]
    if unsteady:
        share = f"{100 * (1 - min(unsteady)):.0f} %"
        return "bad", f"Over the last epochs the top segment changed in {share} of bags."
    if missed := [f for f in facts if fold_misses(f)]:
        share = f"{100 * min(f.worst_fold.mean for f in missed if f.worst_fold):.0f} %"
        return "bad", f"The models of one fold look at the evidence in {share} of its bags."
    known = [f for f in facts if not np.isnan(f.stability)]
    if not known:
        return "unknown", "One model shows nothing about stability: train more seeds."
    least = min(known, key=lambda f: f.stability)
    text = f"Models agree on {100 * least.stability:.0f} % of bags of '{least.name}', the lowest"
    worst = [f.worst_fold.mean for f in facts if f.worst_fold is not None]
    text += f"; the worst fold has FT {100 * min(worst):.0f} %." if worst else "."
    return ("good" if least.stability >= STABLE else "bad"), text


def _visible(facts: Sequence[ClassFacts]) -> tuple[Mark, str]:
    blind = [f for f in facts if not f.visible]
    if blind and _all_measured(facts):
        return "good", "Not needed: FT is measured where locations are known."
    if blind:
        return "bad", blind[0].reasons[0] if blind[0].reasons else f"Not for '{blind[0].name}'."
    if everywhere := [f.name for f in facts if f.presence == "everywhere"]:
        return "bad", f"Every segment tells {_names(everywhere)}, so that none stands out."
    if not facts:
        return "unknown", "No class has evidence."
    seen = "It sees the evidence of every class"
    if min(f.auditors for f in facts) < 2:
        return "good", f"{seen}; of words there is one auditor, so that none can disagree."
    return "good", f"{seen}, and two auditors agree."


def _all_measured(facts: Sequence[ClassFacts]) -> bool:
    """Whether FT of every class that has evidence is measured."""
    present = [f for f in facts if not has_no_evidence(f) and f.bags]
    return bool(present) and all(is_measured(f) for f in present)


def _names(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names[:5])
