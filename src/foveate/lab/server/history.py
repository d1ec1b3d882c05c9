"""What was measured during a training, kept small: single precision, one array a quantity."""

from typing import Any

import numpy as np

from foveate.lab.server.downsample import extreme_rows
from foveate.records.record import Array

__all__ = ["History"]


class History:
    """Measurements over time of all members, by paradigm and quantity, as frames bring them."""

    def __init__(self) -> None:
        self.epoch = 0
        self.outcomes: dict[str, list[str]] = {}
        self._t: dict[str, list[int]] = {}
        self._values: dict[str, dict[str, list[Array]]] = {}

    def add(self, frame: dict[str, Any]) -> None:
        """Take in the rows of a frame."""
        self.epoch = max(self.epoch, frame["epoch"])
        self.outcomes |= frame["outcomes"]
        for paradigm, rows in frame["rows"].items():
            self._t.setdefault(paradigm, []).extend(rows["t"])
            series = self._values.setdefault(paradigm, {})
            for name, more in rows.items():
                if name != "t":
                    series.setdefault(name, []).extend(np.array(row, np.float32) for row in more)

    def last(self) -> dict[str, dict[str, Array]]:
        """The last measurement of every member, by paradigm and quantity."""
        return {
            paradigm: {name: rows[-1] for name, rows in series.items() if rows}
            for paradigm, series in self._values.items()
        }

    def curves(self, member: int, points: int) -> dict[str, dict[str, Array]]:
        """A member's curves, each with its own times, thinned to ``points``.

        Args:
            member: Its place among the seeds.
            points: How many at most.
        """
        return {
            paradigm: {name: self._curve(paradigm, name, member, points) for name in series}
            for paradigm, series in self._values.items()
        }

    def _curve(self, paradigm: str, name: str, member: int, points: int) -> Array:
        y = np.array([row[member] for row in self._values[paradigm][name]], np.float64)
        t = np.array(self._t[paradigm][: len(y)], np.float64)
        keep = extreme_rows(y, points)
        return np.round(np.stack([t[keep], y[keep]], 1), 5)
