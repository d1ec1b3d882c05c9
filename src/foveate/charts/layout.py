"""Placement of labels without overlap."""

from collections.abc import Sequence

import numpy as np

__all__ = ["spread_labels"]


def spread_labels(positions: Sequence[float], gap: float, length: float) -> list[float]:
    """Move labels apart to at least ``gap``, as little as possible, within ``length``.

    Args:
        positions: Preferred positions.
        gap: Minimum distance between two labels; half of it to either end.
        length: Length of the axis, at least ``gap`` per label.

    Example:
        >>> spread_labels([10.0, 11.0, 90.0], 20.0, 100.0)
        [10.0, 30.0, 90.0]
    """
    order = np.argsort(positions, kind="stable")
    placed = np.empty(len(positions))
    floor = gap / 2
    for i in order:
        placed[i] = max(positions[i], floor)
        floor = placed[i] + gap
    ceiling = length - gap / 2
    for i in order[::-1]:
        placed[i] = min(placed[i], ceiling)
        ceiling = placed[i] - gap
    return [float(position) for position in placed]
