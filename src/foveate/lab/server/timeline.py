"""A training stepped through: heat map and quadrants of a member at every moment that is shown."""

from typing import Any

import numpy as np

from foveate.lab.server.downsample import evenly_spaced_rows
from foveate.metrics.focus import QUADRANTS
from foveate.records.record import Array, Record

__all__ = ["timeline_rows"]


def timeline_rows(record: Record, member: int, moments: int) -> dict[str, Any]:
    """What a slider over training moves.

    Args:
        record: A part's record; ``heat`` of shape (T, S, 5, 5) and the quadrants (T, S) are used
            where it has them. Records of earlier versions have no ``heat``.
        member: Whose; −1 for the mean over all.
        moments: How many at most; the first and the last are always among them.

    Returns:
        ``t`` (K,), ``heat`` (K, 5, 5) or None, ``quadrants`` by name (K,), ``moments`` T.
    """
    rows = evenly_spaced_rows(len(record.t), moments)
    heat = record.values.get("heat")
    shares = {key: record.values[key] for key in QUADRANTS if key in record.values}
    return {
        "t": record.t[rows],
        "heat": None if heat is None else _short(_of(heat[rows], member)),
        "quadrants": {key: _short(_of(value[rows], member)) for key, value in shares.items()},
        "moments": len(record.t),
    }


def _of(values: Array, member: int) -> Array:
    """A member's values, or the mean over all, from (K, S, …)."""
    curve: Array = values.mean(1) if member < 0 else values[:, member]
    return curve


def _short(shares: Array) -> Array:
    return np.round(shares.astype(np.float64), 4)  # a ten-thousandth of a share cannot be seen
