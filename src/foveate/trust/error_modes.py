r"""From marks to a label-free score, and the detector of the three error modes.

The score estimates FT. For each class it is how far the top scores of its bags stand out from what
other bags leave unattended (:func:`~foveate.trust.class_evidence.separation`), discounted by how
well the top segment alone tells the class:

.. math:: \hat{FT}_c = \max(0, \mathrm{sep}_c) \cdot r^{1/2}, \qquad
          r = \max\Big(0, \frac{A_{top} - 1/C}{1 - 1/C}\Big)

with :math:`A_{top}` the accuracy of the top segment alone, averaged over classes. The exponent and
all thresholds were chosen on digits, error modes and Gaussians. The score depends on the examined
model and assumes that one segment is evidence; it is shown beside the auditor's estimate, and does
not decide.
"""

from typing import NamedTuple

import numpy as np

from foveate.trust.class_evidence import Marks
from foveate.types import Array

__all__ = [
    "ACCURATE",
    "AVERSION",
    "MISFOCUSED",
    "MODES",
    "UNIFORM",
    "Flag",
    "detect",
    "estimate",
    "flags_of",
    "reading",
    "score",
]


EXPONENT = 0.5  # of the reading; the least mean |score − FT| on the design sets
ACCURATE = 0.8  # of a class: below, an error mode is not what is wrong
MISFOCUSED = 0.45  # estimated FT of a class below which the focus misses it
UNIFORM = 0.9  # entropy of attention, as a share of the most there can be
AVERSION = (
    0.4  # how far the lowest scores of a class stand out, from which on f avoids its evidence
)

MODES = {
    1: "read from the background",
    2: "two wrongs",
    3: "uniform but accurate",
}


class Flag(NamedTuple):
    """One error mode found in one class.

    Args:
        mode: 1, 2 or 3. [pvr22] Sec. 4
        name: The mode in words.
        score: One minus the estimated FT of the class.
        threshold: The score above which it is found.
        members: How many of the models show it.
        evidence: The marks behind it, means over these models.
    """

    mode: int
    name: str
    score: float
    threshold: float
    members: int
    evidence: dict[str, float]


def reading(marks: Marks) -> Array:
    """Accuracy of the top segment alone, corrected for chance, shape (S,)."""
    top = marks["top"]
    classes = top.shape[1]
    count = (~np.isnan(top)).sum(1)
    total = np.nan_to_num(top).sum(1)
    mean = np.divide(total, count, out=np.full(len(top), np.nan), where=count > 0)
    return np.clip((mean - 1 / classes) / (1 - 1 / classes), 0.0, 1.0)


def estimate(marks: Marks) -> Array:
    """Estimated FT of every member and class, in [0, 1], shape (S, C); nan without bags."""
    return np.clip(marks["separation"], 0.0, 1.0) * reading(marks)[:, None] ** EXPONENT


def score(marks: Marks, absent: tuple[int, ...] = ()) -> Array:
    """Estimated FT of every member, classes weighed by their bags, shape (S,).

    Args:
        marks: The evidence by class.
        absent: Classes that mean that nothing is there, and so have nothing to be pointed at.
    """
    values, weight = estimate(marks), marks["bags"].copy()
    weight[:, list(absent)] = 0.0
    weight = np.where(np.isnan(values), 0.0, weight)
    total = weight.sum(1)
    mean = (np.nan_to_num(values) * weight).sum(1)
    return np.divide(mean, total, out=np.full(total.shape, np.nan), where=total > 0)


def detect(marks: Marks) -> Array:
    """The error mode of every member and class, 0 where there is none, shape (S, C).

    A class is misfocused where the model is accurate on it, yet its tops do not stand out.
    Attention that is nearly uniform makes that mode 3; evidence that the focus ranks last, mode 2;
    else the class is read from the background, mode 1.
    """
    misfocused = (marks["accuracy"] >= ACCURATE) & (estimate(marks) < MISFOCUSED)
    kind = np.where(marks["aversion"] >= AVERSION, 2, 1)
    return np.where(misfocused, np.where(marks["entropy"] >= UNIFORM, 3, kind), 0)


def flags_of(marks: Marks, c: int) -> list[Flag]:
    """The error modes found in one class, the most frequent first."""
    detected, values = detect(marks)[:, c], estimate(marks)[:, c]
    flags = []
    for mode, name in MODES.items():
        in_mode = detected == mode
        if in_mode.any():
            keys = ("accuracy", "separation", "aversion", "entropy", "unattended", "runner_up")
            evidence = {key: float(np.nanmean(marks[key][in_mode, c])) for key in keys}
            value = float(1 - np.nanmean(values[in_mode]))
            flags.append(Flag(mode, name, value, 1 - MISFOCUSED, int(in_mode.sum()), evidence))
    return sorted(flags, key=lambda flag: -flag.members)
