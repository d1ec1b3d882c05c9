"""The figures of the fixed-focus experiment: curves by alpha, profiles over alpha, Theorem 1."""

from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from foveate.dynamics.vr23 import PARADIGMS, exact_fixed, incentive, losses
from foveate.experiments.experiment import Records
from foveate.experiments.fixed_focus.claims import loss_errors, theorem_errors
from foveate.experiments.fixed_focus.curves import (
    SETS,
    alphas_of,
    curve,
    elapsed,
    limit,
    moment,
)
from foveate.experiments.incentive import STEP
from foveate.figures.palette import INK, colour, dash, label
from foveate.figures.render import with_rows
from foveate.metrics.intervals import bootstrap
from foveate.record import Record

__all__ = ["draw", "ramp"]

Array = NDArray[np.float64]
Rows = list[dict[str, Any]]

WIDTH, HEIGHT = 215, 150
DRAWS = 500  # resamples of a band: enough to place its edge to the pixel
# Plasma without its ends: lightness falls with α, and black dashes show on the darkest line.
RAMP = ("#FDB42F", "#ED7953", "#CC4778", "#9C179E", "#5C01A6")
RATES = {"equal": "equal learning rates", "authors": "the authors' learning rates"}
HEADS = {
    "set_loss": "Training loss",
    "incentive": "Incentive −dL/dα",
    "difference": "The paper's finite difference of the incentive",
}
TITLES = {
    "set_loss": "training loss, nats",
    "incentive": "incentive −dL/dα, nats",
    "difference": "L(α) − L(α + .01), nats",
}


def draw(records: Records) -> dict[str, Any]:
    """All figures by name."""
    sets = {name: records[name] for name in SETS if name in records}
    return {
        "losses": _curves(sets, "set_loss", "equal"),
        "losses-authors": _curves(sets, "set_loss", "authors"),
        "incentives": _curves(sets, "incentive", "equal"),
        "incentives-authors": _curves(sets, "incentive", "authors"),
        "finite-difference": _curves(sets, "difference", "equal"),
        "loss-profile": _loss_profile(sets),
        "incentive-profile": _incentive_profile(sets),
        "theorem": _theorem(records),
    }


def ramp(count: int) -> list[str]:
    """Colours for so many values of alpha, the lightest first."""
    stops = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in RAMP])
    at = np.linspace(0, len(RAMP) - 1, count) if count > 1 else np.array([len(RAMP) - 1.0])
    mixed = [np.interp(at, np.arange(len(RAMP)), stops[:, k]).round() for k in range(3)]
    return ["#{:02X}{:02X}{:02X}".format(*map(int, row)) for row in zip(*mixed, strict=True)]


def _curves(sets: Records, name: str, rates: str) -> alt.VConcatChart:
    """A row of panels a data set, a panel a paradigm, a line an alpha."""
    rows = []
    for data, record in sets.items():
        ends = _ends(np.stack([curve(record, name, p, rates) for p in PARADIGMS]))
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
        description=_in_words(sets, name, rates),
    )


def _ends(values: Array) -> list[float]:
    """The ends of an axis for values, 0 included, with no tick at its very top."""
    return [min(0.0, 1.03 * float(values.min())), 1.03 * float(values.max())]


def _in_words(sets: Records, name: str, rates: str) -> str:
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
    rows = list(_banded(x, values, [f"{alpha:g}" for alpha in alphas]))
    if name == "difference":
        drawn = STEP * curve(record, "incentive", paradigm, rates).mean(2)
    else:
        drawn = _closed(record, name, paradigm, lr) if data == "orthogonal" else None
    if drawn is not None:
        rows += [
            {"x": float(x[i]), "theory": float(drawn[i, k]), "name": f"{alpha:g}"}
            for i in range(len(x))
            for k, alpha in enumerate(alphas)
        ]
    across = alt.X(
        "x:Q",
        title="time t" if timed else "epochs",
        scale=alt.Scale(domain=[0, float(x[-1])], nice=False),
        axis=alt.Axis(tickCount=5, grid=False, format="~g", labelFlush=False),
    )
    y = alt.Y(
        "mean:Q",
        title=TITLES[name] if paradigm == PARADIGMS[0] else None,
        axis=alt.Axis(tickCount=5, minExtent=24),
        scale=alt.Scale(domain=ends, nice=False),
    )
    title = f"{SETS[data]}, {label(paradigm)}"
    layers = _lines(across, y, [f"{alpha:g}" for alpha in alphas])
    return with_rows(
        alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=_headed(title)), rows
    )


