"""Charts of the trust page: hidden segments, what is read where, FT by class, models."""

from collections.abc import Mapping
from typing import Any

import altair as alt

from foveate.charts.palette import CELL_TEXT_COLOUR, colour
from foveate.charts.render import with_rows

__all__ = ["trust_charts"]

WIDTH, HIGH = 400, 210
CONTROL = "#767676"
MAX_CLASSES = 12  # classes shown in a heat map


def trust_charts(examination: Mapping[str, Any]) -> dict[str, Any]:
    """Charts by name, from one entry of ``trust.json``."""
    return {
        "curves": _curves(examination),
        "read": _read(examination),
        "classes": _classes(examination),
        "models": _models(examination),
    }


def _curves(examination: Mapping[str, Any]) -> Any:
    """Probability of the predicted class while segments go, or come back, in order of attention."""
    curves, shares = examination["curves"], examination["curves"]["shares"]
    whole = curves["whole"][0]
    rows = []
    for which, title in (
        ("removed", "the most attended go"),
        ("kept", "only the most attended stay"),
    ):
        for order, suffix in (("by attention", ""), ("in random order", "_random")):
            points = list(zip(shares, curves[which + suffix], strict=True))
            points = [(0.0, whole), *points] if which == "removed" else [*points, (1.0, whole)]
            rows += [
                {"x": 100 * x, "y": y, "order": order, "panel": title}
                for x, y in points
                if y is not None
            ]
    paradigm_colour = colour(examination["paradigm"])
    colour_encoding = alt.Color(
        "order:N",
        scale=alt.Scale(
            domain=["by attention", "in random order"], range=[paradigm_colour, CONTROL]
        ),
        legend=alt.Legend(symbolType="stroke"),
    )
    dash = alt.StrokeDash(
        "order:N",
        scale=alt.Scale(domain=["by attention", "in random order"], range=[[1, 0], [5, 4]]),
        legend=None,
    )

    def panel(title: str, axis: str) -> Any:
        chart = alt.Chart().mark_line(strokeWidth=2.2, point=alt.OverlayMarkDef(size=28))
        chart = chart.encode(
            x=alt.X("x:Q", title=axis, scale=alt.Scale(domain=[0, 100])),
            y=alt.Y("y:Q", title="probability of the answer", scale=alt.Scale(domain=[0, 1])),
            color=colour_encoding,
            strokeDash=dash,
        ).properties(width=WIDTH // 2 - 10, height=HIGH, title=title)
        return with_rows(chart, [row for row in rows if row["panel"] == title])

    return alt.hconcat(
        panel("the most attended go", "segments removed, %"),
        panel("only the most attended stay", "segments kept, %"),
    ).properties(description="Probability of the answer while segments are removed or kept.")


def _read(examination: Mapping[str, Any]) -> Any:
    """Mean prediction of g on attended and on unattended segments, by class of the bag."""
    classes = examination["classes"][:MAX_CLASSES]
    rows = [
        {"bag": bag, "read": read, "p": values[j], "panel": panel, "text": f"{values[j]:.2f}"}
        for panel, table in (
            ("attended", examination["attended"]),
            ("unattended", examination["unattended"]),
        )
        for bag, values in zip(classes, table, strict=False)
        for j, read in enumerate(classes)
        if values[j] is not None
    ]

    def panel(name: str, title: str, *, first: bool) -> Any:
        x = alt.X(
            "read:N", title="read as", sort=classes, axis=alt.Axis(labelAngle=0, labelLimit=80)
        )
        y = alt.Y(
            "bag:N", title="class of the bag" if first else None, sort=classes,
            axis=alt.Axis(labels=first, ticks=first, labelLimit=90),
        )  # fmt: skip
        base = alt.Chart().encode(x=x, y=y)
        colour_scale = alt.Color(
            "p:Q",
            scale=alt.Scale(domain=[0, 1], range=["#ffffff", "#b0413e"], interpolate="rgb"),
            legend=None,
        )
        ink = alt.condition("datum.p > .6", alt.value("#ffffff"), alt.value(CELL_TEXT_COLOUR))
        layers = [base.mark_rect().encode(color=colour_scale)]
        if len(classes) <= 8:
            layers.append(base.mark_text(fontSize=11).encode(text="text:N", color=ink))
        panel_rows = [row for row in rows if row["panel"] == name]
        side = min(WIDTH // 2 - 30, 60 * max(2, len(classes)))
        return with_rows(alt.layer(*layers), panel_rows).properties(
            width=side, height=side, title=title
        )

    return alt.hconcat(
        panel("attended", "where attention is", first=True),
        panel("unattended", "where it is not", first=False),
    ).properties(
        description="Mean prediction of the classifier on attended and unattended segments."
    )


def _classes(examination: Mapping[str, Any]) -> Any:
    """FT of each class, estimated without locations and, where known, measured."""
    rows = []
    for entry in examination["by_class"]:
        if entry["estimate"] is not None and entry["verdict"]["grade"] != "cannot tell":
            rows.append({"name": entry["name"], "x": 100 * entry["estimate"], "what": "estimated"})
        if entry["measured"] is not None and entry["measured"]["mean"] is not None:
            ends = {k: entry["measured"][k] for k in ("low", "high")}
            spread = {k: 100 * v for k, v in ends.items() if v is not None}
            mean = 100 * entry["measured"]["mean"]
            rows.append({"name": entry["name"], "x": mean, "what": "measured", **spread})
    tint = colour(examination["paradigm"])
    x = alt.X("x:Q", title="FT, % of bags", scale=alt.Scale(domain=[0, 100]))
    y = alt.Y("name:N", title=None, sort=[entry["name"] for entry in examination["by_class"]])
    what = alt.Shape(
        "what:N",
        scale=alt.Scale(domain=["estimated", "measured"], range=["circle", "diamond"]),
        legend=alt.Legend(symbolFillColor=None),
    )
    fill = alt.Fill(
        "what:N",
        scale=alt.Scale(domain=["estimated", "measured"], range=["#ffffff", tint]),
        legend=None,
    )
    rule = alt.Chart().mark_rule(strokeWidth=2, color=tint).encode(x="low:Q", x2="high:Q", y=y)
    dot = alt.Chart().mark_point(size=110, stroke=tint, strokeWidth=2, opacity=1)
    dot = dot.encode(x=x, y=y, shape=what, fill=fill)
    layers = [with_rows(dot, rows)]
    if spans := [row for row in rows if "low" in row]:
        layers.insert(0, with_rows(rule, spans))
    height = max(70, 26 * len(examination["by_class"]))
    return alt.layer(*layers).properties(
        width=WIDTH, height=height, description="FT of every class, estimated and measured."
    )


def _models(examination: Mapping[str, Any]) -> Any:
    """A point a model: its score against its accuracy, where both are known."""
    rows = [
        {"x": 100 * entry["accuracy"], "y": 100 * entry["score"], "name": f"model {i}"}
        for i, entry in enumerate(examination["by_model"])
        if entry["score"] is not None and entry["accuracy"] is not None
    ]
    chart = alt.Chart().mark_point(
        size=90, filled=True, opacity=0.8, color=colour(examination["paradigm"])
    )
    chart = chart.encode(
        x=alt.X("x:Q", title="accuracy, %", scale=alt.Scale(domain=[0, 100])),
        y=alt.Y("y:Q", title="estimated FT, %", scale=alt.Scale(domain=[0, 100])),
    ).properties(
        width=WIDTH, height=HIGH, description="Estimated FT of every model against its accuracy."
    )
    return with_rows(chart, rows)
