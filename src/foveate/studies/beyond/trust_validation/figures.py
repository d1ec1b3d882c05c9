"""Figures of the validation: the score against FT, and what the detector finds."""

import math
from collections.abc import Mapping
from typing import Any

import altair as alt

from foveate.charts.palette import colour, label
from foveate.charts.render import with_rows
from foveate.jobs.experiment import Records
from foveate.studies.beyond.trust_validation.summary import by_set, confusion, ranking, role_of
from foveate.trust.error_modes import MODES, score

__all__ = ["figures"]

ROLES = {
    "design": "Sets it was designed on",
    "validation": "Sets it had not seen",
}
SHAPES = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down")
SIDE = 330


def figures(_: object, records: Records) -> Mapping[str, Any]:
    """Scatter of score and FT, by paradigm and by set; the detector's confusion."""
    return {"scatter": _scatter(records), "sets": _sets(records), "modes": _modes(records)}


def _points(records: Records) -> list[dict[str, Any]]:
    rows = []
    for record in records.values():
        final = dict(record.final)
        true = (final["ft"] * final["bags"]).sum(1) / final["bags"].sum(1)
        meta = record.meta
        way = meta["paradigm"] if meta["map"] == "softmax" else f"{meta['paradigm']}, {meta['map']}"
        rows += [
            {"x": 100 * float(s), "y": 100 * float(t), "set": meta["set"], "way": way,
             "paradigm": label(meta["paradigm"])}
            for s, t in zip(score(final), true, strict=True)
        ]  # fmt: skip
    return rows


def _scatter(records: Records) -> Any:
    """A point a model, coloured by paradigm and shaped by set: design left, validation right."""
    panels = []
    for role, title in ROLES.items():
        own = role_of(records, role)
        if not own:
            continue
        sets = list(by_set(own))
        all_in = ranking(own, role)
        spread = "" if all_in.rho.low is None else f" [{all_in.rho.low:.2f}, {all_in.rho.high:.2f}]"
        said = f"{all_in.models} models, Spearman's ρ = {all_in.rho.mean:.3f}{spread}"
        names = list(dict.fromkeys(r.meta["paradigm"] for r in own.values()))
        dots = alt.Chart().mark_point(size=46, opacity=0.75, strokeWidth=1.6)
        dots = dots.encode(
            x=alt.X("x:Q", title="label-free score, %", scale=alt.Scale(domain=[0, 100])),
            y=alt.Y("y:Q", title="FT, % (needs locations)", scale=alt.Scale(domain=[0, 100])),
            color=alt.Color(
                "paradigm:N",
                scale=alt.Scale(domain=[label(n) for n in names], range=[colour(n) for n in names]),
                legend=alt.Legend(columns=5, symbolSize=90),
            ),
            shape=alt.Shape(
                "set:N",
                scale=alt.Scale(domain=sets, range=[SHAPES[k % 6] for k in range(len(sets))]),
                legend=alt.Legend(columns=3, symbolSize=90),
            ),
        )
        line = alt.Chart().mark_line(color="#8d949b", strokeDash=[4, 4]).encode(x="x:Q", y="y:Q")
        ends = [{"x": 0, "y": 0}, {"x": 100, "y": 100}]
        layers = alt.layer(with_rows(line, ends), with_rows(dots, _points(own)))
        panels.append(
            layers.properties(
                width=SIDE, height=SIDE, title={"text": title, "subtitle": said}
            ).resolve_scale(shape="independent")
        )
    return (
        alt.hconcat(*panels)
        .resolve_scale(color="shared", shape="independent")
        .properties(description="The label-free score of every model against its FT.")
    )


def _sets(records: Records) -> Any:
    """ρ of every set with its interval, and of all sets of a role together."""
    rows: list[dict[str, Any]] = []
    for role, title in ROLES.items():
        own = role_of(records, role)
        groups = {**by_set(own), f"all: {role}": own} if own else {}
        for name, part in groups.items():
            row = ranking(part, name)
            low, high = row.rho.low, row.rho.high
            if not math.isnan(row.rho.mean):  # where FT does not vary there is no ρ
                rows.append(
                    {"name": name, "role": title, "x": row.rho.mean, "low": low, "high": high}
                )
    y = alt.Y("name:N", title=None, sort=[row["name"] for row in rows])
    paint = alt.Color(
        "role:N", scale=alt.Scale(domain=list(ROLES.values()), range=["#767676", "#D55E00"])
    )
    rule = alt.Chart().mark_rule(strokeWidth=2).encode(x="low:Q", x2="high:Q", y=y, color=paint)
    dot = alt.Chart().mark_point(filled=True, size=80, opacity=1)
    x = alt.X(
        "x:Q", title="Spearman's ρ of score and FT over models", scale=alt.Scale(domain=[-1, 1])
    )
    dot = dot.encode(x=x, y=y, color=paint)
    spans = [row for row in rows if row["low"] is not None]
    layers = [with_rows(rule, spans)] if spans else []
    return alt.layer(*layers, with_rows(dot, rows)).properties(
        width=420,
        height=max(60, 24 * len(rows)),
        description="Rank correlation of the score with FT by data set.",
    )


def _modes(records: Records) -> Any:
    """Classes of models by true and detected mode."""
    names = ["none", *(f"{k}: {words}" for k, words in MODES.items())]
    panels = []
    for role, title in ROLES.items():
        own = role_of(records, role)
        counts = confusion(own) if own else None
        if counts is None:
            continue
        rows = [
            {"truth": names[i], "said": names[j], "n": int(counts[i, j])}
            for i in range(len(names))
            for j in range(len(names))
        ]
        x = alt.X("said:N", title="detected", sort=names, axis=alt.Axis(labelAngle=-25))
        y = alt.Y("truth:N", title="true", sort=names, axis=alt.Axis(labelLimit=200))
        base = alt.Chart().encode(x=x, y=y)
        shade = alt.Color(
            "n:Q",
            scale=alt.Scale(type="sqrt", range=["#ffffff", "#0072B2"], interpolate="rgb"),
            legend=None,
        )
        ink = alt.condition(
            f"datum.n > {counts.max() / 3}", alt.value("#fff"), alt.value("#1b1f24")
        )
        layers = alt.layer(
            base.mark_rect(stroke="#d5d8dc").encode(color=shade),
            base.mark_text(fontSize=13).encode(text="n:Q", color=ink),
        )
        panels.append(with_rows(layers, rows).properties(width=190, height=150, title=title))
    return alt.hconcat(*panels).properties(
        description="Classes of models by true and detected error mode."
    )
