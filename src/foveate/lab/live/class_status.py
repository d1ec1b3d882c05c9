"""For each class: is it answered right, and from which segments is it read."""

from collections.abc import Sequence
from math import log2
from typing import NamedTuple

import numpy as np

from foveate.metrics.focus import ACCURATE, FOCUSED, entropy_bits
from foveate.records.record import Array
from foveate.report.sentences import join_words

__all__ = ["ClassStatus", "class_status"]

MIN_FOCUS = 0.5  # a class whose focus is right less often counts as misplaced
UNIFORM_SHARE = (
    0.9  # share of the largest entropy from which attention counts as spread over the whole bag
)


class ClassStatus(NamedTuple):
    """Accuracy and focus of a member for each class.

    Args:
        ft: Share of a class's bags whose focus is right, one a class.
        accuracy: Share of a class's bags that are answered right.
        background: Mean probability that g gives the class on background segments.
        misplaced: Classes that are answered right and looked for in the wrong place.
        verdict: "focused", "misplaced" or "inaccurate".
        sentence: The same in words.
    """

    ft: tuple[float, ...]
    accuracy: tuple[float, ...]
    background: tuple[float, ...]
    misplaced: tuple[int, ...]
    verdict: str
    sentence: str


def class_status(
    classes: Sequence[str],
    y: Array,
    focused: Array,
    correct: Array,
    alpha: Array,
    z: Array,
    background: Array,
) -> ClassStatus:
    """What a member makes of each class.

    Args:
        classes: Names, C of them.
        y: Labels, shape (n,).
        focused: Whether the focus is right, shape (n,).
        correct: Whether the answer is, shape (n,).
        alpha: Attention, shape (n, m).
        z: Relevance, boolean, shape (n, m).
        background: Mean class probabilities of g on background segments, shape (C,).
    """
    rows_of_class = [y == k for k in range(len(classes))]
    ft = tuple(_share(focused, rows) for rows in rows_of_class)
    accuracy = tuple(_share(correct, rows) for rows in rows_of_class)
    misplaced = tuple(
        k for k in range(len(classes)) if accuracy[k] >= ACCURATE and ft[k] < MIN_FOCUS
    )
    known = bool(correct.mean() >= ACCURATE)
    verdict = "inaccurate" if not known else "focused" if focused.mean() >= FOCUSED else "misplaced"
    missed = correct & ~focused
    spread = float(entropy_bits(alpha[missed]).mean()) if missed.any() else 0.0
    names = [classes[k] for k in misplaced]
    if verdict == "inaccurate":
        sentence = _inaccurate(classes, accuracy, float(correct.mean()))
    elif verdict == "focused":
        sentence = (
            "Right answer, right place: the segment that decides the label has the highest focus "
            f"score in {100 * focused.mean():.0f} % of held-out bags."
        )
    elif spread >= UNIFORM_SHARE * log2(alpha.shape[1]) and names:
        sentence = (
            "Right answer, wrong place: attention is spread over the whole bag "
            f"({spread:.1f} of {log2(alpha.shape[1]):.1f} bits), so {join_words(names)} "
            f"{_are(names)} read from its average."
        )
    elif names:
        inside = np.isin(y, misplaced)
        on = float(1 - (alpha[inside] * z[inside]).sum(1).mean())
        sentence = _from_background(names, misplaced, on, accuracy, background)
    else:
        sentence = (
            f"Right answer, wrong place: the focus is right in {100 * focused.mean():.0f} % of "
            "held-out bags only, over all classes."
        )
    return ClassStatus(
        ft, accuracy, tuple(background.tolist()), () if not known else misplaced, verdict, sentence
    )


def _from_background(
    names: list[str],
    misplaced: tuple[int, ...],
    on: float,
    accuracy: tuple[float, ...],
    background: Array,
) -> str:
    its = "its" if len(names) == 1 else "their"
    text = (
        f"Right answer, wrong place: {join_words(names)} {_are(names)} read from the background. "
        f"{100 * min(accuracy[k] for k in misplaced):.0f} % of {its} bags are answered right, yet "
        f"{100 * on:.0f} % of the attention in {its} bags lies on background segments."
    )
    top = int(np.argmax(background))
    if top in misplaced:
        name = names[misplaced.index(top)]
        text += f" Shown a background segment alone, the classifier says {name} most "
        text += f"(mean probability {background[top]:.2f})."
    return text


def _inaccurate(classes: Sequence[str], accuracy: tuple[float, ...], mean: float) -> str:
    missed = [classes[k] for k, share in enumerate(accuracy) if share < MIN_FOCUS]
    which = f", mostly on {join_words(missed)}" if 0 < len(missed) < len(classes) else ""
    return f"Not accurate: {100 * mean:.0f} % of held-out bags are answered right{which}."


def _are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _share(values: Array, rows: Array) -> float:
    return float(values[rows].mean()) if rows.any() else float("nan")
