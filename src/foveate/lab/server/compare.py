"""Paired differences between two runs: seeds that both have, paradigm by paradigm."""

from typing import Any

import numpy as np
from fastapi import APIRouter
from starlette.responses import Response

from foveate.lab.server.catalog import part_record, run_by_name
from foveate.lab.server.responses import json_response
from foveate.metrics.intervals import mean_interval
from foveate.metrics.metric import summary_metrics
from foveate.records.record import Record

__all__ = ["paired_differences", "routes"]

routes = APIRouter()


@routes.get("/api/runs/differences")
def differences(first: str, second: str) -> Response:
    """Final metrics of the second run minus those of the first, with intervals over seeds."""
    one, other = run_by_name(first), run_by_name(second)
    shared = [
        name for name in one.manifest["parts"]
        if name in other.manifest["parts"] and one.has(name) and other.has(name)
    ]  # fmt: skip
    rows = {
        name: paired_differences(part_record(one, name), part_record(other, name))
        for name in shared
    }
    return json_response({"first": first, "second": second, "parts": rows})


def paired_differences(first: Record, second: Record) -> dict[str, Any]:
    """Mean difference of final metrics over the seeds that both records have.

    Args:
        first: What is subtracted.
        second: What it is subtracted from.

    Returns:
        ``seeds`` both have, and by metric ``mean``, ``low`` and ``high``.
    """
    seeds = [list(record.meta.get("seeds", [])) for record in (first, second)]
    both = [seed for seed in seeds[0] if seed in seeds[1]]
    values: dict[str, Any] = {}
    for metric in summary_metrics():
        if not both or any(metric.name not in record.values for record in (first, second)):
            continue
        ends = [
            np.array([record.values[metric.name][-1][known.index(seed)] for seed in both])
            for record, known in zip((first, second), seeds, strict=True)
        ]
        interval = mean_interval(ends[1] - ends[0])
        values[metric.name] = {"mean": interval.mean, "low": interval.low, "high": interval.high}
    return {"seeds": len(both), "metrics": values}
