"""Figures of the agreement experiment, drawn from its records. [snell21] Tables 1, 6, 9; A.6–A.9"""

from collections.abc import Callable, Mapping
from typing import Any

import altair as alt
import numpy as np

from foveate.charts.lines import band_chart, name_colours
from foveate.charts.palette import CELL_TEXT_COLOUR
from foveate.charts.render import with_rows
from foveate.jobs.experiment import Records
from foveate.records.record import Record
from foveate.studies.snell21.agreement.comparison import FAIR, REPORTING
from foveate.studies.snell21.agreement.dot_charts import (
    frozen_dots,
    interval,
    table_dots,
    training_dots,
)
from foveate.studies.snell21.agreement.published import COLUMNS, title
from foveate.studies.snell21.agreement.record_values import chosen, number, random
from foveate.types import FloatArray

__all__ = ["figures"]


INK, BLUE, ORANGE, GREEN, GREY = "#1b1f24", "#0072B2", "#D55E00", "#009E73", "#767676"


def figures(_: object, records: Records) -> Mapping[str, Any]:
    """The table as dots, curves over training, frozen attention, training data, seeds."""
    texts = {name: r for name, r in records.items() if "frozen_alpha" in r.values}
    charts = {
        "table": table_dots(records),
        "rise": _panels(records, _rise_chart, "Agreement of β_uf(τ) with attention over training."),
        "context": _panels(records, _context, "Performance and agreement of two seeds."),
        "training": training_dots(records),
        "seeds": _seeds(records),
        "numbers": _numbers(records),
    }
    return charts | ({"frozen": frozen_dots(texts)} if texts else {})


def _panels(
    records: Records, draw: Callable[[Record, str], alt.LayerChart], description: str
) -> alt.VConcatChart:
    """One panel a data set, three to a line."""
    panels = [draw(record, title(name)) for name, record in records.items()]
    lines = [alt.hconcat(*panels[k : k + 3]) for k in range(0, len(panels), 3)]
    return alt.vconcat(*lines).properties(description=description)


def _curves(
    record: Record, series: Mapping[str, tuple[FloatArray, str]], heading: str, y: str, top: float
) -> alt.LayerChart:
    """Means over seeds with bands; steps on a root scale, since most happens early.

    Args:
        record: Of a data set.
        series: Values (T, S) and colour by name.
        heading: Title of the panel.
        y: Title of the vertical axis.
        top: Its upper end.
    """
    rows = [
        {"x": int(step), "name": name, **interval(values[i][np.isfinite(values[i])])}
        for name, (values, _) in series.items()
        for i, step in enumerate(record.t)
        if np.isfinite(values[i]).any()
    ]
    colours = name_colours({name: colour for name, (_, colour) in series.items()})
    x = alt.X(
        "x:Q",
        title="steps (root scale)",
        scale=alt.Scale(type="sqrt", nice=False),
        axis=alt.Axis(values=_ticks(int(record.t[-1]))),
    )
    y_axis = alt.Y("y:Q", title=y, scale=alt.Scale(domain=[0, top]))
    return band_chart(rows, x, y_axis, colours, width=215, height=160, title=heading)


def _ticks(last: int) -> list[int]:
    """Round steps far enough apart on a root scale, and the last."""
    step = max(1, last // 16)
    scale = 10 ** (len(str(step)) - 1)
    first = max(1, step // scale * scale)
    return [0, first, 4 * first, 9 * first, last]


def _rise_chart(record: Record, heading: str) -> alt.LayerChart:
    """A(α, β_uf(τ)), the other curves of β_uf, and the random level."""
    read = (slice(None), slice(None), REPORTING, FAIR)
    level = np.broadcast_to(random(record), (len(record.t), len(random(record))))
    series = {
        "A(α, β_uf(τ))": (record.values["alpha_uf"][read], BLUE),
        "A(β_uf(τ), β_px)": (record.values["uf_px"][read], ORANGE),
        "random level": (level, GREY),
    }
    top = min(1.0, 0.1 + float(max(values.max() for values, _ in series.values())))
    best = ", ".join(str(int(step)) for step in np.unique(record.t[chosen(record)]))
    return _curves(record, series, f"{heading} (chosen: {best})", "agreement", top)


def _context(record: Record, heading: str) -> alt.LayerChart:
    """A(α_A, α_B(τ)) and the accuracy of B, behind ξ; β of the uniform model has its own."""
    series = {
        "A(α_A, α_B(τ))": (record.values["alpha_alpha"][:, :, REPORTING, FAIR], BLUE),
        "accuracy of B(τ)": (record.values["partner_accuracy"][:, :, REPORTING], INK),
        "accuracy, uniform": (record.values["uniform_accuracy"][:, :, REPORTING], GREEN),
    }
    return _curves(record, series, heading, "share", 1.0)


def _seeds(records: Records) -> alt.LayerChart:
    """A(α_A, α_B) of every pair of seeds, less the random level. [snell21] A.9"""
    rows = [
        {"data": title(name), "y": float(value)}
        for name, record in records.items()
        for value in number(record, "alpha_alpha") - random(record)
    ]
    names = [title(name) for name in records]
    axis = alt.Y("data:N", title=None, sort=names)
    x = alt.X("y:Q", title="A(α_A, α_B) above the random level", scale=alt.Scale(domain=[-0.1, 1]))
    dots = alt.Chart().mark_point(size=60, strokeWidth=2, color=BLUE).encode(x=x, y=axis)
    mean = alt.Chart().mark_tick(thickness=3, size=18, color=INK).encode(x="mean(y):Q", y=axis)
    chart = (dots + mean).properties(
        width=560,
        height=34 * len(names),
        title=alt.Title(
            "Do two seeds attend alike?", subtitle="circles: pairs of seeds; bar: their mean"
        ),
        description="Agreement of attention between pairs of seeds, by data set.",
    )
    return with_rows(chart, rows)


def _numbers(records: Records) -> alt.LayerChart:
    """The table in numbers, fair ties, means over seeds."""
    columns = {**COLUMNS, "random": "random"}
    rows = [
        {
            "data": title(name),
            "column": heading,
            "y": float(np.mean(random(record) if key == "random" else number(record, key))),
        }
        for name, record in records.items()
        for key, heading in columns.items()
    ]
    x = alt.X(
        "column:N",
        title=None,
        sort=list(columns.values()),
        axis=alt.Axis(orient="top", labelAngle=0, labelLimit=140),
    )
    y = alt.Y("data:N", title=None, sort=[title(name) for name in records])
    colour_encoding = alt.Color(
        "y:Q",
        scale=alt.Scale(domain=[0, 1], range=["#ffffff", BLUE], interpolate="rgb"),
        legend=None,
    )
    cells = alt.Chart().mark_rect().encode(x=x, y=y, color=colour_encoding)
    text = (
        alt.Chart()
        .mark_text()
        .encode(
            x=x,
            y=y,
            text=alt.Text("y:Q", format=".2f"),
            color=alt.condition("datum.y > .55", alt.value("white"), alt.value(CELL_TEXT_COLOUR)),
        )
    )
    chart = (cells + text).properties(
        width=740,
        height=30 * len(records),
        title="Agreement with fair ties, means over seeds",
        description="The agreement table in numbers.",
    )
    return with_rows(chart, rows)
