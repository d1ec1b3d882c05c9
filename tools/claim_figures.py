"""Figures of claims from stored numbers alone: tables of studies, and effects of the ledger."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import altair as alt
from docs_figures import stored_cells

from foveate.charts.palette import TEXT_COLOUR
from foveate.charts.render import with_rows
from foveate.records.findings import Finding
from foveate.records.published import Cell
from foveate.studies.ledger import Entry
from foveate.studies.pvr22.captions import figures as captions
from foveate.studies.pvr22.table2 import figures as table2
from foveate.studies.vr23.table1 import figures as table1

__all__ = ["effect_chart", "stored_figure"]

TABLES: Mapping[str, Callable[[Sequence[Cell]], dict[str, Any]]] = {
    "captions": captions.cell_charts,
    "table1": table1.cell_charts,
    "table2": table2.cell_charts,
}
DOT = "#0072B2"


def stored_figure(entry: Entry) -> tuple[str, Any] | None:
    """Name and chart of a claim's figure; None for a claim without a number.

    Args:
        entry: A line of the ledger.
    """
    finding = entry.finding
    if finding is None or finding.effect is None:
        return None
    if entry.experiment in TABLES and entry.scale == "small":
        charts = TABLES[entry.experiment](stored_cells(entry.experiment))
        if finding.figure in charts:
            return finding.figure, charts[finding.figure]
    return "effect", effect_chart(finding)


def effect_chart(finding: Finding) -> Any:
    """The number that a verdict rests on, with its interval and a line at zero.

    Args:
        finding: What the ledger stores.
    """
    known = finding.low is not None and finding.high is not None
    low, high = (finding.low, finding.high) if known else (finding.effect, finding.effect)
    row = {"effect": finding.effect, "low": low, "high": high, "text": f"{finding.effect:.3g}"}
    ends = (0.0, finding.effect, low, high)
    spread = max(ends) - min(ends) or 1.0
    domain = [min(ends) - 0.05 * spread, max(ends) + 0.05 * spread]
    x = alt.X("effect:Q", title=None, scale=alt.Scale(domain=domain, nice=False))
    base = alt.Chart()
    zero = base.mark_rule(strokeDash=[3, 3], color=TEXT_COLOUR).encode(x=alt.datum(0))
    span = base.mark_rule(strokeWidth=2, color=DOT).encode(x=alt.X("low:Q"), x2="high:Q")
    dot = base.mark_point(filled=True, size=70, opacity=1, color=DOT).encode(x=x)
    text = base.mark_text(dy=-12).encode(x=x, text="text:N", color=alt.value(TEXT_COLOUR))
    words = f"{finding.measure}: {finding.effect:.3g}"
    words += f", 95 % interval from {low:.3g} to {high:.3g}." if known else "."
    chart = alt.layer(zero, span, dot, text)
    chart = chart.properties(
        title=alt.TitleParams(finding.measure, limit=640), width=620, height=50, description=words
    )
    return with_rows(chart, [row])
