"""Line charts in the palette: one line a paradigm, or one a named series."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from foveate.charts.palette import colour, dash, label
from foveate.charts.render import with_rows

__all__ = ["banded", "line_chart", "rows_of"]

MOST_POINTS = 240  # more cannot be told apart at the width of a page


def rows_of(
    t: NDArray[Any], curves: NDArray[Any], names: Sequence[str], **same: Any
) -> list[dict[str, Any]]:
    """Rows for a chart from curves (T, S), thinned evenly to what a page can show.

    Args:
        t: Times, shape (T,).
        curves: One column per name, shape (T, S).
        names: Names of the columns.
        same: Further fields that all rows share.
    """
    keep = np.unique(np.linspace(0, len(t) - 1, min(len(t), MOST_POINTS)).round().astype(int))
    return [
        {"x": float(t[i]), "y": float(curves[i, k]), "name": name, **same}
        for k, name in enumerate(names)
        for i in keep
        if np.isfinite(curves[i, k])
    ]


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
        log_y: Whether the vertical axis is.
        dashed: A Vega expression; rows that meet it are drawn as thin black dashes on top.
        width: Width of the plot in pixels.
        height: Height of the plot in pixels.
        description: The text that stands for the picture.
    """
    shown = [label(name) for name in names]
    legend = alt.Legend(columns=min(4, len(names)), symbolType="stroke", symbolOpacity=1)
    across = alt.X("x:Q", title=x, scale=alt.Scale(type="log" if log_x else "linear", nice=False))
    up = alt.Y("y:Q", title=y, scale=alt.Scale(type="log" if log_y else "linear", zero=False))
    paint = alt.Color(
        "label:N", scale=alt.Scale(domain=shown, range=[colour(n) for n in names]), legend=legend
    )
    dashes = alt.StrokeDash(
        "label:N",
        scale=alt.Scale(domain=shown, range=[list(dash(n)) for n in names]),
        legend=legend,
    )
    solid = alt.Chart().mark_line(strokeWidth=2.2, clip=True)
    layers = [solid.encode(x=across, y=up, color=paint, strokeDash=dashes)]
    if dashed is not None:
        layers[0] = layers[0].transform_filter(f"!({dashed})")
        thin = (
            alt.Chart()
            .transform_filter(dashed)
            .mark_line(strokeWidth=1.1, color="black", clip=True)
        )
        layers.append(thin.encode(x=across, y=up, detail="label:N", strokeDash=alt.value([4, 3])))
    chart = alt.layer(*layers).properties(
        width=width, height=height, description=description, title=title
    )
    return with_rows(chart, [{**row, "label": label(row["name"])} for row in rows])


def banded(
    rows: Sequence[Mapping[str, Any]],
    x: alt.X,
    y: alt.Y,
    paint: alt.Color,
    *,
    width: int,
    height: int,
    title: str,
    **looks: Any,
) -> alt.LayerChart:
    """Lines through ``y`` in bands from ``low`` to ``high``, one a ``name``.

    Args:
        rows: ``x``, ``y``, ``low``, ``high`` and ``name``.
        x: The horizontal axis.
        y: The vertical axis.
        paint: The colours of the names.
        width: Width of the plot in pixels.
        height: Height of the plot in pixels.
        title: Title of the chart.
        looks: Further looks of the lines.
    """
    band = alt.Chart().mark_area(opacity=0.18).encode(x=x, y="low:Q", y2="high:Q", color=paint)
    line = alt.Chart().mark_line(strokeWidth=2, **looks).encode(x=x, y=y, color=paint)
    return with_rows((band + line).properties(width=width, height=height, title=title), rows)
