"""Figures of the study: the paradigms and the oracle, the variants, and the flow."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from foveate.charts.palette import colour, label
from foveate.charts.render import with_rows
from foveate.dynamics.witness import follow
from foveate.jobs.experiment import Records
from foveate.records.published import Cell
from foveate.studies.beyond.witness import WitnessSettings
from foveate.studies.beyond.witness.cells import RULES, VALIDATION, witness_cells

__all__ = ["figures", "flow_chart", "paradigms_chart"]

WRONG = np.array([4.0, -4.0, 0.0, 4.0, 0.0, -4.0])
KINDS = {
    "lvml": "LVML alone",
    "uniform-penalty": "with a uniform penalty",
    "witness": "with a witness",
}
GROUP_COLOURS = {"lvml": colour("lvml"), "uniform-penalty": "#767676", "witness": colour("witness")}


def figures(settings: WitnessSettings, records: Records) -> Mapping[str, Any]:
    """The charts by name: ``saif``, ``ft``, ``tried`` and ``flow``."""
    cells = witness_cells(settings.sets, records)
    return {
        "saif": paradigms_chart(cells, "SAIF %"),
        "ft": paradigms_chart(cells, "FT %"),
        "tried": _variants_chart(cells),
        "flow": flow_chart(),
    }


def paradigms_chart(cells: Sequence[Cell], measure: str) -> Any:
    """A measure of every paradigm on every set, with 95 % intervals over seeds."""
    rows = [
        {
            "set": f"{c.group} ({c.setting})" if c.setting else c.group,
            "rule": label(c.name),
            "mean": c.mean,
            "low": c.mean if c.low is None else c.low,
            "high": c.mean if c.high is None else c.high,
        }
        for c in cells
        if c.measure == measure and not c.setting.endswith(VALIDATION)
    ]
    names = [label(rule) for rule in RULES]
    rule_colours = alt.Scale(domain=names, range=[colour(rule) for rule in RULES])
    chart = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y("set:N", title=None, sort=None, axis=alt.Axis(labelLimit=260)),
        yOffset=alt.YOffset("rule:N", sort=names),
        color=alt.Color("rule:N", title=None, scale=rule_colours, sort=names),
    )
    scale = alt.Scale(zero=False)
    points = chart.mark_point(filled=True, size=50, opacity=1).encode(
        x=alt.X("mean:Q", title=measure, scale=scale)
    )
    bars = chart.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", title=measure, scale=scale), x2="high:Q"
    )
    return (bars + points).properties(
        width=560,
        height=alt.Step(10),
        description=f"{measure} of every paradigm on every set, 95 % intervals over seeds.",
    )


def _variants_chart(cells: Sequence[Cell]) -> Any:
    selected = [c for c in cells if c.setting.endswith(VALIDATION) and c.measure == "SAIF %"]
    rows = [{"set": c.group, "variant": c.name, "SAIF": c.mean} for c in selected]
    order = list(dict.fromkeys(c.name for c in selected))
    chart = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y("variant:N", sort=order, title=None, axis=alt.Axis(labelLimit=260)),
        x=alt.X("SAIF:Q", title="SAIF on validation bags, %", scale=alt.Scale(zero=False)),
    )
    return (
        chart.mark_point(filled=True, size=60, color=colour("witness"))
        .properties(width=140, height=alt.Step(16))
        .facet(alt.Facet("set:N", title=None, sort=None), columns=5)
        .resolve_scale(x="independent")
        .properties(description="Every variant that was tried, on validation bags.")
    )


def flow_chart(m: int = 20, weight: float = 1.0) -> Any:
    """Attention on the evidence of the class that was read from the background, over time."""
    t = np.linspace(0.0, 1000.0, 201)
    rows = [
        {"t": float(time), "attention": float(a), "kind": name}
        for kind, name in KINDS.items()
        for time, a in zip(t, follow(WRONG, t, m, weight, kind).a[:, 1], strict=True)  # type: ignore[arg-type]
    ]
    rule_colours = alt.Scale(
        domain=list(KINDS.values()), range=[GROUP_COLOURS[kind] for kind in KINDS]
    )
    strokes = alt.Scale(domain=list(KINDS.values()), range=[[8, 4], [2, 3], [1, 0]])
    return with_rows(
        alt.Chart(alt.Data(name="rows"))
        .mark_line(strokeWidth=2.5)
        .encode(
            x=alt.X("t:Q", title="time of the flow"),
            y=alt.Y(
                "attention:Q", title="attention on B's evidence", scale=alt.Scale(domain=[0, 1])
            ),
            color=alt.Color("kind:N", title=None, scale=rule_colours),
            strokeDash=alt.StrokeDash("kind:N", title=None, scale=strokes),
        )
        .properties(
            width=520,
            height=240,
            description="From the first error mode: only a witness leads attention out of it.",
        ),
        rows,
    )
