"""Where labels go so that none covers another."""

from collections.abc import Sequence

import numpy as np

__all__ = ["spread"]


def spread(wanted: Sequence[float], gap: float, length: float) -> list[float]:
    """Positions as near to the wanted ones as ``gap`` between neighbours within ``length`` allows.

    Args:
        wanted: Where labels would stand if they were alone.
        gap: Least distance between two of them; half of it to either end.
        length: Room for all; at least ``gap`` for each.

    Example:
        >>> spread([10.0, 11.0, 90.0], 20.0, 100.0)
        [10.0, 30.0, 90.0]
    """
    order = np.argsort(wanted, kind="stable")
    placed = np.empty(len(wanted))
    floor = gap / 2
    for i in order:
        placed[i] = max(wanted[i], floor)
        floor = placed[i] + gap
    ceiling = length - gap / 2
    for i in order[::-1]:
        placed[i] = min(placed[i], ceiling)
        ceiling = placed[i] - gap
    return [float(at) for at in placed]
