"""Figures of the topic words, from the records alone. [lu21]"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np

from foveate.dynamics.lu21 import embedding_norm
from foveate.experiments.experiment import Records
from foveate.experiments.topic_words.curves import COLOURS, curve_chart, kept, paint
from foveate.experiments.topic_words.findings import fallen, identity_gap
from foveate.experiments.topic_words.review_figures import review_figures
from foveate.experiments.topic_words.reviews import REVIEWS
from foveate.figures.palette import INK
from foveate.figures.render import with_rows

if TYPE_CHECKING:
    from foveate.experiments.topic_words import TopicWordsSettings

__all__ = ["topic_figures"]

NAMES = {"fc": "FC", "tc": "TC", "tl": "TL", "fc-query": "FC, query trained"}
ABLATIONS = {"full": "full model", "kf": "keys frozen (KF)", "ef": "embeddings frozen (EF)"}


def topic_figures(use: "TopicWordsSettings", records: Records) -> Mapping[str, Any]:
    """The figures by name; those of SST where it was trained on."""
    charts = {
        "identity": _identity(use, records),
        "convergence": _convergence(records),
        "capacity": _capacity(records),
        "ablations": _ablations(records),
        "suppression": _suppression(records),
    }
    if set(REVIEWS) <= set(records):
        charts |= review_figures(records)
    return charts


def _identity(use: "TopicWordsSettings", records: Records) -> Any:
    """Measured against theory, and the gap between them over training."""
    points = {name: _points(records, name) for name in NAMES}
    across = max(0.5, 1.05 * max(row["x"] for rows in points.values() for row in rows))
    up = max(0.5, 1.05 * max(row["y"] for rows in points.values() for row in rows))
    grid = np.linspace(0, across, 80)
    theory = [
        {"x": float(s), "y": float(y)}
        for s, y in zip(grid, embedding_norm(grid, use.m, 1.0), strict=True)
        if y <= up
    ]
    panels: list[Any] = []
    for name, title in NAMES.items():
        x = alt.X("x:Q", title="score s", scale=alt.Scale(domain=[0, across], nice=False))
        label = "‖q‖ ‖ν‖, from its start" if not panels else None
        y = alt.Y("y:Q", title=label, scale=alt.Scale(domain=[0, up], nice=False))
        dots = alt.Chart().mark_point(size=9, filled=True, opacity=0.5, clip=True)
        curve = alt.Chart().mark_line(color=INK, strokeDash=[5, 4], strokeWidth=1.6, clip=True)
        layers = (
            with_rows(dots.encode(x=x, y=y, color=alt.value(COLOURS[title])), points[name]),
            with_rows(curve.encode(x=x, y=y), theory),
        )
        panels.append(alt.layer(*layers).properties(width=172, height=172, title=title))
    gaps = {
        title: (records[name].t, 100 * identity_gap(records[name], use.m).max(-1))
        for name, title in NAMES.items()
    }
    below = curve_chart(
        {title: (t[1:], np.maximum(gap[1:], 1e-3)) for title, (t, gap) in gaps.items()},
        x="epoch",
        y="largest gap of the topic words, %",
        log_y=True,
        width=760,
        height=180,
        rule=1.0,
    )
    return alt.vconcat(alt.hconcat(*panels, spacing=14), below).properties(
        description="Score against embedding norm of every topic word with the identity as a "
        "dashed curve, for three classifiers and for a trained query; below, the largest relative "
        "gap over training, with the criterion of 1 % as a line."
    )


def _points(records: Records, name: str) -> list[dict[str, float]]:
    """Score and gained norm, times the query's, at some measurements of every word and seed."""
    value = records[name].values
    gained = np.sqrt(np.maximum(value["norm"] ** 2 - value["norm"][0] ** 2, 0))
    y = value["q_norm"][..., None] * gained
    x = value["s"] - value["s"][0]
    keep = np.unique(np.linspace(0, len(x) - 1, 26).astype(int))
    return [
        {"x": round(float(a), 4), "y": round(float(b), 4)}
        for a, b in zip(x[keep].ravel(), y[keep].ravel(), strict=True)
    ]


