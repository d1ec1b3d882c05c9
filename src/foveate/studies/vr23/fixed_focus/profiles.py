"""Losses and incentives over alpha, a line a paradigm, and the errors against Theorem 1."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from foveate.charts.lines import paradigm_encodings
from foveate.charts.palette import label
from foveate.charts.render import with_rows
from foveate.dynamics.vr23 import PARADIGMS
from foveate.jobs.experiment import Records
from foveate.records.record import Record
from foveate.studies.vr23.fixed_focus.claims import loss_errors, theorem_errors
from foveate.studies.vr23.fixed_focus.curves import (
    SETS,
    alphas_of,
    curve,
    elapsed,
    limit,
    moment,
    start_of,
)
from foveate.studies.vr23.fixed_focus.panels import (
    HEIGHT,
    TITLES,
    WIDTH,
    banded,
    ends_of,
    panel_title,
)
from foveate.types import FloatArray

__all__ = ["incentive_profile", "loss_profile", "theorem_chart"]

Rows = list[dict[str, Any]]


def _profile(
    rows: Rows, title: str, y: str | None, alphas: FloatArray, ends: Sequence[float]
) -> alt.LayerChart:
    """A line a paradigm over alpha, with its interval; dashed where a row has a ``limit``."""
    color, dashes = paradigm_encodings(PARADIGMS)
    x_axis = alt.X(
        "x:Q",
        title="focus held at α",
        axis=alt.Axis(values=list(map(float, alphas)), grid=False, format="~g"),
        scale=alt.Scale(domain=[float(alphas[0]) - 0.03, float(alphas[-1]) + 0.03], nice=False),
    )
    y_axis = alt.Y(
        "mean:Q",
        title=y,
        axis=alt.Axis(tickCount=5, minExtent=24),
        scale=alt.Scale(domain=list(ends), nice=False),
    )
    layers = [
        alt.Chart()
        .mark_line(strokeWidth=2)
        .encode(
            x=x_axis,
            y=y_axis,
            color=color,
            strokeDash=dashes,
        ),
        alt.Chart()
        .transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=2)
        .encode(x=x_axis, y="low:Q", y2="high:Q", color=color),
        alt.Chart()
        .mark_point(filled=True, size=46, opacity=1)
        .encode(x=x_axis, y=y_axis, color=color),
        alt.Chart()
        .transform_filter("isValid(datum.limit)")
        .mark_tick(thickness=2, size=24, orient="horizontal")
        .encode(x=x_axis, y="limit:Q", color=color),
    ]
    chart = alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=panel_title(title))
    return with_rows(chart, rows)


def _profile_rows(record: Record, name: str, share: float, rates: str = "equal") -> Rows:
    index, alphas = moment(record, share), alphas_of(record)
    values = [curve(record, name, p, rates)[index] for p in PARADIGMS]
    return list(banded(alphas, np.stack(values, 1), [label(p) for p in PARADIGMS]))


def loss_profile(sets: Records) -> alt.VConcatChart:
    """Losses over alpha, early and at the end, at equal rates."""
    rows = []
    for data, record in sets.items():
        alphas, titled = alphas_of(record), f"{SETS[data]}, "
        ends = [0.0, 1.03 * start_of(record)]
        end = _profile_rows(record, "set_loss", 1.0)
        for row in end:
            paradigm = next(p for p in PARADIGMS if label(p) == row["name"])
            if paradigm != "soft" and row["x"] < 1:
                row["limit"] = float(limit(paradigm, np.array(row["x"]), record.meta["classes"]))
        early = _profile_rows(record, "set_loss", 0.1)
        panels = [
            _profile(early, f"{titled}a tenth of the way", TITLES["set_loss"], alphas, ends),
            _profile(end, f"{titled}the end", None, alphas, ends),
        ]
        rows.append(alt.hconcat(*panels, spacing=24))
    words = "; ".join(
        f"{SETS[d]}: " + ", ".join(f"{label(p)} {_mean_loss(r, p):.3g}" for p in PARADIGMS)
        for d, r in sets.items()
    )
    return alt.vconcat(
        *rows,
        spacing=14,
        title=alt.Title(
            "Training loss over α, equal learning rates",
            subtitle=[
                "Mean over seeds with its 95 % interval. Short bars: the limits of hard and LVML",
                "for a g that is perfect on the foreground and uniform on the background.",
            ],
        ),
        description=f"Training loss over alpha, early and at the end. Means at the end: {words}.",
    )


def _mean_loss(record: Record, paradigm: str) -> float:
    return float(curve(record, "set_loss", paradigm)[-1].mean())


def incentive_profile(sets: Records) -> alt.VConcatChart:
    """Incentives over alpha after half of the training, at equal rates and at the authors'."""
    rows = []
    for rates in ("equal", "authors"):
        panels: list[alt.LayerChart] = []
        for data, record in sets.items():
            profile = _profile_rows(record, "incentive", 0.5, rates)
            reach = [row.get(k, row["mean"]) for row in profile for k in ("low", "mean", "high")]
            title = f"{SETS[data]}, {'equal' if rates == 'equal' else 'authors’'} rates"
            y = None if panels else TITLES["incentive"]
            panels.append(_profile(profile, title, y, alphas_of(record), ends_of(np.array(reach))))
        rows.append(alt.hconcat(*panels, spacing=20))
    words = "; ".join(
        f"{SETS[d]}, {label(p)}: "
        + ", ".join(f"{v:.3g}" for v in curve(r, "incentive", p)[moment(r, 0.5)].mean(1))
        for d, r in sets.items()
        for p in PARADIGMS
    )
    return alt.vconcat(
        *rows,
        spacing=14,
        title=alt.Title(
            "Incentive to improve the focus over α, half of the way",
            subtitle="−dL/dα at a fixed classifier; mean over seeds with its 95 % interval.",
        ),
        description=f"Incentive over alpha halfway at equal rates, alpha rising. {words}.",
    )


