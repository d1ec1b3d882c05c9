"""Curves over training: means over seeds, a band around them, one colour to a name."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from foveate.charts.lines import name_colours
from foveate.charts.palette import TEXT_COLOUR
from foveate.charts.render import with_rows
from foveate.metrics.intervals import ends_of_mean
from foveate.records.record import Array

__all__ = [
    "COLOURS",
    "Series",
    "band",
    "colour_encoding",
    "curve_chart",
    "heading",
    "plotted_points",
]

COLOURS = {
    "FC": "#0072B2",
    "TC": "#D55E00",
    "TL": "#009E73",
    "FC, query trained": "#CC79A7",
    "full model": "#000000",
    "keys frozen (KF)": "#E69F00",
    "embeddings frozen (EF)": "#56B4E9",
    "as published": "#0072B2",
    "step divided by the loss": "#E69F00",
    "SST-2 FC": "#0072B2",
    "SST-2 TC": "#D55E00",
    "SST-5 FC": "#56B4E9",
    "SST-5 TC": "#E69F00",
    "powerful": "#D55E00",
    "best": "#0072B2",
    "other ten words, mean": "#8a8f94",
    "stupid": "#0072B2",
    "solid": "#E69F00",
    "suffers": "#56B4E9",
    "mess": "#009E73",
    "falls at first": "#D55E00",
    "rises": "#8a8f94",
}
POINTS = 120  # measurements of a curve that a page can show
Series = Mapping[str, tuple[Array, Array]]


def plotted_points(count: int) -> Array:
    """Indices of the measurements that are drawn."""
    return np.unique(np.linspace(0, count - 1, min(count, POINTS)).round().astype(int))


def band(values: Array) -> tuple[Array, Array, Array]:
    """Mean over seeds and the ends of its 95 % interval, (T, S) → three of shape (T,)."""
    return values.mean(1), *ends_of_mean(values)


def colour_encoding(names: Sequence[str], legend: bool = True, columns: int = 5) -> alt.Color:
    """The colours of ``name``, with a legend in the order given."""
    encoding = name_colours({name: COLOURS[name] for name in names}, columns)
    return encoding if legend else encoding.legend(None)


def heading(title: str) -> alt.TitleParams:
    """A title aligned with those of adjacent charts."""
    return alt.TitleParams(title, frame="group", anchor="start")


def curve_chart(
    series: Series,
    *,
    x: str,
    y: str,
    width: int,
    height: int,
    title: str = "",
    log_x: bool = False,
    log_y: bool = False,
    domain: tuple[float, float] | None = None,
    rule: float | None = None,
    legend: bool = True,
    opacity: float = 0.18,
    description: str = "",
) -> Any:
    """Means over seeds with a band of their 95 % interval.

    Args:
        series: By name, times (T,) and values (T, S).
        x: Title of the horizontal axis.
        y: Title of the vertical axis.
        width: Width of the plot in pixels.
        height: Height of the plot in pixels.
        title: Title of the chart.
        log_x: Whether the horizontal axis is logarithmic.
        log_y: Whether the vertical axis is.
        domain: Range of the vertical axis.
        rule: Where to draw a horizontal line.
        legend: Whether names are shown.
        opacity: Opacity of the bands.
        description: The text that stands for the picture.
    """
    rows = _rows(series)
    x_axis = alt.X(
        "x:Q",
        title=x,
        scale=alt.Scale(type="log" if log_x else "linear", nice=False),
        axis=alt.Axis(tickCount=max(3, width // 80)),
    )
    kind = alt.Scale(type="log" if log_y else "linear")
    if domain is not None:
        kind = alt.Scale(domain=list(domain))
    y_axis: dict[str, Any] = {
        "title": y,
        "scale": kind,
        "axis": alt.Axis(tickCount=max(3, height // 40)),
    }
    base = alt.Chart().encode(x=x_axis, color=colour_encoding(list(series), legend))
    area = base.mark_area(opacity=opacity, clip=True).encode(
        y=alt.Y("low:Q", **y_axis), y2="high:Q"
    )
    line = base.mark_line(strokeWidth=2.2, clip=True).encode(y=alt.Y("mean:Q", **y_axis))
    layers: list[Any] = [with_rows(area, rows), with_rows(line, rows)]
    if rule is not None:
        mark = alt.Chart().mark_rule(color=TEXT_COLOUR, strokeDash=[3, 3]).encode(y="mean:Q")
        layers.append(with_rows(mark, [{"mean": rule}]))
    return alt.layer(*layers).properties(
        width=width, height=height, title=heading(title), description=description
    )


def _rows(series: Series) -> list[dict[str, Any]]:
    """A row for each name and time that is drawn: the mean and the ends of its interval."""
    rows = []
    for name, (t, values) in series.items():
        plotted = plotted_points(len(t))
        for time, mean, low, high in zip(t[plotted], *band(values[plotted]), strict=True):
            ends = {"mean": float(mean), "low": float(low), "high": float(high)}
            rows.append({"x": float(time), "name": name, **ends})
    return rows
