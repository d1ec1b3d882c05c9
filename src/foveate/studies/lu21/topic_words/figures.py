"""Figures of the topic words, from the records alone. [lu21]"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np

from foveate.charts.palette import TEXT_COLOUR
from foveate.charts.render import with_rows
from foveate.dynamics.lu21 import embedding_norm
from foveate.jobs.experiment import Records
from foveate.records.record import Record
from foveate.studies.lu21.topic_words.curves import (
    COLOURS,
    colour_encoding,
    curve_chart,
    heading,
    plotted_points,
)
from foveate.studies.lu21.topic_words.findings import identity_gap, suppressed_words
from foveate.studies.lu21.topic_words.review_figures import review_figures
from foveate.studies.lu21.topic_words.reviews import REVIEWS

if TYPE_CHECKING:
    from foveate.studies.lu21.topic_words import TopicWordsSettings

__all__ = ["figures"]

NAMES = {"fc": "FC", "tc": "TC", "tl": "TL", "fc-query": "FC, query trained"}
PUBLISHED, EXTENDED = "as published", "step divided by the loss"
SMALLEST_LOSS = 1e-20  # losses below are left out: attention has long been near 1
ABLATIONS = {"full": "full model", "kf": "keys frozen (KF)", "ef": "embeddings frozen (EF)"}


def figures(settings: "TopicWordsSettings", records: Records) -> Mapping[str, Any]:
    """The figures by name; those of SST where it was trained on."""
    charts = {
        "identity": _identity(settings, records),
        "convergence": _convergence(records),
        "capacity": _capacity(records),
        "ablations": _ablations(records),
        "suppression": _suppression(records),
    }
    if set(REVIEWS) <= set(records):
        charts |= review_figures(records)
    return charts


def _identity(settings: "TopicWordsSettings", records: Records) -> Any:
    """Measured against theory, and the gap between them over training."""
    points = {name: _points(records, name) for name in NAMES}
    panels = [_against_theory(settings.m, points[name], title) for name, title in NAMES.items()]
    gaps = {
        title: (records[name].t, 100 * identity_gap(records[name], settings.m).max(-1))
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
    chart = alt.vconcat(alt.hconcat(*panels, spacing=14), below).resolve_scale(color="independent")
    return chart.properties(
        description="Score against embedding norm of every topic word with the identity as a "
        "dashed curve, for three classifiers and for a trained query; below, the largest relative "
        "gap over training, with the criterion of 1 % as a line."
    )


def _against_theory(m: int, points: list[dict[str, float]], title: str) -> Any:
    """The points of one kind of model and the curve of the identity."""
    x_axis, y_axis = (max(0.1, 1.05 * max(row[key] for row in points)) for key in "xy")
    grid = np.linspace(0, x_axis, 80)
    norm = embedding_norm(grid, m, 1.0)
    theory = [
        {"x": float(s), "y": float(y)} for s, y in zip(grid, norm, strict=True) if y <= y_axis
    ]
    x = alt.X("x:Q", title="score s", scale=alt.Scale(domain=[0, x_axis], nice=False))
    y = alt.Y("y:Q", title="|q|·|ν| gained", scale=alt.Scale(domain=[0, y_axis], nice=False))
    dots = alt.Chart().mark_point(size=9, filled=True, opacity=0.5, clip=True)
    curve = alt.Chart().mark_line(color=TEXT_COLOUR, strokeDash=[5, 4], strokeWidth=1.6, clip=True)
    layers = (
        with_rows(dots.encode(x=x, y=y, color=alt.value(COLOURS[title])), points),
        with_rows(curve.encode(x=x, y=y), theory),
    )
    return alt.layer(*layers).properties(width=150, height=160, title=heading(title))


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
    """Loss and attention over epochs, and attention against the loss."""
    plain = records["fc"]
    size: dict[str, Any] = {"width": 225, "height": 200}
    over_time: dict[str, Any] = {"x": "epoch", "legend": False, **size}
    loss = {PUBLISHED: (plain.t, plain.values["loss"])}
    focus = {PUBLISHED: (plain.t, plain.values["a_z"])}
    charts = (
        curve_chart(loss, y="training loss, nats", log_y=True, **over_time),
        curve_chart(focus, y="attention on the topic word", domain=(0, 1), **over_time),
        _path({PUBLISHED: plain, EXTENDED: records["fc-limit"]}).properties(**size),
    )
    return (
        alt.hconcat(*charts)
        .resolve_scale(color="independent")
        .properties(
            description="Loss and attention on the topic word over epochs with a fixed linear "
            "classifier; and attention against the loss, where the prolonged path follows the "
            "published one and goes on to attention near 1."
        )
    )


def _path(variants: Mapping[str, Record]) -> Any:
    """Attention on the topic word against the loss, a line a seed."""
    rows = [
        {
            "x": float(r.values["loss"][i, k]),
            "y": float(r.values["a_z"][i, k]),
            "name": name,
            "seed": k,
            "i": i,
        }
        for name, r in variants.items()
        for i in plotted_points(len(r.t))
        for k in range(r.values["loss"].shape[1])
        if r.values["loss"][i, k] >= SMALLEST_LOSS
    ]
    x = alt.X(
        "x:Q",
        title="training loss, nats (falling to the right)",
        scale=alt.Scale(type="log", reverse=True, nice=False),
        axis=alt.Axis(format="~e", tickCount=5),
    )
    y = alt.Y("y:Q", title="attention on the topic word", scale=alt.Scale(domain=[0, 1]))
    dashes = alt.Scale(domain=list(variants), range=[[1, 0], [5, 3]])
    line = alt.Chart().mark_line(strokeWidth=2, clip=True)
    chart = line.encode(
        x=x,
        y=y,
        color=colour_encoding(list(variants), columns=1),
        strokeDash=alt.StrokeDash("name:N", scale=dashes, legend=None),
        detail="seed:N",
        order="i:Q",
    )
    return with_rows(chart, rows)


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
    suppressed = suppressed_words(full)
    early = np.flatnonzero(full.t <= full.t[-1] / 4)
    rows: list[dict[str, Any]] = [
        {
            "x": float(full.t[i]),
            "s": float(full.values["s"][i, k, w]),
            "norm": float(full.values["norm"][i, k, w] / full.values["norm"][0, k, w]),
            "name": "falls at first" if suppressed[k, w] else "rises",
            "word": f"{k}.{w}",
        }
        for i in early
        for k, w in np.ndindex(suppressed.shape)
    ]
    lowest = min(row["s"] for row in rows)
    panels = []
    for key, title, low, high in (
        ("s", "score s (cut off above)", 1.3 * lowest, max(-3 * lowest, 1e-3)),
        ("norm", "|ν| over its start (cut off above)", min(r["norm"] for r in rows) - 0.02, 1.3),
    ):
        line = alt.Chart().mark_line(strokeWidth=1.6, opacity=0.8, clip=True)
        panels.append(
            line.encode(
                x=alt.X("x:Q", title="epoch", scale=alt.Scale(nice=False)),
                y=alt.Y(f"{key}:Q", title=title, scale=alt.Scale(domain=[low, high], nice=False)),
                color=colour_encoding(["falls at first", "rises"]),
                detail="word:N",
            ).properties(width=350, height=240)
        )
    return with_rows(alt.hconcat(*panels), rows).properties(
        description="Score and embedding norm of every topic word of every seed early in "
        "training; those whose score and norm both fall below their start are marked."
    )
