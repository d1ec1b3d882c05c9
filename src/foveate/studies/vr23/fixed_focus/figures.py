"""The figures of the fixed-focus experiment; here the curves over time, a line an alpha."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from foveate.charts.palette import TEXT_COLOUR, label
from foveate.charts.render import with_rows
from foveate.dynamics.vr23 import PARADIGMS, exact_fixed, incentive, losses
from foveate.jobs.experiment import Records
from foveate.records.record import Record
from foveate.studies.vr23.fixed_focus.curves import SETS, alphas_of, curve, elapsed
from foveate.studies.vr23.fixed_focus.panels import (
    HEIGHT,
    TITLES,
    WIDTH,
    banded,
    ends_of,
    panel_title,
)
from foveate.studies.vr23.fixed_focus.profiles import (
    incentive_profile,
    loss_profile,
    theorem_chart,
)
from foveate.studies.vr23.incentive import STEP
from foveate.types import FloatArray

__all__ = ["figures", "ramp"]


# Plasma without its ends: lightness falls with α, and black dashes show on the darkest line.
RAMP = ("#FDB42F", "#ED7953", "#CC4778", "#9C179E", "#5C01A6")
RATES = {"equal": "equal learning rates", "authors": "the authors' learning rates"}
HEADS = {
    "set_loss": "Training loss",
    "incentive": "Incentive −dL/dα",
    "difference": "The paper's finite difference of the incentive",
}


def figures(_: object, records: Records) -> dict[str, Any]:
    """All figures by name."""
    sets = {name: records[name] for name in SETS if name in records}
    return {
        "losses": _curves(sets, "set_loss", "equal"),
        "losses-authors": _curves(sets, "set_loss", "authors"),
        "incentives": _curves(sets, "incentive", "equal"),
        "incentives-authors": _curves(sets, "incentive", "authors"),
        "finite-difference": _curves(sets, "difference", "equal"),
        "loss-profile": loss_profile(sets),
        "incentive-profile": incentive_profile(sets),
        "theorem": theorem_chart(records),
    }


def ramp(count: int) -> list[str]:
    """Colours for so many values of alpha, the lightest first."""
    stops = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in RAMP])
    positions = np.linspace(0, len(RAMP) - 1, count) if count > 1 else np.array([len(RAMP) - 1.0])
    mixed = [np.interp(positions, np.arange(len(RAMP)), stops[:, k]).round() for k in range(3)]
    return ["#{:02X}{:02X}{:02X}".format(*map(int, row)) for row in zip(*mixed, strict=True)]


def _curves(sets: Records, name: str, rates: str) -> alt.VConcatChart:
    """A row of panels a data set, a panel a paradigm, a line an alpha."""
    rows = []
    for data, record in sets.items():
        curves = [curve(record, name, p, rates) for p in PARADIGMS]
        if name == "difference":
            curves += [STEP * curve(record, "incentive", p, rates).mean(2) for p in PARADIGMS]
        ends = ends_of(np.concatenate([values.ravel() for values in curves]))
        panels = [_panel(data, record, name, paradigm, rates, ends) for paradigm in PARADIGMS]
        rows.append(alt.hconcat(*panels, spacing=14))
    dashes = {
        "set_loss": "Dashed: the closed form of Theorem 1.",
        "incentive": "Dashed: the closed form of Theorem 1.",
        "difference": "Dashed: .01 × the exact derivative, which does not vanish at α = 1.",
    }[name]
    return alt.vconcat(
        *rows,
        spacing=14,
        title=alt.Title(
            f"{HEADS[name]} under a focus held at α, {RATES[rates]}",
            subtitle=f"Mean over seeds with its 95 % interval. {dashes}",
        ),
        description=_summary_text(sets, name, rates),
    )


def _summary_text(sets: Records, name: str, rates: str) -> str:
    ends = "; ".join(
        f"{SETS[data]}, {label(p)}: "
        + ", ".join(
            f"{value:.3g} at α = {alpha:g}"
            for alpha, value in zip(
                alphas_of(record), curve(record, name, p, rates)[-1].mean(1), strict=True
            )
        )
        for data, record in sets.items()
        for p in PARADIGMS
    )
    return f"{TITLES[name]} over the training at {RATES[rates]}. At the end: {ends}."


def _panel(
    data: str, record: Record, name: str, paradigm: str, rates: str, ends: list[float]
) -> alt.LayerChart:
    values, alphas = curve(record, name, paradigm, rates), alphas_of(record)
    timed = data == "orthogonal" and rates == "equal"
    lr = record.meta["rates"][rates][paradigm]
    x = elapsed(record, lr) if timed else record.t.astype(float)
    rows = list(banded(x, values, [f"{alpha:g}" for alpha in alphas]))
    if name == "difference":
        step = STEP * curve(record, "incentive", paradigm, rates).mean(2)
    else:
        step = _closed(record, name, paradigm, lr) if data == "orthogonal" else None
    if step is not None:
        rows += [
            {"x": float(x[i]), "theory": float(step[i, k]), "name": f"{alpha:g}"}
            for i in range(len(x))
            for k, alpha in enumerate(alphas)
        ]
    x_axis = alt.X(
        "x:Q",
        title="time t" if timed else "epochs",
        scale=alt.Scale(domain=[0, float(x[-1])], nice=False),
        axis=alt.Axis(tickCount=5, grid=False, format="d", labelFlush=False),
    )
    y = alt.Y(
        "mean:Q",
        title=TITLES[name] if paradigm == PARADIGMS[0] else None,
        axis=alt.Axis(tickCount=5, minExtent=24),
        scale=alt.Scale(domain=ends, nice=False),
    )
    title = f"{SETS[data]}, {label(paradigm)}"
    layers = _lines(x_axis, y, [f"{alpha:g}" for alpha in alphas])
    return with_rows(
        alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=panel_title(title)), rows
    )


def _lines(x_axis: alt.X, y: alt.Y, names: Sequence[str]) -> list[alt.Chart]:
    scale = alt.Scale(domain=list(names), range=ramp(len(names)))
    legend = alt.Legend(
        title="α =", symbolType="stroke", symbolOpacity=1, columns=len(names), titleOrient="left"
    )
    colour_encoding = alt.Color("name:N", scale=scale, legend=legend)
    dash = alt.value([4, 3])
    return [
        alt.Chart()
        .transform_filter("isValid(datum.low)")
        .mark_area(opacity=0.18, clip=True)
        .encode(
            x=x_axis, y="low:Q", y2="high:Q", fill=alt.Fill("name:N", scale=scale, legend=legend)
        ),
        alt.Chart()
        .transform_filter("isValid(datum.mean)")
        .mark_line(strokeWidth=2.6, clip=True)
        .encode(x=x_axis, y=y, color=colour_encoding),
        alt.Chart()
        .transform_filter("isValid(datum.theory)")
        .mark_line(strokeWidth=1.1, color=TEXT_COLOUR, clip=True)
        .encode(x=x_axis, y="theory:Q", detail="name:N", strokeDash=dash),
    ]


def _closed(record: Record, name: str, paradigm: Any, lr: float) -> FloatArray:
    """Loss or incentive by Theorem 1 at the times of the record, shape (T, A)."""
    alphas, classes = alphas_of(record), record.meta["classes"]
    mu = exact_fixed(paradigm, elapsed(record, lr)[:, None], alphas, classes)
    return (losses if name == "set_loss" else incentive)(paradigm, mu, alphas, classes)
