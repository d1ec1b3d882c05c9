"""A record in a few numbers, over seeds."""

from typing import Any

import numpy as np

from foveate.metrics.metric import summary_metrics
from foveate.records.record import Record

__all__ = ["summarise"]


def summarise(record: Record) -> dict[str, Any]:
    """The metrics of result tables with intervals over seeds, and the cost of one training.

    Returns:
        ``accuracy``, ``ft``, ``saif`` and every other metric registered with ``summary=True``, as
        :class:`~foveate.metrics.intervals.Interval` (those the record has; shares in percent);
        ``cpu_seconds`` and ``classifier_calls``: the mean over seeds.

    Example:
        >>> import numpy as np
        >>> meta = {"seeds": [0, 1], "cpu_seconds": 4.0, "classifier_calls": [10, 10]}
        >>> record = Record(np.arange(1), {"accuracy": np.array([[0.8, 0.9]])}, {}, meta)
        >>> round(summarise(record)["accuracy"].mean, 6), summarise(record)["cpu_seconds"]
        (85.0, 2.0)
    """
    metrics = [item for item in summary_metrics() if item.name in record.values]
    return {
        **{item.name: item.interval(record.last(item.name)) for item in metrics},
        "cpu_seconds": record.meta["cpu_seconds"] / len(record.meta["seeds"]),
        "classifier_calls": float(np.mean(record.meta["classifier_calls"])),
    }
