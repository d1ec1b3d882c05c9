"""Measured and published numbers beside each other: dots with intervals, diamonds for the paper."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from foveate.charts.palette import TEXT_COLOUR, colour, label
from foveate.charts.render import with_rows
from foveate.records.published import Cell, Key

__all__ = ["comparison_chart"]

Colours = Mapping[str, str]


def comparison_chart(
    cells: Sequence[Cell],
    published: Mapping[Key, float],
    measure: str,
    *,
    columns: int = 2,
    colours: Colours | None = None,
) -> Any:
    """One panel a group and setting, a line a name; the diamond is the published number.

    Args:
        cells: The table as measured.
        published: The table as published.
        measure: Which of its measures is drawn.
        columns: Panels side by side.
        colours: Colours by name; those of the paradigms unless given.
    """
    selected = [c for c in cells if c.measure == measure]
    panels: dict[str, list[Cell]] = {}
    for c in selected:
        panels.setdefault(c.group + (f" ({c.setting})" if c.setting else ""), []).append(c)
    ends = [
        e for c in selected for e in (c.mean, c.low, c.high, published.get(c[:3])) if e is not None
    ]
    x_scale = alt.Scale(domain=[min(0.0, *ends), max(*ends, 1e-9) * 1.08], nice=False)
    charts = [
        _panel(title, panel_cells, published, x_scale, colours)
        for title, panel_cells in panels.items()
    ]
    rows = [charts[k : k + columns] for k in range(0, len(charts), columns)]
    words = f"{measure}: measured with 95 % intervals over seeds, and published where it is."
    chart = alt.vconcat(*(alt.hconcat(*row) for row in rows)).resolve_scale(color="independent")
    return chart.properties(description=words)


def _panel(
    title: str,
    cells: Sequence[Cell],
    published: Mapping[Key, float],
    x_scale: Any,
    colours: Colours | None,
) -> Any:
    names = [label(c.name) for c in cells]
    name_colours = [(colours or {}).get(c.name) or colour(c.name) for c in cells]
    rows = []
    for c in cells:
        ends = {
            "low": c.mean if c.low is None else c.low,
            "high": c.mean if c.high is None else c.high,
        }
        value = published.get(c[:3])
        rows.append({"name": label(c.name), "mean": c.mean, **ends, "published": value,
                     "text": f"{c.mean:.3g}"})  # fmt: skip
    colour_encoding = alt.Color(
        "name:N", scale=alt.Scale(domain=names, range=name_colours), legend=None
    )
    y_scale = alt.Scale(padding=0.75)  # the number above the first dot stays within the panel
    line = alt.Chart().encode(
        y=alt.Y("name:N", sort=names, title=None, scale=y_scale), color=colour_encoding
    )
    span = line.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", title=cells[0].measure, scale=x_scale), x2="high:Q"
    )
    dot = line.mark_point(filled=True, size=60, opacity=1).encode(x="mean:Q")
    paper = (
        line.transform_filter("datum.published !== null")
        .mark_point(shape="diamond", filled=False, size=80, strokeWidth=1.6, opacity=1)
        .encode(x="published:Q")
    )
    number = line.mark_text(dy=-11, fontSize=10).encode(
        x="mean:Q", text="text:N", color=alt.value(TEXT_COLOUR)
    )
    size = {"width": 300, "height": 30 * len(cells)}
    return with_rows(alt.layer(span, dot, paper, number).properties(title=title, **size), rows)
