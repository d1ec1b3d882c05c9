"""Next steps: what to do about a grade, most useful first; what was tried is not advised."""

import re
from collections.abc import Iterator, Sequence

import numpy as np

from foveate.trust.error_modes import ACCURATE
from foveate.trust.facts import ClassFacts
from foveate.trust.grades import BROKEN, CARE, REMOVAL, REPEATED, Grade, ft_grade, is_measured
from foveate.trust.kinds import MARKED
from foveate.trust.verdict_sentences import listed

__all__ = ["absent_steps", "by_class", "next_steps"]

OVERFITTED = "Held-out loss rose while training loss fell: stop earlier or regularise."
SINGLE = ("lvml", "hard", "witness")  # read single segments: how many there are changes nothing
PATHS = {1: ("witness", "lvml"), 2: ("witness",), 3: ("lvml", "hard", "hybrid")}


def next_steps(facts: ClassFacts, grade: Grade, tried: Sequence[str] = ()) -> tuple[str, ...]:
    """What to do, most useful first.

    Options of this library's training are named for its own models alone.

    Args:
        facts: Of one class.
        grade: Of that class.
        tried: Paradigms and options ("supervise-focus", "absent") that were used already, or that
            do not apply, and are not advised.
    """
    overfitted = (OVERFITTED,) if facts.overfitted else ()
    if grade == "trust":
        return overfitted
    steps = tuple(_about_evidence(facts))
    if grade == "cannot tell":
        needs = (*steps, *facts.needs) or (f"Give more labelled bags of '{facts.name}'.",)
        return (*needs, *overfitted)
    training = _about_external_models if facts.external else _about_training
    return (*steps, *training(facts, tried), *_about_marks(facts, "supervise-focus" not in tried))


def absent_steps(facts: Sequence[ClassFacts]) -> tuple[str, ...]:
    """What to declare of classes without visible evidence, where another class has some."""
    if any(f.absent for f in facts) or not any(f.presence == "some" for f in facts):
        return ()
    unknown = [f.name for f in facts if f.presence == "unknown" and f.bags]
    return tuple(_declare_absent(name) for name in unknown)


def by_class(steps: Sequence[tuple[str, Sequence[str]]]) -> tuple[str, ...]:
    """The steps of all classes, the same step of several classes once.

    Args:
        steps: The name of a class and its steps.

    Example:
        >>> by_class([("a", ["Mark 20 bags of 'a'."]), ("b", ["Mark 20 bags of 'b'."])])
        ("Mark 20 bags each of 'a' and 'b'.",)
    """
    names: dict[str, list[str]] = {}
    for name, sentences in steps:
        for sentence in sentences:
            alone = sentence if "--absent" in sentence else sentence.replace(f"'{name}'", "\0")
            names.setdefault(alone, []).append(name)
    return tuple(_joined(template, who) for template, who in names.items())


def _joined(template: str, names: Sequence[str]) -> str:
    """The step with the names of its classes."""
    if len(names) > 1:
        template = re.sub(r"(\d+ (?:more labelled )?bags) of \0", "\\1 each of \0", template)
    return template.replace("\0", listed(names))


def _about_evidence(facts: ClassFacts) -> Iterator[str]:
    """What settles which segments are evidence."""
    if is_measured(facts):
        return
    if facts.presence == "everywhere":
        where = f"Look for a stain, site or batch that goes with '{facts.name}'"
        yield f"{where}; name a group column."
    if facts.other_kind:
        yield (
            "Look at the examples of both kinds and say which is meant, with --evidence A, or by "
            "class with --evidence CLASS=A,CLASS=B; or mark the relevant segments of "
            f"{MARKED} bags of '{facts.name}'."
        )


def _about_training(facts: ClassFacts, tried: Sequence[str]) -> Iterator[str]:
    """What to change in training, with the options of this library."""
    if facts.overfitted:
        yield OVERFITTED
    elif facts.accuracy < ACCURATE:
        yield f"Train longer or with more bags of '{facts.name}': not learnt yet."
    paths: tuple[str, ...] = ()
    if facts.flags or facts.removal < REMOVAL:
        paths = PATHS[facts.flags[0].mode if facts.flags else 1]
    elif facts.repeat_flips >= REPEATED:
        paths = SINGLE
    if fresh := [path for path in paths if path not in tried]:
        yield f"Train with --paradigms {fresh[0]} and examine again."
    if np.isnan(facts.stability):
        yield "Train three seeds and examine them together."
    yield from _about_default(facts, tried)


def _about_external_models(facts: ClassFacts, tried: Sequence[str]) -> Iterator[str]:
    """What to do about models whose training this library does not know."""
    if facts.accuracy < ACCURATE:
        right = f"Only {100 * facts.accuracy:.0f} % of the bags of '{facts.name}' are right"
        yield f"{right}: a more accurate model may also look elsewhere."
    if np.isnan(facts.stability) and facts.reread:
        yield "Give models of three seeds as a list, to see whether their attention agrees."
    yield from _about_default(facts, tried)


def _about_default(facts: ClassFacts, tried: Sequence[str]) -> Iterator[str]:
    """What a class may mean whose answers stay without its evidence, or that which overturns it."""
    if "absent" in tried:
        return
    looked_at = is_measured(facts) or facts.estimate >= CARE  # it has evidence, and models see it
    if facts.removal < REMOVAL and not looked_at:
        yield _declare_absent(facts.name)
    if facts.overridden >= BROKEN and facts.overrider:
        yield _declare_absent(facts.overrider)


def _declare_absent(name: str) -> str:
    return f"If '{name}' means that nothing is there, say --absent '{name}'."


def _about_marks(facts: ClassFacts, supervise: bool) -> Iterator[str]:
    """What marks on relevant segments are good for: training, or measuring FT.

    Args:
        facts: Of one class.
        supervise: Whether the focus may be trained on marks and was not.
    """
    supervise = supervise and not facts.external
    mark = f"Mark the relevant segments of 20 bags of '{facts.name}'"
    if is_measured(facts):
        if supervise and ft_grade(facts) != "trust":
            yield "Train with --supervise-focus: relevant segments are known."
    elif not supervise:
        yield f"{mark} and examine again: FT is then measured, not estimated."
    else:
        yield f"{mark} and train with --supervise-focus."