def _lines(across: alt.X, y: alt.Y, names: Sequence[str]) -> list[alt.Chart]:
    scale = alt.Scale(domain=list(names), range=ramp(len(names)))
    legend = alt.Legend(
        title="α =", symbolType="stroke", symbolOpacity=1, columns=len(names), titleOrient="left"
    )
    paint = alt.Color("name:N", scale=scale, legend=legend)
    thin = alt.value([4, 3])
    return [
        alt.Chart()
        .transform_filter("isValid(datum.low)")
        .mark_area(opacity=0.18)
        .encode(
            x=across, y="low:Q", y2="high:Q", fill=alt.Fill("name:N", scale=scale, legend=legend)
        ),
        alt.Chart()
        .transform_filter("isValid(datum.mean)")
        .mark_line(strokeWidth=2.6)
        .encode(x=across, y=y, color=paint),
        alt.Chart()
        .transform_filter("isValid(datum.theory)")
        .mark_line(strokeWidth=1.1, color=INK)
        .encode(x=across, y="theory:Q", detail="name:N", strokeDash=thin),
    ]


def _banded(x: Array, values: Array, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Rows of mean and interval over seeds from values (T, K, S), one name for each of K."""
    for k, name in enumerate(names):
        for i, at in enumerate(x):
            mean, low, high = bootstrap(values[i, k], draws=DRAWS)
            ends = {"low": _neat(low), "high": _neat(high)}
            yield {"x": float(at), "mean": _neat(mean), **ends, "name": name}


def _neat(value: float | None) -> float | None:
    """To six digits after the point: a zero that rounding left at −1e-9 starts no axis below 0."""
    return None if value is None else round(value, 6) + 0.0


def _closed(record: Record, name: str, paradigm: Any, lr: float) -> Array:
    """Loss or incentive by Theorem 1 at the times of the record, shape (T, A)."""
    alphas, classes = alphas_of(record), record.meta["classes"]
    mu = exact_fixed(paradigm, elapsed(record, lr)[:, None], alphas, classes)
    return (losses if name == "set_loss" else incentive)(paradigm, mu, alphas, classes)


def _headed(text: str) -> alt.Title:
    """A panel's title, flush with its plot so that the titles of a row stand level."""
    return alt.Title(text, frame="group", fontSize=13)


def _profile(rows: Rows, title: str, y: str | None, alphas: Array) -> alt.LayerChart:
    """A line a paradigm over alpha, with its interval; dashed where a row has a ``limit``."""
    names = [label(p) for p in PARADIGMS]
    legend = alt.Legend(symbolType="stroke", columns=3)
    scale = alt.Scale(domain=names, range=[colour(p) for p in PARADIGMS])
    paint = alt.Color("name:N", scale=scale, legend=legend)
    across = alt.X(
        "x:Q",
        title="focus held at α",
        axis=alt.Axis(values=list(map(float, alphas)), grid=False, format="~g"),
        scale=alt.Scale(domain=[float(alphas[0]) - 0.03, float(alphas[-1]) + 0.03], nice=False),
    )
    dashes = alt.Scale(domain=names, range=[list(dash(p)) for p in PARADIGMS])
    ends = _ends(np.array([row["mean"] for row in rows] + [row.get("limit", 0.0) for row in rows]))
    up = alt.Y(
        "mean:Q",
        title=y,
        axis=alt.Axis(tickCount=5, minExtent=24),
        scale=alt.Scale(domain=ends, nice=False),
    )
    layers = [
        alt.Chart()
        .mark_line(strokeWidth=2)
        .encode(
            x=across,
            y=up,
            color=paint,
            strokeDash=alt.StrokeDash("name:N", scale=dashes, legend=legend),
        ),
        alt.Chart()
        .transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=2)
        .encode(x=across, y="low:Q", y2="high:Q", color=paint),
        alt.Chart().mark_point(filled=True, size=46, opacity=1).encode(x=across, y=up, color=paint),
        alt.Chart()
        .transform_filter("isValid(datum.limit)")
        .mark_tick(thickness=2, size=24, orient="horizontal")
        .encode(x=across, y="limit:Q", color=paint),
    ]
    chart = alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=_headed(title))
    return with_rows(chart, rows)