def _convergence(records: Records) -> Any:
    plain, limit = records["fc"], records["fc-limit"]
    size: dict[str, Any] = {"width": 225, "height": 200}
    published = "as published"
    loss = curve_chart(
        {published: (plain.t, plain.values["loss"])},
        x="epoch",
        y="training loss, nats",
        log_y=True,
        legend=False,
        **size,
    )
    focus = curve_chart(
        {published: (plain.t, plain.values["a_z"])},
        x="epoch",
        y="attention on the topic word",
        domain=(0, 1),
        legend=False,
        **size,
    )
    rows = [
        {
            "x": float(r.values["loss"][i, k]),
            "y": float(r.values["a_z"][i, k]),
            "name": name,
            "seed": k,
            "i": i,
        }
        for name, r in ((published, plain), ("step divided by the loss", limit))
        for i in kept(len(r.t))
        for k in range(r.values["loss"].shape[1])
    ]
    path = (
        alt.Chart()
        .mark_line(strokeWidth=2, clip=True)
        .encode(
            x=alt.X(
                "x:Q",
                title="training loss, nats (falling to the right)",
                scale=alt.Scale(type="log", reverse=True, nice=False),
                axis=alt.Axis(format="~e", tickCount=6),
            ),
            y=alt.Y("y:Q", title="attention on the topic word", scale=alt.Scale(domain=[0, 1])),
            color=paint([published, "step divided by the loss"]),
            strokeDash=alt.StrokeDash(
                "name:N",
                scale=alt.Scale(
                    domain=[published, "step divided by the loss"], range=[[1, 0], [5, 3]]
                ),
                legend=None,
            ),
            detail="seed:N",
            order="i:Q",
        )
    )
    chart = with_rows(path.properties(**size), rows)
    return (
        alt.hconcat(loss, focus, chart)
        .resolve_scale(color="independent")
        .properties(
            description="Loss and attention on the topic word over epochs with a fixed linear "
            "classifier; and attention against the loss, where the prolonged path follows the "
            "published one and goes on to attention near 1."
        )
    )


def _capacity(records: Records) -> Any:
    series = {
        NAMES[name]: (records[name].t, records[name].values["s"].mean(-1))
        for name in ("fc", "tc", "tl")
    }
    return curve_chart(
        series,
        x="epoch",
        y="mean score of the topic words",
        width=620,
        height=260,
        description="Mean score of the topic words over epochs for a fixed linear, a trained "
        "linear and a two-layer classifier.",
    )


def _ablations(records: Records) -> Any:
    series = {}
    for name, title in ABLATIONS.items():
        losses = records[name].final["losses"]
        series[title] = (np.arange(losses.shape[1]), losses.T)
    half = float(np.mean([losses[0].mean() for _, losses in series.values()])) / 2
    return curve_chart(
        series,
        x="epoch",
        y="training loss, nats",
        width=620,
        height=260,
        rule=half,
        description="Training loss over epochs of the full model and with keys or embeddings "
        "frozen; the line is half the loss at the start.",
    )


def _suppression(records: Records) -> Any:
    """Score and norm of every topic word in the first quarter of training."""
    full = records["full"]
    falls = fallen(full)
    early = np.flatnonzero(full.t <= full.t[-1] / 4)
    rows = [
        {
            "x": float(full.t[i]),
            "s": float(full.values["s"][i, k, w]),
            "norm": float(full.values["norm"][i, k, w]),
            "name": "falls at first" if falls[k, w] else "rises",
            "word": f"{k}.{w}",
        }
        for i in early
        for k, w in np.ndindex(falls.shape)
    ]
    panels = []
    for key, title in (("s", "score s"), ("norm", "embedding norm ‖ν‖")):
        line = alt.Chart().mark_line(strokeWidth=1.4, opacity=0.8, clip=True)
        panels.append(
            line.encode(
                x=alt.X("x:Q", title="epoch", scale=alt.Scale(nice=False)),
                y=alt.Y(f"{key}:Q", title=title, scale=alt.Scale(zero=False)),
                color=paint(["falls at first", "rises"]),
                detail="word:N",
            ).properties(width=350, height=240)
        )
    return with_rows(alt.hconcat(*panels), rows).properties(
        description="Score and embedding norm of every topic word of every seed early in "
        "training; those whose score and norm both fall below their start are marked."
    )
