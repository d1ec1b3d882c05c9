"""Figures of the translation experiment, drawn from its records."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from foveate.charts.lines import name_colours
from foveate.charts.render import with_rows
from foveate.jobs.experiment import Records
from foveate.records.record import Record
from foveate.studies.snell21.translation.alignment import ITERATIONS, SCORES
from foveate.studies.snell21.translation.findings import over_pairs, random_of
from foveate.studies.snell21.translation.matrices import TITLES, example_tables, over_training

__all__ = ["figures"]

Rows = list[dict[str, Any]]

BLUE, ORANGE, GREEN, PINK, INK, GREY = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7"),
    *("#1b1f24", "#767676"),
)
MEASURE_COLOURS = {
    "attention α": BLUE,
    "word knowledge β": ORANGE,
    "influence Δ, at the end": GREEN,
    "IBM-1, 1 iteration": GREY,
    f"IBM-1, {ITERATIONS[-1]} iterations": INK,
    "diagonal": PINK,
}
AGREEMENT_NAMES = {"opt_beta": "A(α_opt, β)", "opt_alpha": "A(α_opt, α)", "alpha_beta": "A(α, β)"}
LOSSES = {"loss_uniform": "uniform attention", "loss_alpha": "the model's α", "loss_opt": "α_opt"}
LINES = [BLUE, ORANGE, GREEN]


def figures(_: object, records: Records) -> Mapping[str, Any]:
    """Optimal attention over training and in an example; alignment error; alignment matrices."""
    linear = records["readout-linear"]
    aligned = {name: r for name, r in records.items() if name.startswith("align-")}
    charts: dict[str, Any] = {
        "optimum": _optimum(linear),
        "example": example_tables(linear),
        "readouts": _readouts(records),
    }
    if aligned:
        charts["alignment"] = _alignment(aligned)
        charts["matrices"] = over_training(aligned)
    return charts


def _steps() -> alt.X:
    """An axis of steps on a scale that is linear near 0 and logarithmic above."""
    scale = alt.Scale(type="symlog", constant=50)
    return alt.X("x:Q", title="steps", scale=scale, axis=alt.Axis(values=TICKS, format="~s"))


TICKS = [0, 50, 100, 200, 400, 800, 2000, 5000, 10_000, 36_000]


def _optimum(record: Record) -> alt.HConcatChart:
    """Agreement of α_opt, and the loss under three attentions, over training."""
    words = np.array(record.meta["lengths"])[:, 1]
    left = _banded(record, AGREEMENT_NAMES, words, "agreement, share of words", [0, 1])
    once = with_rows(alt.Chart(), [{"y": random_of(record)}])
    chance = once.mark_rule(color=GREY, strokeDash=[4, 4]).encode(y="y:Q")
    note = once.mark_text(align="right", dy=-7, dx=-4, color=GREY, text="random level")
    level = note.encode(y="y:Q", x=alt.value(WIDTH))
    left = (left + chance + level).properties(title="Where the best attention is", width=WIDTH)
    right = _banded(record, LOSSES, words, "loss, nats a word", None)
    right = right.properties(title="What it would gain", width=WIDTH)
    both = alt.hconcat(left, right).resolve_scale(color="independent")
    return both.properties(description="Agreement and loss of optimal attention over training.")


WIDTH = 360


def _banded(
    record: Record,
    names: Mapping[str, str],
    words: NDArray[np.int64],
    title: str,
    domain: Sequence[float] | None,
) -> alt.LayerChart:
    """Lines over steps with 95 % intervals over sentence pairs, seeds averaged."""
    rows: Rows = []
    for key, name in names.items():
        for step, values in zip(record.t, record.values[key], strict=True):
            mean, low, high = over_pairs(values.mean(0), words)
            ends = {"low": mean if low is None else low, "high": mean if high is None else high}
            rows.append({"x": int(step), "y": mean, "name": name, **ends})
    scale = alt.Scale(domain=list(domain)) if domain else alt.Scale(zero=False)
    colour_encoding = name_colours(dict(zip(names.values(), LINES, strict=False)))
    band = (
        alt.Chart()
        .mark_area(opacity=0.16)
        .encode(x=_steps(), y="low:Q", y2="high:Q", color=colour_encoding)
    )
    y_axis = alt.Y("y:Q", title=title, scale=scale)
    line = (
        alt.Chart()
        .mark_line(strokeWidth=2, point=True)
        .encode(x=_steps(), y=y_axis, color=colour_encoding)
    )
    return with_rows((band + line).properties(height=230), rows)


def _readouts(records: Records) -> alt.HConcatChart:
    """Loss and token accuracy of both readouts on validation pairs; BLEU in the legend."""
    names = {
        readout: f"{label} (BLEU {float(records[f'readout-{readout}'].last('bleu').mean()):.1f})"
        for readout, label in (("linear", "linear readout"), ("relu", "ReLU readout"))
    }
    charts = []
    for key, title in (("loss", "loss, nats a word"), ("accuracy", "token accuracy")):
        rows: Rows = [
            {"x": int(step), "y": float(value), "name": name, "seed": seed}
            for readout, name in names.items()
            for step, values in zip(
                records[f"readout-{readout}"].t,
                records[f"readout-{readout}"].values[key],
                strict=True,
            )
            for seed, value in enumerate(values)
        ]
        line = alt.Chart().mark_line(strokeWidth=2, point=True)
        y = alt.Y("y:Q", title=title, scale=alt.Scale(zero=False))
        colour = name_colours(dict(zip(names.values(), [GREEN, BLUE], strict=True)))
        chart = line.encode(x=_steps(), y=y, color=colour, detail="seed:N")
        charts.append(with_rows(chart.properties(width=WIDTH, height=200), rows))
    return alt.hconcat(*charts).properties(
        description="Loss and token accuracy of both readouts over training."
    )


def _alignment(records: Records) -> alt.VConcatChart:
    """AER, precision and recall over steps; IBM Model 1 and the diagonal as level lines."""
    rows = [
        alt.hconcat(*(_scores(record, k) for k in range(len(SCORES)))).properties(
            title=_title(record)
        )
        for record in records.values()
    ]
    return alt.vconcat(*rows).properties(
        description="Alignment error, precision and recall over training, beside IBM Model 1."
    )


def _title(record: Record) -> str:
    name = TITLES.get(record.meta["data"], record.meta["data"])
    return f"{name}: {record.meta['pairs']:,} pairs read, {record.meta['scored']} scored"


def _scores(record: Record, score: int) -> alt.LayerChart:
    names, colours = list(MEASURE_COLOURS), list(MEASURE_COLOURS.values())
    rows: Rows = []
    for key, name in zip(("attention", "evidence", "influence"), names, strict=False):
        mean = record.values[key][:, :, score].mean(1)
        rows += [
            {"x": int(step), "y": float(value), "name": name, "kind": key}
            for step, value in zip(record.t, mean, strict=True)
            if np.isfinite(value)
        ]
    ibm1 = record.final["ibm1"][0, :, score]
    for name, value in zip(
        names[3:], (ibm1[0], ibm1[-1], record.final["diagonal"][0, score]), strict=True
    ):
        rows += [
            {"x": int(step), "y": float(value), "name": name, "kind": "level"}
            for step in record.t[[0, -1]]
        ]
    x, y = _steps(), alt.Y("y:Q", title=SCORES[score], scale=alt.Scale(domain=[0, 1]))
    dashes = alt.Scale(domain=names, range=[[1, 0]] * 3 + [[6, 3]] * 3)
    dash = alt.StrokeDash("name:N", scale=dashes)
    colour = name_colours(dict(zip(names, colours, strict=True)))
    lines = alt.Chart().mark_line(strokeWidth=2).encode(x=x, y=y, color=colour, strokeDash=dash)
    own_models = alt.Chart().transform_filter("datum.kind != 'level'")
    points = own_models.mark_point(filled=True, size=30, opacity=1).encode(x=x, y=y, color=colour)
    return with_rows((lines + points).properties(width=205, height=170), rows)
