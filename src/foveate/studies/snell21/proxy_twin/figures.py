"""Figures of the proxy and logistic regression: minima, training, agreement. [snell21] A.10"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from foveate.charts.lines import band_chart, name_colours
from foveate.charts.render import with_rows
from foveate.jobs.experiment import Records
from foveate.metrics.intervals import mean_interval
from foveate.records.record import Record
from foveate.studies.snell21.agreement.comparison import FAIR, REPORTING
from foveate.studies.snell21.agreement.published import title
from foveate.studies.snell21.proxy_twin.findings import chosen_strength

__all__ = ["figures"]

BLUE, ORANGE = "#0072B2", "#D55E00"


def figures(_: object, records: Records) -> Mapping[str, Any]:
    """Gaps at the minima; correlation by epoch and C; A(β_uf, β_px) beside A(β_uf, β_log)."""
    texts = {title(n): r for n, r in records.items() if r.meta["kind"] == "texts"}
    weights = [_path(record, name) for name, record in texts.items()]
    table = [_curves(record, name) for name, record in texts.items()]
    return {
        "minima": _minima(records["minima"]),
        "weights": _grid(
            weights, "Correlation of word weights: proxy by epoch, regression by strength."
        ),
        "agreement": _grid(
            table, "Agreement of word knowledge with the proxy and with the regression."
        ),
    }


def _grid(charts: Sequence[alt.LayerChart], description: str) -> alt.VConcatChart:
    rows = [alt.hconcat(*charts[k : k + 2]) for k in range(0, len(charts), 2)]
    return alt.vconcat(*rows).properties(description=description)


def _minima(record: Record) -> alt.Chart:
    rows = [
        {"x": f"{share:g}", "y": max(float(gap), 1e-12)}
        for share, gaps in zip(record.t, record.values["gap"], strict=True)
        for gap in gaps
    ]
    chart = (
        alt.Chart()
        .mark_point(size=50, strokeWidth=1.6, color=BLUE)
        .encode(
            x=alt.X(
                "x:N",
                title="penalty on the factors, as a share of λ_max (from 1 on the proxy is 0)",
                sort=[f"{share:g}" for share in record.t],
                axis=alt.Axis(labelAngle=0),
            ),
            y=alt.Y(
                "y:Q",
                title="relative difference of weights",
                scale=alt.Scale(type="log", domain=[1e-12, 1], clamp=True),
                axis=alt.Axis(format=".0e", values=[1e-12, 1e-9, 1e-6, 1e-3, 1]),
            ),
        )
        .properties(
            width=520,
            height=220,
            title=alt.Title(
                "Proxy and logistic regression at their minima",
                subtitle="one circle a corpus; ridge strength from theory; 1e-12 and less at the "
                "bottom; beyond λ_max the norm of the proxy's weights",
            ),
            description="Relative difference of word weights between the two minima.",
        )
    )
    return with_rows(chart, rows)


def _path(record: Record, name: str) -> alt.LayerChart:
    """The correlation of every epoch with every C; a frame around the C that was chosen."""
    values = record.final["correlation"].mean(0)  # (epochs, strengths)
    strengths = [
        f"{c:.0e}".replace("e-0", "e-").replace("e+0", "e") for c in record.meta["strengths"]
    ]
    rows = [
        {"x": strengths[c], "epoch": e + 1, "y": float(values[e, c])}
        for e in range(values.shape[0])
        for c in range(values.shape[1])
    ]
    low = float(np.floor(values.min() * 10) / 10)
    best = strengths[chosen_strength(record)]
    x = alt.X("x:N", title="strength C of the regression", sort=strengths)
    cells = (
        alt.Chart()
        .mark_rect()
        .encode(
            x=x,
            y=alt.Y("epoch:O", title="epochs of the proxy", axis=_epochs(values.shape[0])),
            color=alt.Color(
                "y:Q",
                title="correlation",
                scale=alt.Scale(domain=[low, 1], range=["#ffffff", BLUE], interpolate="rgb"),
                legend=alt.Legend(orient="right", gradientLength=150, title="correlation"),
            ),
        )
    )
    frame = (
        alt.Chart()
        .mark_rect(filled=False, stroke=ORANGE, strokeWidth=1.6)
        .encode(x=x)
        .transform_filter(f"datum.x === '{best}' && datum.epoch === 1")
    )
    heading = alt.Title(name, subtitle=f"orange: C = {best}, chosen by validation accuracy")
    return with_rows((cells + frame).properties(width=230, height=230, title=heading), rows)


def _epochs(count: int) -> alt.Axis:
    step = max(1, count // 10)
    return alt.Axis(values=[1, *range(step, count + 1, step)])


def _curves(record: Record, name: str) -> alt.LayerChart:
    """A(β_uf(τ), β_px) and A(β_uf(τ), β_log) over the readers' training. [snell21] Table 10"""
    rows = []
    for key, label in (("uf_px", "A(β_uf, β_px)"), ("uf_log", "A(β_uf, β_log)")):
        for i, step in enumerate(record.t):
            mean, low, high = mean_interval(record.values[key][i, :, REPORTING, FAIR])
            ends = {"low": mean if low is None else low, "high": mean if high is None else high}
            rows.append({"x": int(step), "y": mean, "name": label, **ends})
    colours = name_colours({"A(β_uf, β_px)": BLUE, "A(β_uf, β_log)": ORANGE}, columns=2)
    x = alt.X("x:Q", title="steps of the uniform model", scale=alt.Scale(nice=False))
    y = alt.Y("y:Q", title="agreement, fair ties", scale=alt.Scale(domain=[0, 1]))
    return band_chart(rows, x, y, colours, width=240, height=180, title=name)
