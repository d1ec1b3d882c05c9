"""Why soft attention stops improving, in two sentences computed from its curves."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from foveate.records.record import Array

__all__ = ["Incentive", "flow_answer", "incentive_events"]

DEAD = 0.1  # share of its peak below which the incentive counts as gone


class Incentive(NamedTuple):
    """When the incentive of a flow peaks, and when it has fallen to a tenth of its peak.

    Args:
        peak: Index of the time of its largest value.
        dead: Index of the first later time at which it is below a tenth of that; None if never.
    """

    peak: int
    dead: int | None


def incentive_events(delta: Array) -> Incentive:
    """Peak and end of an incentive over time.

    Args:
        delta: The incentive, shape (T,).

    Example:
        >>> incentive_events(np.array([0.0, 1.0, 0.5, 0.05, 0.01]))
        Incentive(peak=1, dead=3)
    """
    peak = int(np.argmax(delta))
    below = np.flatnonzero(delta[peak:] <= DEAD * delta[peak])
    return Incentive(peak, peak + int(below[0]) if len(below) else None)


def flow_answer(rows: Mapping[str, Any]) -> str:
    """The answer to "why does soft attention stop improving?" for one setting.

    Args:
        rows: Curves by paradigm with ``alpha``, ``rest`` and ``incentive``, and times ``t``.
    """
    t, soft, hard = np.array(rows["t"]), rows["soft"], rows["hard"]
    delta, alpha = np.array(soft["incentive"]), soft["alpha"]
    peak, dead = incentive_events(delta)
    until = _time(t[-1])
    if peak == len(t) - 1:
        return (
            f"At t = {until} soft attention has not stopped yet: its incentive to look better, δ, "
            f"still grows, and {_percent(alpha[-1])} of attention is on the segment that decides. "
            "Take a longer horizon to see it stop."
        )
    reached = (
        f"is at {_percent(delta[-1] / delta[peak])} of that at t = {until}"
        if dead is None
        else f"is below a tenth of that from t = {_time(t[dead])} on"
    )
    share = alpha[-1 if dead is None else dead]
    first = (
        "Soft attention stops improving because its incentive to look better, δ, dies: once the "
        "classifier is right on the mixture of all segments there is little left to gain; δ peaks "
        f"at t = {_time(t[peak])} and {reached}, with {_percent(share)} of attention on the "
        "segment that decides."
    )
    second = (
        "Hard attention is scored on single segments, so its δ stays "
        f"({hard['incentive'][-1]:.2g} at t = {until}, soft {delta[-1]:.2g}), and it leaves "
        f"{_percent(hard['rest'][-1], 2)} of attention elsewhere where soft attention leaves "
        f"{_percent(soft['rest'][-1], 2)}."
    )
    return f"{first} {second}"


def _time(t: float) -> str:
    """Three digits, without an exponent.

    Example:
        >>> _time(1183.4), _time(45.11)
        ('1,180', '45.1')
    """
    return f"{float(f'{t:.3g}'):,g}"


def _percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f}\u00a0%"
