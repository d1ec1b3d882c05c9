"""Accuracy against SAIF: final result, 95 % interval and cost of each paradigm."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from foveate.charts.layout import spread_labels
from foveate.charts.palette import colour, label, shape
from foveate.charts.render import with_rows
from foveate.metrics.intervals import Interval
from foveate.report.outcomes import Outcome
from foveate.report.sentences import percent, seconds

__all__ = ["plane"]

WIDTH, LINE = 262, 36  # width of the plot, height of one label beside it
MIN_SPAN = 10.0  # percentage points; noise on a shorter axis would look like a difference


def plane(outcomes: Sequence[Outcome], runs: Sequence[str] = ()) -> alt.LayerChart:
    """Accuracy against SAIF with 95 % intervals; the area of a point is its cost.

    Labels are in a column beside the plot, so that they never cover a point or each other.

    Args:
        outcomes: The outcomes to compare; all have a SAIF.
        runs: Names of the runs if there are several; labels then include the run's number.
    """
    height = max(250, LINE * len(outcomes))
    across = _domain([o.summary["accuracy"] for o in outcomes])
    up = _domain([o.summary["saif"] for o in outcomes])
    points = [_point(o, runs) for o in outcomes]
    per_unit = height / (up[1] - up[0])
    positions = [(up[1] - point["saif"]) * per_unit for point in points]
    for point, position in zip(points, spread_labels(positions, LINE, height), strict=True):
        point["label_y"] = up[1] - position / per_unit
    base = alt.Chart()
    x = _axis(alt.X, "accuracy", "Accuracy, %", across)
    y = _axis(alt.Y, "saif", "SAIF, %", up)
    leader = base.mark_rule(color="#9aa1a8", strokeWidth=1).encode(
        x=x, y=y, x2=alt.X2Value(WIDTH + 10), y2=alt.Y2("label_y:Q")
    )
    bars = base.transform_filter("datum.saif_low !== null").mark_rule(strokeWidth=1.8)
    color = alt.Color("colour:N", scale=None)
    flat = bars.encode(x=alt.X("accuracy_low:Q"), x2=alt.X2("accuracy_high:Q"), y=y, color=color)
    steep = bars.encode(x=x, y=alt.Y("saif_low:Q"), y2=alt.Y2("saif_high:Q"), color=color)
    dots = base.mark_point(filled=True, opacity=0.9, stroke="white", strokeWidth=1).encode(
        x=x,
        y=y,
        color=color,
        shape=alt.Shape("shape:N", scale=None),
        size=alt.Size("cpu_seconds:Q", scale=alt.Scale(zero=True, range=[40, 420]), legend=None),
        order=alt.Order("cpu_seconds:Q", sort="descending"),  # small ones on top
    )
    labels = base.encode(x=alt.XValue(WIDTH + 14), y=alt.Y("label_y:Q"))
    name = labels.mark_text(align="left", dy=-7, fontWeight="bold").encode(text=alt.Text("name:N"))
    cost = labels.mark_text(align="left", dy=9).encode(text=alt.Text("cost:N"))
    chart = alt.layer(leader, flat, steep, dots, name, cost).properties(
        width=WIDTH, height=height, description=_description(outcomes)
    )
    return with_rows(chart, points)


def _point(outcome: Outcome, runs: Sequence[str]) -> dict[str, Any]:
    accuracy, saif = outcome.summary["accuracy"], outcome.summary["saif"]
    cost = outcome.summary["cpu_seconds"]
    name = label(outcome.paradigm)
    return {
        "name": f"{name}, run {runs.index(outcome.run) + 1}" if runs else name,
        "cost": f"{seconds(cost)} CPU s",
        "colour": colour(outcome.paradigm),
        "shape": shape(outcome.paradigm),
        "cpu_seconds": cost,
        **{f"accuracy{k}": v for k, v in _interval_fields(accuracy).items()},
        **{f"saif{k}": v for k, v in _interval_fields(saif).items()},
    }


def _interval_fields(value: Interval) -> dict[str, float | None]:
    return {"": value.mean, "_low": value.low, "_high": value.high}


def _domain(values: Sequence[Interval]) -> tuple[float, float]:
    """Domain of an axis: all intervals with a margin, at least :data:`MIN_SPAN` wide."""
    low = min(v.mean if v.low is None else v.low for v in values)
    high = max(v.mean if v.high is None else v.high for v in values)
    missing = max(0.0, MIN_SPAN - (high - low)) / 2
    low, high = low - missing, high + missing
    if high > 100:
        low, high = max(0.0, low - (high - 100)), 100.0
    if low < 0:
        low, high = 0.0, min(100.0, high - low)
    margin = 0.06 * (high - low)
    return low - margin, high + margin


def _axis(kind: Any, field: str, title: str, domain: tuple[float, float]) -> Any:
    step = next(s for s in (1, 2, 5, 10, 20) if (domain[1] - domain[0]) / s <= 7)
    first = step * int(np.ceil(max(0.0, domain[0]) / step))
    ticks = list(range(first, int(min(100.0, domain[1])) + 1, step))
    scale = alt.Scale(domain=list(domain), nice=False, zero=False)
    return kind(f"{field}:Q", scale=scale, axis=alt.Axis(values=ticks, title=title, format="d"))


def _description(outcomes: Sequence[Outcome]) -> str:
    texts = [
        f"{label(o.paradigm)} of {o.run}: accuracy {percent(o.summary['accuracy'])}, "
        f"SAIF {percent(o.summary['saif'])}, {seconds(o.summary['cpu_seconds'])} CPU s"
        for o in outcomes
    ]
    return "Accuracy against SAIF in percent, with 95 % intervals. " + "; ".join(texts)
