"""The flows that ``foveate flow`` gives, on an even grid of times."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from foveate.dynamics.vr23 import Trajectory, flow
from foveate.errors import FoveateError

__all__ = ["flow_record", "flow_rows"]


def flow_record(
    m: int, C: int, until: float, alpha: float | None, switch: float | None, points: int
) -> dict[str, Trajectory]:
    """The exact flows of the paradigms from 0 to ``until``.

    Args:
        m: Segments per bag.
        C: Number of classes.
        until: Horizon.
        alpha: Fixed attention, or None.
        switch: When the hybrid turns hard, or None.
        points: Number of times.
    """
    if points < 2:
        raise FoveateError(f"points must be at least 2, got {points}")
    if not (np.isfinite(until) and until > 0):
        raise FoveateError(f"until must be a time above 0, got {until}")
    return flow(m, C, np.linspace(0, until, points), alpha, switch)


def flow_rows(curves: Mapping[str, Trajectory]) -> dict[str, Any]:
    """The same as plain lists, for JSON."""
    first = next(iter(curves.values()))
    rows: dict[str, Any] = {"t": first.t.tolist()}
    for name, curve in curves.items():
        rows[name] = {
            key: None if (value := getattr(curve, key)) is None else value.tolist()
            for key in ("mu", "nu", "alpha", "beta", "loss")
        }
    return rows
