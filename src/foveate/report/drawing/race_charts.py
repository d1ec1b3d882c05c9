"""Charts of a race: accuracy against SAIF, heat maps, threshold curve, and all charts by name."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

import altair as alt
import numpy as np

from foveate.charts.palette import CELL_TEXT_COLOUR, TEXT_COLOUR, colour, label, shape
from foveate.charts.render import spread_labels, with_rows
from foveate.metrics.focus import (
    EDGES,
    focus_and_prediction,
    heat_map,
    released_heat_map,
    threshold_curve,
)
from foveate.metrics.intervals import Interval
from foveate.records.record import Array, Record
from foveate.records.runs import Run
from foveate.report.drawing.curves import curve_chart, curve_names, lines, quadrant_chart
from foveate.report.outcomes import Outcome, band, find_switch, outcomes
from foveate.report.sentences import cell, percent, seconds

__all__ = ["Chart", "figures", "heat_map_chart", "mean_heat_map", "plane", "threshold_chart"]

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
        width=WIDTH, height=height, description=_plane_description(outcomes)
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


def _plane_description(outcomes: Sequence[Outcome]) -> str:
    texts = [
        f"{label(o.paradigm)} of {o.run}: accuracy {percent(o.summary['accuracy'])}, "
        f"SAIF {percent(o.summary['saif'])}, {seconds(o.summary['cpu_seconds'])} CPU s"
        for o in outcomes
    ]
    return "Accuracy against SAIF in percent, with 95 % intervals. " + "; ".join(texts)


Bins = Literal["fixed", "data range"]
CELL = 46  # pixels
DARK = 30.0  # percent from which the text of a cell is white
THRESHOLDS = np.linspace(0.0, 1.0, 51)


def mean_heat_map(record: Record) -> Array:
    """The 5×5 heat map in percent, mean over seeds: rows p of the true class, columns a_z."""
    return 100 * heat_map(*focus_and_prediction(record)).mean(0)


def heat_map_chart(
    record: Record, paradigm: str, size: int = CELL, bins: Bins = "fixed"
) -> alt.LayerChart:
    """Share of held-out bags by attention on the relevant segment and by p of the true class.

    Args:
        record: The paradigm's record.
        paradigm: Its name, or the title of the chart.
        size: Side of a cell, pixels.
        bins: "fixed" has edges 0, .2, …, 1; "data range" divides the range of each score, all
            seeds together, as the released script does. Its last cell is not SAIF.
    """
    if bins == "fixed":
        shares = mean_heat_map(record)
        names = across = [f"{low:g}–{high:g}" for low, high in pairwise(EDGES)]
        subtitle = f"SAIF {cell(shares[-1, -1])} % (outlined)"
    else:
        shares, names, across = _data_range(record)
        subtitle = f"last cell {cell(shares[-1, -1])} % (not SAIF)"
    cells = [
        {
            "a": across[j],
            "p": names[i],
            "share": float(share),
            "text": cell(share),
            "ink": _text_colour(share),
        }
        for (i, j), share in np.ndenumerate(shares)
    ]
    axis = alt.Axis(
        labelAngle=0,
        ticks=False,
        domain=False,
        labelFontSize=min(11, size // 4),
        labelOverlap=False,
    )
    x = alt.X("a:O", sort=across, axis=axis, title="attention on the relevant segment, a_z")
    y = alt.Y("p:O", sort=names[::-1], axis=axis, title="probability of the true class")
    base = alt.Chart().encode(x=x, y=y)
    scale = alt.Scale(
        type="sqrt", domain=[0, 100], range=["#f6f8fa", "#b3bec8", "#66788a", "#263340"]
    )
    ground = base.mark_rect(stroke="white", strokeWidth=1)
    corner = base.transform_filter(f"datum.a === '{across[-1]}' && datum.p === '{names[-1]}'")
    chart = alt.layer(
        ground.encode(fill=alt.Fill("share:Q", scale=scale, legend=None)),
        corner.mark_rect(fillOpacity=0, stroke=TEXT_COLOUR, strokeDash=[5, 3], strokeWidth=2.5),
        base.mark_text(fontSize=min(13, size // 3)).encode(
            text=alt.Text("text:N"), color=alt.Color("ink:N", scale=None)
        ),
    ).properties(
        width=size * len(names),
        height=size * len(names),
        title=alt.Title(label(paradigm), subtitle=subtitle),
        description=_heat_map_description(paradigm, shares, names, across, subtitle),
    )
    return with_rows(chart, cells)


def _data_range(record: Record) -> tuple[Array, list[str], list[str]]:
    """The heat map of the released script in percent, and the names of its rows and columns."""
    a_z, p_y = (scores.ravel() for scores in focus_and_prediction(record))
    shares = 100 * released_heat_map(a_z, p_y)
    rows, columns = (_bin_names(np.histogram_bin_edges(x, len(shares))) for x in (p_y, a_z))
    return shares, rows, columns


def _bin_names(edges: Array) -> list[str]:
    """Names of the bins between some edges, with enough decimals to tell the edges apart."""
    digits = max(1, 1 - int(np.floor(np.log10(np.diff(edges).min()))))
    return [f"{low:g}–{high:g}" for low, high in pairwise(np.round(edges, digits) + 0.0)]


def threshold_chart(records: Mapping[str, Record]) -> alt.LayerChart:
    """Share of held-out bags whose relevant segment gets more attention than a threshold."""
    rows: list[dict[str, Any]] = []
    for name, record in records.items():
        shares = 100 * threshold_curve(focus_and_prediction(record)[0], THRESHOLDS)
        for threshold, share in zip(THRESHOLDS, band(shares.T, 100), strict=True):
            rows.append({"x": float(threshold), "paradigm": label(name), **share._asdict()})
    return lines(
        rows,
        list(records),
        alt.X(
            "x:Q",
            title="threshold on a_z",
            scale=alt.Scale(domain=[0, 1]),
            axis=alt.Axis(tickCount=5, format="~g"),
        ),
        alt.Y("mean:Q", title="bags above the threshold, %", scale=alt.Scale(domain=[0, 100])),
        width=330,
        height=230,
        description="Share of bags with more attention on the relevant segment than a threshold: "
        + "; ".join(_share_above_half(records[name], name) for name in records),
    )


def _share_above_half(record: Record, name: str) -> str:
    share = threshold_curve(focus_and_prediction(record)[0], np.array([0.5])).mean()
    return f"{label(name)} {100 * share:.1f} % above 0.5"


def _text_colour(share: float) -> str:
    return "white" if share > DARK else CELL_TEXT_COLOUR


def _heat_map_description(
    paradigm: str, shares: Array, names: list[str], across: list[str], subtitle: str
) -> str:
    i, j = np.unravel_index(shares.argmax(), shares.shape)
    return (
        f"{label(paradigm)}: share of bags in percent by attention on the relevant segment and "
        f"probability of the true class, five by five cells. Top right cell: {subtitle}. "
        f"Fullest cell: attention {across[j]}, probability {names[i]}, "
        f"with {cell(shares[i, j])} %."
    )


Chart = alt.Chart | alt.LayerChart


def figures(run: Run, records: Mapping[str, Record] | None = None) -> dict[str, Chart]:
    """The charts of a run; those about focus only if the relevant segments are known.

    Args:
        run: The run.
        records: Its records, if they are already loaded.

    Returns:
        ``plane``, ``heat-map-<paradigm>``, ``curve-<quantity>``, ``quadrants-<paradigm>``,
        ``threshold``.
    """
    records = run.records() if records is None else records
    if not records:
        return {}
    focused = {name: record for name, record in records.items() if "saif" in record.values}
    switch = find_switch(run, records)
    charts: dict[str, Chart] = {}
    if focused:
        charts["plane"] = plane(outcomes(run.name, focused))
    for name, record in focused.items():
        charts[f"heat-map-{name}"] = heat_map_chart(record, name)
    for quantity in curve_names():
        measured = {k: record for k, record in records.items() if quantity in record.values}
        if measured:
            charts[f"curve-{quantity}"] = curve_chart(measured, quantity, switch)
    for name, record in focused.items():
        charts[f"quadrants-{name}"] = quadrant_chart(record, name)
    if focused:
        charts["threshold"] = threshold_chart(focused)
    return charts