def theorem_chart(records: Records) -> alt.HConcatChart:
    """The error of gradient descent against Theorem 1, by step size and over time."""
    record = records["theorem"]
    errors = theorem_errors(record).max(2)
    steps = [step for _, step in record.meta["lines"]][: errors.shape[1]]
    rows = [
        {"x": step, "y": float(100 * errors[i, k]), "name": label(p)}
        for i, p in enumerate(PARADIGMS)
        for k, step in enumerate(steps)
    ]
    panels = [
        _error_lines(rows, "step size h", "largest error of the weights, %", "Population", True)
    ]
    if "orthogonal" in records:
        orthogonal = records["orthogonal"]
        t = elapsed(orthogonal, orthogonal.meta["rates"]["equal"]["soft"])
        worst = {p: 100 * np.abs(loss_errors(orthogonal, p).mean(2)).max(1) for p in PARADIGMS}
        rows = [
            {"x": float(t[i]), "y": float(values[i]), "name": label(p)}
            for p, values in worst.items()
            for i in range(len(t))
        ]
        title = f"{orthogonal.meta['n']:,} sampled bags"
        panels.append(_error_lines(rows, "time t", "largest error of the loss, %", title, False))
    words = ", ".join(
        f"{100 * e:.2f} % at h = {h:g}" for h, e in zip(steps, errors.max(0), strict=True)
    )
    return alt.hconcat(
        *panels,
        spacing=30,
        title=alt.Title(
            "Gradient descent against Theorem 1",
            subtitle="Relative error at t = h × steps, largest over α; left also over time.",
        ),
        description=f"Error of gradient descent against Theorem 1 on the population: {words}.",
    )


def _error_lines(rows: Rows, x: str, y: str, title: str, logs: bool) -> alt.LayerChart:
    scale = alt.Scale(type="log", nice=False) if logs else alt.Scale(nice=False)
    ticks: dict[str, Any] = (
        {"values": sorted({row["x"] for row in rows}), "format": "~g"}
        if logs
        else {"tickCount": 6, "format": "d", "labelFlush": False}
    )
    x_axis = alt.X("x:Q", title=x, scale=scale, axis=alt.Axis(grid=False, **ticks))
    height = alt.Scale(type="log", nice=False, padding=8) if logs else alt.Scale(zero=True)
    decades: dict[str, Any] = {"values": [0.1, 0.2, 0.5, 1, 2, 5, 10, 20], "format": "~g"}
    y_axis = alt.Y("y:Q", title=y, scale=height, axis=alt.Axis(**(decades if logs else {})))
    color, dashes = paradigm_encodings(PARADIGMS)
    line = alt.Chart().mark_line(strokeWidth=2, point=logs)
    chart = alt.layer(line.encode(x=x_axis, y=y_axis, color=color, strokeDash=dashes))
    return with_rows(chart.properties(width=320, height=220, title=panel_title(title)), rows)
