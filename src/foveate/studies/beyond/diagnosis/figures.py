"""Figures of the diagnosis experiment: forecasts against results."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np

from foveate.charts.lines import name_colours
from foveate.charts.render import with_rows
from foveate.jobs.experiment import Records
from foveate.metrics.intervals import Interval
from foveate.studies.beyond.diagnosis.ranking import ranking, steps_to_learn, trained

if TYPE_CHECKING:
    from foveate.studies.beyond.diagnosis import DiagnosisSettings

__all__ = ["figures"]

FORECAST_COLOURS = {"unlikely": "#D55E00", "may be": "#E69F00", "likely": "#0072B2"}
LINES = ("#D55E00", "#CC79A7", "#E69F00", "#56B4E9", "#0072B2", "#009E73", "#332288", "#1b1f24")
WIDTH, HIGH = 420, 250


def figures(settings: "DiagnosisSettings", records: Records) -> Mapping[str, Any]:
    """Information against steps to learn; accuracy over steps."""
    return {"ranking": _ranking(settings, records), "curves": _curves(records)}


def _ranking(settings: "DiagnosisSettings", records: Records) -> Any:
    """A point per condition, a small one per seed; conditions not learnt are at the top."""
    top = 1.12 * settings.steps
    points, seeds = [], []
    for name, steps in steps_to_learn(settings, records).items():
        record, learnt = records[name], np.isfinite(steps)
        same = {"x": float(record.final["information"][0]), "said": record.meta["said"]}
        plotted = np.where(learnt, steps, top)
        low, middle, high = np.quantile(plotted, [0.25, 0.5, 0.75])
        label = f"{name} ({int(learnt.sum())} of {len(steps)})"
        ends = {"low": float(low), "high": float(high)}
        points.append({**same, **ends, "y": float(middle), "name": label})
        seeds += [{**same, "y": float(y)} for y in plotted]
    speed, success, most = ranking(settings, records)
    heading = [
        f"Spearman's ρ of information with speed {_words(speed)},",
        f"with the share of seeds that learn {_words(success)} (ties allow {most:.2f} at most)",
    ]
    return alt.layer(*_layers(settings, points, seeds, top)).properties(
        width=WIDTH,
        height=HIGH,
        title={"text": "Said before training, and what became of it", "subtitle": heading},
        description="Information within sentences by condition against the steps to learn it.",
    )


def _layers(
    settings: "DiagnosisSettings",
    points: list[dict[str, Any]],
    seeds: list[dict[str, Any]],
    top: float,
) -> list[Any]:
    x = alt.X(
        "x:Q",
        title="information within a sentence before training, nats a word (fourth-root scale)",
        scale=alt.Scale(type="pow", exponent=0.25, domainMin=0, nice=False, padding=12),
        axis=alt.Axis(values=[0, 1e-4, 1e-3, 1e-2, 1e-1], format="~g"),
    )
    y = alt.Y(
        "y:Q",
        title=f"steps until {100 * settings.learnt:.0f} % of words are right",
        scale=alt.Scale(domain=[0, 1.2 * settings.steps], nice=False),
        axis=alt.Axis(
            values=[*np.linspace(0, settings.steps, 6).round().tolist(), top],
            labelExpr=f"datum.value > {settings.steps} ? 'not learnt' : datum.value",
        ),
    )
    colour_encoding = alt.Color(
        "said:N",
        scale=alt.Scale(domain=list(FORECAST_COLOURS), range=list(FORECAST_COLOURS.values())),
        legend=alt.Legend(
            title="the diagnosis said", columns=3, titleOrient="left", symbolOpacity=1
        ),
    )
    points_layer = (
        alt.Chart().mark_point(size=18, opacity=0.5).encode(x=x, y=y, color=colour_encoding)
    )
    rule = (
        alt.Chart()
        .mark_rule(strokeWidth=2)
        .encode(x=x, y="low:Q", y2="high:Q", color=colour_encoding)
    )
    dot = (
        alt.Chart()
        .mark_point(filled=True, size=90, opacity=1)
        .encode(x=x, y=y, color=colour_encoding)
    )
    return [
        with_rows(points_layer, seeds),
        with_rows(rule, points),
        with_rows(dot, points),
        *_names(x, _with_columns(points), top),
    ]


def _names(x: alt.X, labels: list[dict[str, Any]], top: float) -> list[alt.Chart]:
    """Rotated, so that labels do not overlap; horizontal at the top edge."""
    rotated_text = alt.Chart().mark_text(align="left", angle=330, dx=8, dy=-5)
    level = alt.Chart().mark_text(align="left", dx=9)
    kinds = (
        (rotated_text, [r for r in labels if r["y"] < top]),
        (level, [r for r in labels if r["y"] >= top]),
    )
    return [
        with_rows(kind.encode(x=x, y="y:Q", text="name:N"), rows) for kind, rows in kinds if rows
    ]


def _with_columns(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One label for points at the same position."""
    labels: dict[tuple[float, float], dict[str, Any]] = {}
    for point in points:
        point_key = (round(point["x"], 9), point["y"])
        same = labels.get(point_key)
        labels[point_key] = {**point, "name": f"{same['name']}, {point['name']}"} if same else point
    return list(labels.values())


def _words(value: Interval) -> str:
    if value.low is None or value.high is None:
        return f"{value.mean:.2f}"
    return f"{value.mean:.2f} [{value.low:.2f}, {value.high:.2f}]"


def _curves(records: Records) -> alt.Chart:
    """The median of accuracy over steps; a seed that has stopped keeps its last value."""
    rows = []
    for name, record in trained(records).items():
        accuracy = record.values["accuracy"].copy()
        for i in range(1, len(accuracy)):
            accuracy[i] = np.where(np.isnan(accuracy[i]), accuracy[i - 1], accuracy[i])
        rows += [
            {"x": int(step), "y": float(y), "name": name}
            for step, y in zip(record.t, np.median(accuracy, 1), strict=True)
        ]
    colours = {name: LINES[k % len(LINES)] for k, name in enumerate(trained(records))}
    chart = (
        alt.Chart()
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("x:Q", title="steps"),
            y=alt.Y("y:Q", title="accuracy, median over seeds", scale=alt.Scale(domain=[0, 1])),
            color=name_colours(colours, columns=4),
        )
        .properties(width=WIDTH, height=HIGH, description="Accuracy over steps, by condition.")
    )
    return with_rows(chart, rows)
