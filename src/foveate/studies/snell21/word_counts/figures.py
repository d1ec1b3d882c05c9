"""Figures of the word counts, from the records alone. [snell21] Figures 1, 3, 4, 6 and A.1"""

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np

from foveate.charts.palette import ATTENTION, TEXT_COLOUR, colour
from foveate.charts.render import with_rows
from foveate.jobs.experiment import Records
from foveate.records.record import Array, Record
from foveate.studies.snell21.word_counts.toys import TOYS, Toy

__all__ = ["figures"]

CURVES = {
    "gamma": ("logits γ", colour("soft")),
    "theta": ("probabilities θ, limit / |O|", colour("lvml")),
    "printed": ("θ, limit as printed", colour("hard")),
}


def figures(_: object, records: Records) -> Mapping[str, Any]:
    """The charts by name: ``deviation``, ``tables`` and ``example``."""
    return {
        "deviation": _deviation(records["derivative"]),
        "tables": _tables(records["tables"]),
        "example": _example(records["example"]),
    }


def _deviation(record: Record) -> alt.LayerChart:
    """Mean and every seed, with the line of slope −½ through the logits' first point."""
    names = [name for name, _ in CURVES.values()]
    rows: list[dict[str, Any]] = [
        {"d": float(d), "off": float(value), "name": CURVES[key][0], "mean": False}
        for key in CURVES
        for d, values in zip(record.t, record.values[key], strict=True)
        for value in values
    ]
    rows += [
        {"d": float(d), "off": float(values.mean()), "name": CURVES[key][0], "mean": True}
        for key in CURVES
        for d, values in zip(record.t, record.values[key], strict=True)
    ]
    first = record.values["gamma"][0].mean() * np.sqrt(record.t[0])
    rows += [{"d": float(d), "half": float(first / np.sqrt(d))} for d in record.t]
    x_axis = alt.X("d:Q", title="dimension d", scale=alt.Scale(type="log", base=2, nice=False))
    y_axis = alt.Y(
        "off:Q",
        title="relative deviation from the limit",
        scale=alt.Scale(type="log", nice=False),
    )
    colour_encoding = alt.Color(
        "name:N",
        scale=alt.Scale(
            domain=names, range=[colour_encoding for _, colour_encoding in CURVES.values()]
        ),
        legend=alt.Legend(columns=3, labelLimit=220, symbolType="stroke"),
    )
    base = alt.Chart().encode(x=x_axis, y=y_axis, color=colour_encoding)
    points = base.transform_filter("datum.mean === false").mark_point(size=14, opacity=0.4)
    means = [  # the two that fall lie on each other: one broad, the other narrow on top
        base.transform_filter(f"datum.mean && {test}").mark_line(strokeWidth=width)
        for test, width in (
            (f"datum.name === '{names[0]}'", 6),
            (f"datum.name !== '{names[0]}'", 2),
        )
    ]
    half = (
        alt.Chart()
        .transform_filter("isValid(datum.half)")
        .mark_line(color=TEXT_COLOUR, strokeDash=[4, 3], strokeWidth=1.2)
        .encode(x=x_axis, y=alt.Y("half:Q"))
    )
    chart = alt.layer(points, *means, half).properties(
        width=420,
        height=260,
        title="Derivative at initialisation; dashes: slope −½",
        description="Relative deviation of the derivative at initialisation from its limit "
        "against the dimension, both axes logarithmic, with a line of slope one half downwards.",
    )
    return with_rows(chart, rows)


def _tables(record: Record) -> alt.VConcatChart:
    information = record.meta["information"]
    panels = [
        _table(toy, record.final[name][0], f"{information[name]:.2f} nats")
        for name, toy in TOYS.items()
    ]
    rows = [
        alt.hconcat(*panels[k : k + 2], spacing=40).resolve_scale(color="independent")
        for k in (0, 2)
    ]
    return alt.vconcat(*rows, spacing=30).properties(
        description="Count tables C of four tiny tasks: translation, permutations (flat), "
        "classification by polarity, and a mixture of two permutation sets (two blocks)."
    )


def _table(toy: Toy, table: Array, information: str) -> alt.LayerChart:
    """One count table; its subtitle is what the positions of a sentence tell apart."""
    largest = float(table.max())
    rows = [
        {"i": i, "o": o, "count": float(value), "text": f"{value:.2g}" if value else ""}
        for i, row in zip(toy.inputs, table, strict=True)
        for o, value in zip(toy.outputs, row, strict=True)
    ]
    base = alt.Chart().encode(
        x=alt.X("o:N", title="output word o", sort=toy.outputs, axis=alt.Axis(labelAngle=-40)),
        y=alt.Y("i:N", title="input word i", sort=toy.inputs),
    )
    square = base.mark_rect(stroke="#d5d8dc", strokeWidth=0.5).encode(
        color=alt.Color(
            "count:Q",
            scale=alt.Scale(
                domain=[0, largest], range=["#ffffff", colour("soft")], interpolate="rgb"
            ),
            legend=None,
        )
    )
    text = base.mark_text(fontSize=10).encode(
        text="text:N",
        color=alt.condition(
            f"datum.count > {0.6 * largest}", alt.value("white"), alt.value("black")
        ),
    )
    head = alt.Title(toy.title, subtitle=f"within a sentence: {information}")
    chart = alt.layer(square, text).properties(
        width=28 * len(toy.outputs), height=22 * len(toy.inputs), title=head
    )
    return with_rows(chart, rows)


def _example(record: Record) -> alt.LayerChart:
    """The loss over the simplex, with the optimum and the corner of the largest β."""
    final = {name: value[0] for name, value in record.final.items()}
    cell_width = 1.3 / (np.sqrt(8 * len(final["grid"]) + 1) / 2 - 1.5)  # overlapping, without seams
    rows: list[dict[str, Any]] = [
        {
            "x": float(b),
            "x2": float(b + cell_width),
            "y": float(c),
            "y2": float(c + cell_width),
            "loss": loss,
        }
        for (_, b, c), loss in zip(final["grid"], final["grid_loss"].tolist(), strict=True)
    ]
    rows += [
        {"at": "optimal α", "x": float(final["alpha"][1]), "y": float(final["alpha"][2])},
        {"at": "largest β", "x": 0.0, "y": 0.0},
    ]
    x = alt.X("x:Q", title="attention on position 2", scale=alt.Scale(domain=[0, 1]))
    y = alt.Y("y:Q", title="attention on position 3", scale=alt.Scale(domain=[0, 1]))
    ground = (
        alt.Chart()
        .transform_filter("isValid(datum.loss)")
        .mark_rect(clip=True)
        .encode(
            x=x,
            y=y,
            x2="x2:Q",
            y2="y2:Q",
            color=alt.Color(
                "loss:Q",
                scale=alt.Scale(range=["#e3eef7", colour("soft")], interpolate="rgb"),
                legend=alt.Legend(title="loss, nats", orient="right", gradientLength=140),
            ),
        )
    )
    marked = alt.Chart().transform_filter("isValid(datum.at)").encode(x=x, y=y)
    dots = marked.mark_point(size=90, filled=True, color=ATTENTION, opacity=1, clip=False)
    names = marked.mark_text(dx=12, dy=-10, align="left", fontSize=12).encode(text="at:N")
    chart = alt.layer(ground, dots, names).properties(
        width=300,
        height=300,
        title="Loss over the simplex; the rest is on position 1",
        description="The loss of the pathological example over the simplex: lowest at (0, ½, ½), "
        "away from the corner of the largest β.",
    )
    return with_rows(chart, rows)