def _profile_rows(record: Record, name: str, share: float, rates: str = "equal") -> Rows:
    at, alphas = moment(record, share), alphas_of(record)
    values = [curve(record, name, p, rates)[at] for p in PARADIGMS]
    return list(_banded(alphas, np.stack(values, 1), [label(p) for p in PARADIGMS]))


def _loss_profile(sets: Records) -> alt.VConcatChart:
    rows = []
    for data, record in sets.items():
        alphas, titled = alphas_of(record), f"{SETS[data]}, "
        end = _profile_rows(record, "set_loss", 1.0)
        for row in end:
            paradigm = next(p for p in PARADIGMS if label(p) == row["name"])
            if paradigm != "soft" and row["x"] < 1:
                row["limit"] = float(limit(paradigm, np.array(row["x"]), record.meta["classes"]))
        early = _profile_rows(record, "set_loss", 0.1)
        panels = [
            _profile(early, f"{titled}a tenth of the way", TITLES["set_loss"], alphas),
            _profile(end, f"{titled}the end", None, alphas),
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


def _incentive_profile(sets: Records) -> alt.VConcatChart:
    rows = []
    for rates in RATES:
        panels = [
            _profile(
                _profile_rows(record, "incentive", 0.5, rates),
                f"{SETS[data]}, {rates if rates == 'equal' else 'authors’'} rates",
                TITLES["incentive"] if place == 0 else None,
                alphas_of(record),
            )
            for place, (data, record) in enumerate(sets.items())
        ]
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


def _theorem(records: Records) -> alt.HConcatChart:
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
        own = records["orthogonal"]
        t = elapsed(own, own.meta["rates"]["equal"]["soft"])
        worst = {p: 100 * np.abs(loss_errors(own, p).mean(2)).max(1) for p in PARADIGMS}
        rows = [
            {"x": float(t[i]), "y": float(values[i]), "name": label(p)}
            for p, values in worst.items()
            for i in range(len(t))
        ]
        title = f"{own.meta['n']:,} sampled bags"
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
    names = [label(p) for p in PARADIGMS]
    scale = alt.Scale(type="log", nice=False) if logs else alt.Scale(nice=False)
    ticks: dict[str, Any] = (
        {"values": sorted({row["x"] for row in rows}), "format": "~g"}
        if logs
        else {"tickCount": 6, "format": "~g"}
    )
    across = alt.X("x:Q", title=x, scale=scale, axis=alt.Axis(grid=False, **ticks))
    height = alt.Scale(type="log", nice=False, padding=8) if logs else alt.Scale(zero=True)
    decades: dict[str, Any] = {"values": [0.1, 0.2, 0.5, 1, 2, 5, 10, 20], "format": "~g"}
    up = alt.Y("y:Q", title=y, scale=height, axis=alt.Axis(**(decades if logs else {})))
    legend = alt.Legend(symbolType="stroke", columns=3)
    paint = alt.Color(
        "name:N", scale=alt.Scale(domain=names, range=[colour(p) for p in PARADIGMS]), legend=legend
    )
    dashes = alt.StrokeDash(
        "name:N",
        scale=alt.Scale(domain=names, range=[list(dash(p)) for p in PARADIGMS]),
        legend=legend,
    )
    line = alt.Chart().mark_line(strokeWidth=2, point=logs)
    chart = alt.layer(line.encode(x=across, y=up, color=paint, strokeDash=dashes))
    return with_rows(chart.properties(width=320, height=220, title=_headed(title)), rows)
