"""Verdicts on a corpus: by significance and by size, with their reasons and what to do."""

from typing import Literal, NamedTuple

__all__ = ["NOTHING", "START", "Decision", "Verdict", "decide"]

Verdict = Literal["likely", "may be", "unlikely"]

START = (0.003, 0.06)
"""How far β varies over positions by a random start, relative to its mean: least and most."""
SIGMAS = 3.0
NOTHING = 1e-9  # nats, and times: rounding error
TOO_FEW = "too few"

REASONS = {
    "stands out": "The most informative word of a sentence is worth {more} more than its average "
    "word, which exceeds the variation of the random start of every network tried.",
    "as noise": "The most informative word of a sentence is worth {more} more than its average "
    "word. There is information to learn from, but a random start can vary by as much, so the "
    "network and its seed decide.",
    "below noise": "The most informative word of a sentence is worth only {more} more than its "
    "average word: significant, but less than the noise of a random start.",
    TOO_FEW: "No difference between the words of a sentence is significant, but there are too few "
    "sentences: a word worth {more} more than the average could have been missed.",
    "all the same": "Words are informative about the output, but within a sentence all of them "
    "equally: no position is better than another, so attention has no signal to learn from.",
    "flat": "No word is more informative about the output than the others of its sentence: by "
    "word counts, all positions are equal.",
}

ADVICE = {
    "likely": (
        "Train as usual; one head is enough to begin with.",
        "Attention should first go to the informative words listed below: compare.",
    ),
    "may be": (
        "Train several seeds and report how many of them learn: one run is not conclusive.",
        "Use several heads: with more random starts a good one is more likely. [snell21] Sec. 5.2",
    ),
    "unlikely": (
        "Use several heads: of eight random starts one is usually good enough to begin with. "
        "[snell21] Sec. 5.2",
        "Add sentences of other words, so that co-occurring words differ between sentences: 40 "
        "words drawn from 60 are always learnt, all 40 in random order only sometimes.",
        "Or start from known words: pretrained embeddings, or attention supervised by a few "
        "alignments.",
    ),
    TOO_FEW: (
        "Use more sentences: ten times as many reduce the noise by a factor of three.",
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
        p: p-value from permutations.
        lift: Beyond the control.
        lift_spread: Standard deviation of the control's lift.
        table: Information of the table beyond its control.
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
        return _decision("may be", TOO_FEW, SIGMAS * lift_spread)
    same = table > NOTHING and table_z > SIGMAS
    return _decision("unlikely", "all the same" if same else "flat", 0.0)


def _decision(verdict: Verdict, reason: str, lift: float) -> Decision:
    more = f"{lift:.2g} times" if lift >= 2 else f"{100 * lift:.2g} %"
    return Decision(
        verdict,
        REASONS[reason].format(more=more),
        ADVICE[TOO_FEW if reason == TOO_FEW else verdict],
    )
