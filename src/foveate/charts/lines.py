"""Line charts: one line per paradigm or named series, in the palette's colours."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from foveate.charts.palette import colour, dash, label
from foveate.charts.render import with_rows

__all__ = ["band_chart", "curve_rows", "line_chart", "name_colours", "paradigm_encodings"]

LABEL_LIMIT = 260  # pixels of a label in a legend
MAX_POINTS = 240  # per line; more are not visible at the width of a page


def curve_rows(
    t: NDArray[Any], curves: NDArray[Any], names: Sequence[str], **same: Any
) -> list[dict[str, Any]]:
    """Rows for a chart from curves (T, S), sampled evenly to at most :data:`MAX_POINTS` points.

    Args:
        t: Times, shape (T,).
        curves: One column per name, shape (T, S).
        names: Names of the columns.
        same: Fields added to every row.
    """
    keep = np.unique(np.linspace(0, len(t) - 1, min(len(t), MAX_POINTS)).round().astype(int))
    return [
        {"x": float(t[i]), "y": float(curves[i, k]), "name": name, **same}
        for k, name in enumerate(names)
        for i in keep
        if np.isfinite(curves[i, k])
    ]


def name_colours(colours: Mapping[str, str], columns: int = 3) -> alt.Color:
    """The colour of each line by its field ``name``, with a legend in the order given."""
    return alt.Color(
        "name:N",
        scale=alt.Scale(domain=list(colours), range=list(colours.values())),
        legend=alt.Legend(
            columns=columns, symbolType="stroke", symbolOpacity=1, labelLimit=LABEL_LIMIT
        ),
    )


def paradigm_encodings(
    paradigms: Sequence[str], field: str = "name", columns: int = 3
) -> tuple[alt.Color, alt.StrokeDash]:
    """Colour and dash of each paradigm's line by its label in ``field``, with one legend."""
    labels = [label(name) for name in paradigms]
    legend = alt.Legend(columns=columns, symbolType="stroke", symbolOpacity=1)
    colours = alt.Scale(domain=labels, range=[colour(name) for name in paradigms])
    dashes = alt.Scale(domain=labels, range=[list(dash(name)) for name in paradigms])
    return (
        alt.Color(f"{field}:N", scale=colours, legend=legend),
        alt.StrokeDash(f"{field}:N", scale=dashes, legend=legend),
    )


def line_chart(
    rows: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    *,
    x: str,
    y: str,
    title: str = "",
    log_x: bool = False,
    log_y: bool = False,
    dashed: str | None = None,
    width: int = 250,
    height: int = 190,
    description: str = "",
) -> alt.LayerChart:
    """Lines by ``name``, in the colours of the paradigms where names are paradigms.

    Args:
        rows: ``x``, ``y``, ``name``, and what ``dashed`` filters by.
        names: Names in the order of the legend.
        x: Title of the horizontal axis.
        y: Title of the vertical axis.
        title: Title of the chart.
        log_x: Whether the horizontal axis is logarithmic.
        log_y: Whether the vertical axis is logarithmic.
        dashed: A Vega expression; rows that satisfy it are drawn as thin dashes on top.
        width: Width of the plot in pixels.
        height: Height of the plot in pixels.
        description: Alternative text.
    """
    x_axis = alt.X("x:Q", title=x, scale=alt.Scale(type="log" if log_x else "linear", nice=False))
    y_axis = alt.Y("y:Q", title=y, scale=alt.Scale(type="log" if log_y else "linear", zero=False))
    color, dashes = paradigm_encodings(names, "label", columns=min(4, len(names)))
    solid = alt.Chart().mark_line(strokeWidth=2.2, clip=True)
    layers = [solid.encode(x=x_axis, y=y_axis, color=color, strokeDash=dashes)]
    if dashed is not None:
        layers[0] = layers[0].transform_filter(f"!({dashed})")
        member_lines = (
            alt.Chart()
            .transform_filter(dashed)
            .mark_line(strokeWidth=1.1, color="black", clip=True)
        )
        layers.append(
            member_lines.encode(x=x_axis, y=y_axis, detail="label:N", strokeDash=alt.value([4, 3]))
        )
    chart = alt.layer(*layers).properties(
        width=width, height=height, description=description, title=title
    )
    return with_rows(chart, [{**row, "label": label(row["name"])} for row in rows])


def band_chart(
    rows: Sequence[Mapping[str, Any]],
    x: alt.X,
    y: alt.Y,
    color: alt.Color,
    *,
    width: int,
    height: int,
    title: str,
    **line_style: Any,
) -> alt.LayerChart:
    """One line per ``name`` through ``y``, with a band from ``low`` to ``high``.

    Args:
        rows: ``x``, ``y``, ``low``, ``high`` and ``name``.
        x: The horizontal axis.
        y: The vertical axis.
        color: The colours of the names.
        width: Width of the plot in pixels.
        height: Height of the plot in pixels.
        title: Title of the chart.
        line_style: Further properties of the lines.
    """
    band = alt.Chart().mark_area(opacity=0.18).encode(x=x, y="low:Q", y2="high:Q", color=color)
    line = alt.Chart().mark_line(strokeWidth=2, **line_style).encode(x=x, y=y, color=color)
    return with_rows((band + line).properties(width=width, height=height, title=title), rows)
