"""Figures of the signatures: where bags lie in (focus, prediction), and what the hybrid gains."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np

from foveate.charts.palette import colour, label
from foveate.charts.render import with_rows
from foveate.jobs.experiment import Records
from foveate.metrics.focus import EDGES, focus_and_prediction, heat_map
from foveate.metrics.intervals import mean_interval
from foveate.records.record import Record
from foveate.studies.vr23.signatures import RULES, SignatureSettings

__all__ = ["figures", "heat_map_chart"]


def figures(settings: SignatureSettings, records: Records) -> Mapping[str, Any]:
    """The charts by name: ``heat-maps``, one row for each number of segments, and ``gains``.

    Args:
        settings: The experiment's settings.
        records: One per paradigm and length, ``soft-m5``.
    """
    rows = [
        alt.hconcat(
            *(heat_map_chart(records[f"{rule}-m{m}"], f"{label(rule)}, m = {m}") for rule in RULES)
        )
        for m in settings.lengths
    ]
    maps = alt.vconcat(*rows).properties(
        description="Share of held-out bags by focus score and by probability of the true class."
    )
    return {"heat-maps": maps, "gains": _gains(settings.lengths, records)}


def heat_map_chart(record: Record, title: str) -> alt.LayerChart:
    """Share of held-out bags by focus score and by probability of the true class. [vr23] Fig. 1"""
    share = 100 * heat_map(*focus_and_prediction(record)).mean(0)
    cells = len(EDGES) - 1
    names = [f"{a:.1f}–{b:.1f}" for a, b in pairwise(EDGES)]
    rows = [
        {"x": names[j], "y": names[i], "share": float(share[i, j]), "text": f"{share[i, j]:.0f}"}
        for i in range(cells)
        for j in range(cells)
    ]
    base = alt.Chart().encode(
        x=alt.X("x:O", title="focus a_z", sort=names, axis=alt.Axis(labelAngle=-60)),
        y=alt.Y("y:O", title="probability of the class", sort=names[::-1]),
    )
    square = base.mark_rect().encode(
        color=alt.Color("share:Q", scale=alt.Scale(domain=[0, 100], scheme="blues"), legend=None)
    )
    text = base.mark_text(fontSize=10).encode(
        text="text:N",
        color=alt.condition("datum.share > 55", alt.value("white"), alt.value("black")),
    )
    return with_rows(alt.layer(square, text).properties(width=105, height=105, title=title), rows)


def _gains(lengths: Sequence[int], records: Records) -> alt.LayerChart:
    rows = []
    for m in lengths:
        for rule in RULES:
            mean, low, high = mean_interval(
                100 * records[f"{rule}-m{m}"].last("saif"), within=(0, 100)
            )
            ends = (mean if low is None else low, mean if high is None else high)
            rows.append(
                {
                    "m": f"m = {m}",
                    "name": label(rule),
                    "mean": mean,
                    "low": ends[0],
                    "high": ends[1],
                }
            )
    names = [label(rule) for rule in RULES]
    paint = alt.Color(
        "name:N", scale=alt.Scale(domain=names, range=[colour(r) for r in RULES]), legend=None
    )
    base = alt.Chart().encode(
        y=alt.Y("name:N", sort=names, title=None),
        x=alt.X("mean:Q", title="SAIF, % of held-out bags", scale=alt.Scale(zero=False)),
        color=paint,
    )
    bars = base.mark_rule(strokeWidth=2).encode(x="low:Q", x2="high:Q")
    dots = base.mark_point(filled=True, size=70)
    numbers = base.mark_text(dy=-11, fontSize=11).encode(text=alt.Text("mean:Q", format=".1f"))
    chart = alt.layer(bars, dots, numbers).properties(width=260, height=170)
    spread = float(np.ptp([row["mean"] for row in rows]))
    return with_rows(chart, rows).facet(column=alt.Column("m:N", title=None)).properties(
        description=f"SAIF with its 95 % interval over seeds; the means span {spread:.1f} points."
    )  # fmt: skip
