"""A record in a few numbers, over seeds."""

from typing import Any

import numpy as np

from foveate.metrics.intervals import mean_interval
from foveate.records.record import Record

__all__ = ["SHARES", "summarise"]

SHARES = ("accuracy", "ft", "saif")  # shown as percentages


def summarise(record: Record) -> dict[str, Any]:
    """Accuracy, FT and SAIF in percent with intervals over seeds, and the cost of one training.

    Returns:
        ``accuracy``, ``ft``, ``saif``: :class:`Interval` (those the record has); ``cpu_seconds``
        and ``classifier_calls``: the mean over seeds.

    Example:
        >>> import numpy as np
        >>> meta = {"seeds": [0, 1], "cpu_seconds": 4.0, "classifier_calls": [10, 10]}
        >>> record = Record(np.arange(1), {"accuracy": np.array([[0.8, 0.9]])}, {}, meta)
        >>> round(summarise(record)["accuracy"].mean, 6), summarise(record)["cpu_seconds"]
        (85.0, 2.0)
    """
    there = [name for name in SHARES if name in record.values]
    shares = {k: mean_interval(100 * record.last(k), within=(0, 100)) for k in there}
    seeds = len(record.meta["seeds"])
    return {
        **shares,
        "cpu_seconds": record.meta["cpu_seconds"] / seeds,
        "classifier_calls": float(np.mean(record.meta["classifier_calls"])),
    }
