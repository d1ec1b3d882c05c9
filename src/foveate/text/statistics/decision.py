"""Verdicts on a corpus: by significance and by size, with their reasons and what to do."""

from typing import Literal, NamedTuple

__all__ = ["NOTHING", "START", "Decision", "Verdict", "decide"]

Verdict = Literal["likely", "may be", "unlikely"]

START = (0.003, 0.06)
"""How far β varies over positions by a random start, relative to its mean: least and most."""
SIGMAS = 3.0
NOTHING = 1e-9  # nats, and times: what rounding leaves
FEW = "too few"

REASONS = {
    "stands out": "The word that co-occurrence points at is worth {more} more than the average "
    "word of its sentence, which stands out from the random start of every network tried.",
    "as noise": "The word that co-occurrence points at is worth {more} more than the average word "
    "of its sentence. There is something to learn from, but a network's random start can vary by "
    "as much, so the network and its seed decide.",
    "below noise": "The word that co-occurrence points at is worth only {more} more than the "
    "average word of its sentence: more than chance, but less than the noise of a random start.",
    FEW: "Within sentences nothing is told apart from chance, but there are too few sentences to "
    "tell: a word worth {more} more than the average could have gone unseen.",
    "all the same": "Words do tell something of the output, but within a sentence all of them tell "
    "the same: no position promises more than another, so attention has nothing to go by.",
    "flat": "No word tells more of the output than the others of its sentence do: to one who "
    "counts words, all positions look alike.",
}

ADVICE = {
    "likely": (
        "Train as usual; one head is enough to begin with.",
        "The words that carry the information are where attention should look early on: compare.",
    ),
    "may be": (
        "Train several seeds and report how many of them learn: one run says little here.",
        "Use several heads: the more random starts there are, the likelier a good one is. "
        "[snell21] Sec. 5.2",
    ),
    "unlikely": (
        "Use several heads: of eight random starts one is usually good enough to begin with. "
        "[snell21] Sec. 5.2",
        "Mix in sentences of other words, so that the company a word keeps differs from sentence "
        "to sentence: 40 words drawn from 60 are always learnt, all 40 in random order by luck.",
        "Or begin with words that are known: pretrained embeddings, or attention supervised by a "
        "few alignments.",
    ),
    FEW: (
        "Give more sentences: ten times as many tell three times as well what is chance.",
        "Until then, train several seeds and report how many of them learn.",
    ),
}


class Decision(NamedTuple):
    """A verdict, why, and what to do."""

    verdict: Verdict
    reason: str
    advice: tuple[str, ...]


def decide(
    information: float,
    z: float,
    p: float,
    lift: float,
    lift_spread: float,
    table: float = 0.0,
    table_z: float = 0.0,
) -> Decision:
    """The verdict and its reason, by significance and by size; see :mod:`.diagnosis`.

    Args:
        information: Nats beyond the control.
        z: The same in the control's standard deviations.
        p: Chance of as much, from permutations.
        lift: Beyond the control.
        lift_spread: Standard deviation of the control's lift.
        table: Information of the whole table beyond its control.
        table_z: The same in standard deviations.

    Example:
        >>> decide(3e-3, 1700.0, 0.048, 0.49, 1e-3).verdict, decide(0.0, 0.0, 1.0, 0.0, 0.0).verdict
        ('likely', 'unlikely')
    """
    low, high = START
    if information > NOTHING and z > SIGMAS and p <= 0.05:
        if lift >= high:
            return _decision("likely", "stands out", lift)
        return (
            _decision("may be", "as noise", lift)
            if lift >= low
            else _decision("unlikely", "below noise", lift)
        )
    if SIGMAS * lift_spread > high:
        return _decision("may be", FEW, SIGMAS * lift_spread)
    same = table > NOTHING and table_z > SIGMAS
    return _decision("unlikely", "all the same" if same else "flat", 0.0)


def _decision(verdict: Verdict, why: str, lift: float) -> Decision:
    more = f"{lift:.2g} times" if lift >= 2 else f"{100 * lift:.2g} %"
    return Decision(verdict, REASONS[why].format(more=more), ADVICE[FEW if why == FEW else verdict])
