"""Reading the records of a fixed-focus experiment: curves by paradigm, alpha and seed."""

import numpy as np

from foveate.records.record import Record
from foveate.types import FloatArray

__all__ = ["SETS", "alphas_of", "curve", "elapsed", "limit", "moment", "start_of"]


SETS = {"orthogonal": "linear-orthogonal", "digits": "digits", "cifar10": "CIFAR-10"}
"""The data sets in order, and how a page names them."""


def curve(record: Record, name: str, paradigm: str, rates: str = "equal") -> FloatArray:
    """A quantity over time for each alpha and seed, shape (T, A, S).

    Args:
        record: The record of :func:`train_fixed`.
        name: The quantity.
        paradigm: Whose.
        rates: At which choice of learning rates, "equal" or "authors".
    """
    meta = record.meta
    lines = [tuple(line) for line in meta["lines"]]
    index = lines.index((paradigm, meta["rates"][rates][paradigm]))
    grid = record.values[name].reshape(len(record.t), len(lines), len(meta["alphas"]), -1)
    return np.asarray(grid[:, index], float)


def elapsed(record: Record, lr: float) -> FloatArray:
    r"""The time of the flow at each measurement of a training, shape (T,).

    A constant gradient moves the weights in k steps with momentum p as far as the flow goes in
    :math:`\eta [k/(1-p) - p (1-p^k)/(1-p)^2]`, which without momentum is :math:`\eta k`.

    Args:
        record: The record of :func:`train_fixed`.
        lr: The learning rate η.
    """
    steps, p = record.t * float(record.meta["steps_per_epoch"]), float(record.meta["momentum"])
    return np.asarray(lr * (steps / (1 - p) - p * (1 - p**steps) / (1 - p) ** 2))


def moment(record: Record, share: float) -> int:
    """The measurement nearest to a share of the training."""
    return int(np.abs(record.t - share * record.t[-1]).argmin())


def limit(paradigm: str, alpha: FloatArray, classes: int) -> FloatArray:
    """The loss of a g that is perfect on the foreground and uniform on the background.

    Args:
        paradigm: "soft", "hard" or "lvml".
        alpha: Any shape.
        classes: C. [vr23] Sec. 3.1
    """
    if paradigm == "soft":
        return np.zeros_like(alpha)
    if paradigm == "hard":
        return (1 - alpha) * np.log(classes)
    return np.asarray(-np.log(alpha + (1 - alpha) / classes))


def alphas_of(record: Record) -> FloatArray:
    """The fixed values of the focus, shape (A,)."""
    return np.array(record.meta["alphas"])


def start_of(record: Record) -> float:
    """The loss of a uniform g, log C."""
    return float(np.log(record.meta["classes"]))
