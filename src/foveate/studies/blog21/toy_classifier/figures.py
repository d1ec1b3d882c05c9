"""Figures of the toy classifier: β and p over time from three starts. [blog21]"""

from collections.abc import Mapping
from typing import Any

import altair as alt

from foveate.charts.render import with_rows
from foveate.jobs.experiment import Records
from foveate.records.record import Record

__all__ = ["figures"]

COLOURS = {"β₀": "#56B4E9", "β₁": "#D55E00", "p (attention on token 1)": "#000000"}
KEYS = ("beta0", "beta1", "p")
TITLES = {
    "uniform": "Uniform start: β moves first, then p",
    "wrong": "Wrong start: p falls",
    "low_loss": "Low loss with uniform attention at the start",
}


def figures(_: object, records: Records) -> Mapping[str, Any]:
    """One chart for each start, free and gated side by side; the long run under the wrong start."""
    record, long_run = records["starts"], records["long-run"]
    charts: dict[str, Any] = {}
    for start, title in TITLES.items():
        panels = [
            _panel(record, record.meta["members"].index([start, gate]), f"{title}, {gate}")
            for gate in ("free", "gated")
        ]
        if start != "low_loss":
            member = 0 if start == "uniform" else 1
            panels.append(
                _panel(long_run, member, f"{long_run.meta['members'][member]}, gated, long")
            )
        charts[start] = alt.hconcat(*panels).properties(description=f"{title}: β₀, β₁ and p.")
    return charts


def _panel(record: Record, member: int, title: str) -> alt.LayerChart:
    """β on the left axis, p on the right, with a separate range."""
    names = list(COLOURS)
    rows = [
        {"x": float(t), "y": float(record.values[key][i, member]), "name": name, "key": key}
        for key, name in zip(KEYS, names, strict=True)
        for i, t in enumerate(record.t)
    ]
    colour_encoding = alt.Color(
        "name:N",
        scale=alt.Scale(domain=names, range=list(COLOURS.values())),
        legend=alt.Legend(columns=3, symbolType="stroke"),
    )
    x = alt.X("x:Q", title="time τ")
    line = alt.Chart().mark_line(strokeWidth=2)
    betas = line.transform_filter("datum.key !== 'p'").encode(
        x=x, y=alt.Y("y:Q", title="β"), color=colour_encoding
    )
    attention = line.transform_filter("datum.key === 'p'").encode(
        x=x, y=alt.Y("y:Q", title="p", axis=alt.Axis(orient="right")), color=colour_encoding
    )
    both = alt.layer(betas, attention).resolve_scale(y="independent")
    return with_rows(both.properties(width=180, height=170, title=title), rows)
