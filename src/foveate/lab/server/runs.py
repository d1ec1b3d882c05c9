"""Runs for the page: the list, one run with its figures, curves over any stretch of training."""

from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from fastapi import APIRouter
from starlette.responses import Response

from foveate.errors import FoveateError
from foveate.lab.server import bags
from foveate.lab.server.catalog import part_record, run_by_name, run_entries
from foveate.lab.server.downsample import evenly_spaced_rows, extreme_rows, time_slice
from foveate.lab.server.guard import REPORT_POLICY
from foveate.lab.server.responses import json_response, not_found
from foveate.metrics.metric import summary_metrics
from foveate.records.record import Record
from foveate.records.runs import Run

__all__ = ["curve_rows", "routes"]

routes = APIRouter()
routes.include_router(bags.routes)

MAX_POINTS = 4000
MAX_MOMENTS = 300  # of a record that a figure of the library is drawn from


@routes.get("/api/runs")
def list_all() -> Response:
    """All runs, newest first."""
    return json_response({"runs": run_entries()})


@routes.get("/api/runs/numbers")
def numbers(run: str) -> Response:
    """How the paradigms of a race ended, in percent, with intervals over seeds."""
    from foveate.jobs.job import open_job

    opened = run_by_name(run)
    overview = open_job(opened).overview(opened, _records(opened))
    return json_response({"outcomes": [_outcome(one) for one in overview.outcomes]})


@routes.get("/api/run")
def one(run: str) -> Response:
    """What a run is, how it was set up, and what can be asked about its parts."""
    from foveate.jobs.job import open_job

    opened = run_by_name(run)
    records = _records(opened)
    overview = open_job(opened).overview(opened, records)
    return json_response(
        {
            "name": run,
            "kind": opened.manifest["kind"],
            "label": opened.manifest["label"],
            "command": opened.manifest.get("command", ""),
            "unfinished": overview.unfinished,
            "summary": overview.summary,
            "outcomes": [_outcome(outcome) for outcome in overview.outcomes],
            "setup": overview.setup,
            "findings": [finding.__dict__ for finding in overview.findings],
            "parts": {name: _about(record) for name, record in records.items()},
            "classes": list(overview.classes),
            "report": (opened.path / "report.html").exists(),
        }
    )


@routes.get("/api/run/figures")
def figure_names(run: str) -> Response:
    """The names of the figures that can be drawn of a run."""
    return json_response({"figures": list(_charts(run))})


@routes.get("/api/run/figure")
def figure(run: str, name: str) -> Response:
    """One figure as Vega-Lite, data and all."""
    from foveate.charts.render import vega_spec

    chart = _charts(run).get(name)
    if chart is None:
        raise not_found("the run has no such figure")
    return json_response({"name": name, "spec": vega_spec(chart)})


@routes.get("/api/run/curves")
def curves(
    run: str,
    quantity: str,
    start: float | None = None,
    end: float | None = None,
    points: int = 600,
) -> Response:
    """A quantity over training for all parts that have it, thinned, exact on a short stretch."""
    if points > MAX_POINTS:
        raise FoveateError(f"points must be at most {MAX_POINTS}, got {points}")
    details = {
        name: curve_rows(record, quantity, start, end, points)
        for name, record in _records(run_by_name(run)).items()
        if quantity in record.values and record.values[quantity].ndim == 2
    }
    if not details:
        raise not_found("no part of the run has such a quantity")
    return json_response({"quantity": quantity, "parts": details})


@routes.get("/api/run/report")
def report(run: str, page: Literal["report", "trust", "evidence"] = "report") -> Response:
    """A page of a run as stored in its folder, served without an origin."""
    path = run_by_name(run).path / f"{page}.html"
    if not path.is_file():
        raise not_found("the run has no such page yet: 'foveate report' makes one")
    rules = {"Content-Security-Policy": REPORT_POLICY, "Cache-Control": "no-store"}
    return Response(path.read_bytes(), 200, rules, "text/html; charset=utf-8")


@routes.get("/api/run/table")
def table(run: str, name: Literal["bags", "segments"]) -> Response:
    """A table that a fit has left, to keep."""
    path = run_by_name(run).path / f"{name}.csv"
    if not path.is_file():
        raise not_found("the run has no such table")
    headers = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
    return Response(path.read_bytes(), 200, headers, "text/csv; charset=utf-8")


def curve_rows(
    record: Record, quantity: str, start: float | None, end: float | None, points: int
) -> dict[str, Any]:
    """Mean over members, and their lowest and highest, at the rows that show the mean's extremes.

    Args:
        record: A record with ``quantity`` of shape (T, S).
        quantity: Which.
        start: First time wanted, or None.
        end: Last time wanted, or None.
        points: How many rows at most.
    """
    rows = time_slice(record.t, start, end)
    t, values = record.t[rows], record.values[quantity][rows]
    seen = np.isfinite(values).any(1)
    t, values = t[seen], values[seen]
    mean = np.nanmean(values, 1) if len(t) else np.zeros(0)
    keep = extreme_rows(mean, points)
    return {
        "t": t[keep],
        "mean": mean[keep],
        "low": np.nanmin(values[keep], 1) if len(keep) else mean,
        "high": np.nanmax(values[keep], 1) if len(keep) else mean,
        "rows": len(t),
        "exact": len(keep) == len(t),
        "members": int(values.shape[1]),
    }


def _records(run: Run) -> dict[str, Record]:
    return {name: part_record(run, name) for name in run.manifest["parts"] if run.has(name)}


def _outcome(value: Any) -> dict[str, Any]:
    shares = {item.name: value.share(item.name) for item in summary_metrics()}
    return {
        "paradigm": value.paradigm,
        "epochs": value.epochs,
        "seeds": value.seeds,
        **{key: None if share is None else share._asdict() for key, share in shares.items()},
    }


def _about(record: Record) -> dict[str, Any]:
    """What can be asked about a part."""
    curves = [key for key, value in record.values.items() if value.ndim == 2]
    return {
        "quantities": curves,
        "members": len(record.meta.get("seeds", [])) or 1,
        "last": float(record.t[-1]) if len(record.t) else 0.0,
        "rows": len(record.t),
        "focus": all(key in record.final for key in ("alpha", "z", "log_p", "y", "s")),
    }


def _few(record: Record) -> Record:
    """A record with no more moments than a figure can show; its last one is always among them."""
    if len(record.t) <= MAX_MOMENTS:
        return record
    rows = evenly_spaced_rows(len(record.t), MAX_MOMENTS)
    values = {name: value[rows] for name, value in record.values.items()}
    return replace(record, t=record.t[rows], values=values)


def _charts(name: str) -> dict[str, Any]:
    run = run_by_name(name)
    return _drawn(name, (run.path / "manifest.json").stat().st_mtime_ns)


@lru_cache(maxsize=8)
def _drawn(name: str, _changed: int) -> dict[str, Any]:
    from foveate.jobs.job import open_job

    run = run_by_name(name)
    job, records = open_job(run), _records(run)
    if job.draws_thinned:
        records = {name: _few(record) for name, record in records.items()}
    return dict(job.figures(run, records))
