"""Final attention: heat map of focus and prediction, and threshold curve."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np

from foveate.charts.palette import label
from foveate.charts.render import with_rows
from foveate.metrics.focus import EDGES, focus_and_prediction, heat_map, threshold_curve
from foveate.records.record import Array, Record
from foveate.report.drawing.curves import lines
from foveate.report.outcomes import band
from foveate.report.sentences import cell

__all__ = ["heat_map_chart", "mean_heat_map", "threshold_chart"]

CELL = 46  # pixels
CELL_INK = "#14181c"  # on light cells; unlike INK it is the same in a dark page
DARK = 30.0  # percent from which the text of a cell is white
THRESHOLDS = np.linspace(0.0, 1.0, 51)


def mean_heat_map(record: Record) -> Array:
    """The 5×5 heat map in percent, mean over seeds: rows p of the true class, columns a_z."""
    return 100 * heat_map(*focus_and_prediction(record)).mean(0)


def heat_map_chart(record: Record, paradigm: str, size: int = CELL) -> alt.LayerChart:
    """Share of held-out bags by attention on the relevant segment and by p of the true class.

    Args:
        record: The paradigm's record.
        paradigm: Its name, or the title of the chart.
        size: Side of a cell, pixels.
    """
    shares = mean_heat_map(record)
    names = [f"{low:g}–{high:g}" for low, high in pairwise(EDGES)]
    cells = [
        {
            "a": names[j],
            "p": names[i],
            "share": float(share),
            "text": cell(share),
            "ink": _ink(share),
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
    x = alt.X("a:O", sort=names, axis=axis, title="attention on the relevant segment, a_z")
    y = alt.Y("p:O", sort=names[::-1], axis=axis, title="probability of the true class")
    base = alt.Chart().encode(x=x, y=y)
    scale = alt.Scale(
        type="sqrt", domain=[0, 100], range=["#f7fbff", "#9ecae1", "#3182bd", "#08306b"]
    )
    ground = base.mark_rect(stroke="white", strokeWidth=1)
    corner = base.transform_filter(f"datum.a === '{names[-1]}' && datum.p === '{names[-1]}'")
    chart = alt.layer(
        ground.encode(fill=alt.Fill("share:Q", scale=scale, legend=None)),
        corner.mark_rect(fillOpacity=0, stroke="#D55E00", strokeWidth=3),
        base.mark_text(fontSize=min(13, size // 3)).encode(
            text=alt.Text("text:N"), color=alt.Color("ink:N", scale=None)
        ),
    ).properties(
        width=size * len(names),
        height=size * len(names),
        title=alt.Title(label(paradigm), subtitle=f"SAIF {cell(shares[-1, -1])} % (outlined)"),
        description=_description(paradigm, shares, names),
    )
    return with_rows(chart, cells)


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


def _ink(share: float) -> str:
    return "white" if share > DARK else CELL_INK


def _description(paradigm: str, shares: Array, names: list[str]) -> str:
    i, j = np.unravel_index(shares.argmax(), shares.shape)
    return (
        f"{label(paradigm)}: share of bags in percent by attention on the relevant segment and "
        f"probability of the true class, five by five cells. Both at least 0.8 (SAIF): "
        f"{cell(shares[-1, -1])} %. Fullest cell: attention {names[j]}, probability {names[i]}, "
        f"with {cell(shares[i, j])} %."
    )
