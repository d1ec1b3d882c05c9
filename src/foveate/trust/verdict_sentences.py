"""Sentences of a verdict: what was found of a class, and of the whole."""

from collections.abc import Sequence

import numpy as np

from foveate.trust.error_modes import ACCURATE
from foveate.trust.facts import ClassFacts
from foveate.trust.grades import BROKEN, Grade, ft_grade, is_measured
from foveate.trust.visibility import FEW

__all__ = ["default_sentence", "ft_sentence", "keep_sentence", "listed", "number_sentences",
           "override_sentence", "whole_sentence"]  # fmt: skip


def ft_sentence(facts: ClassFacts) -> str:
    """The sentence on where the models look."""
    name, grade = f"'{facts.name}'", ft_grade(facts)
    if is_measured(facts) and facts.measured is not None:
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


def keep_sentence(facts: ClassFacts) -> str:
    """That answers need more than the attended segments."""
    share = f"{100 * max(0.0, facts.keep_only):.0f} %"
    return (
        f"With the attended segments alone only {share} of the right answers '{facts.name}' stay: "
        "they rest on others too."
    )


def default_sentence(facts: ClassFacts) -> str:
    """That answers stay without the attended segments, or that none is right."""
    if np.isnan(facts.keep_only):
        return f"No answer '{facts.name}' is right, so that nothing shows what answers depend on."
    share = f"{100 * max(0.0, facts.removal):.0f} %"
    text = f"Only {share} of the right answers '{facts.name}' change without the attended segments"
    if facts.overridden >= BROKEN:
        return f"{text}, and one segment of another class overturns them: it is the default answer."
    return f"{text}: they hardly depend on them."


def override_sentence(facts: ClassFacts) -> str:
    """That one segment of another class overturns the answers of this one."""
    return (
        f"One segment of another class overturns '{facts.name}' whatever else a bag holds, and not "
        "the other way round."
    )


def number_sentences(facts: ClassFacts) -> tuple[str, ...]:
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


def whole_sentence(
    grade: Grade,
    value: float,
    names: Sequence[str],
    *,
    chance: float = float("nan"),
    all_graded: bool = True,
    reason: str = "",
) -> str:
    """The sentence on all classes.

    Args:
        grade: Of the whole.
        value: FT of the whole, measured or estimated; nan where nothing is known.
        names: The classes that decide the grade.
        chance: FT of a random segment.
        all_graded: Whether every class that has evidence could be graded.
        reason: Why "trust" is not given, where it is not where models look.
    """
    text = "How often they look at the evidence is not known"
    if not np.isnan(value):
        text = f"They look at the evidence in about {100 * value:.0f} % of bags"
        text += "" if all_graded else " of the classes that can be graded"
        text += "" if np.isnan(chance) else f" (chance {100 * chance:.0f} %)"
    return (
        text
        + {
            "trust": ", in every class that has evidence, and their answers depend on it.",
            "trust with care": f". {reason}"
            if reason
            else f"; check where they point for {listed(names)}.",
            "do not trust": f"; do not rely on where they point for {listed(names)}.",
            "cannot tell": ".",
        }[grade]
    )


def listed(names: Sequence[str]) -> str:
    """Names of classes in a sentence; of more than six the first five.

    Example:
        >>> listed(["a", "b", "c"])
        "'a', 'b' and 'c'"
    """
    quoted = [f"'{name}'" for name in dict.fromkeys(names)]
    if len(quoted) > 6:
        return f"{', '.join(quoted[:5])} and {len(quoted) - 5} other classes"
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"
