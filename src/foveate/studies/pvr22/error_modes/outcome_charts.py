"""Outcome of every start, its initial weights, and predictors of the outcome."""

from typing import Any

import altair as alt
import numpy as np

from foveate.charts.palette import TEXT_COLOUR
from foveate.charts.render import with_rows
from foveate.jobs.experiment import Records
from foveate.records.record import Record
from foveate.studies.pvr22.error_modes import BOXES, ErrorModeSettings
from foveate.studies.pvr22.error_modes.colours import (
    END_COLOURS,
    END_SHAPES,
    MODE_COLOURS,
    MODE_SHAPES,
)
from foveate.studies.pvr22.error_modes.outcome import accurate, misfocused
from foveate.studies.pvr22.error_modes.prediction import angle, predict_error_mode
from foveate.studies.pvr22.error_modes.statistics import as_row

__all__ = ["angles", "outcomes", "prediction_chart"]


def outcomes(records: Records) -> alt.HConcatChart:
    """Number of random starts by final accuracy and FT; the authors' weights are outlined."""
    panels, texts = [], []
    x, y = _percent(alt.X, "x", "accuracy, %"), _percent(alt.Y, "y", "FT, %")
    for k in BOXES:
        record, authors = records[f"mode-{k}-starts"], records[f"mode-{k}-authors"]
        total = len(record.last("ft"))
        rows = _start_counts(record, authors, total)
        blues = alt.Scale(type="sqrt", domain=[0, total], range=["#f1f6fb", "#9ecae1", "#08519c"])
        base = alt.Chart().encode(x=x, y=y, x2="x2:Q", y2="y2:Q")
        ground = base.transform_filter("datum.count > 0").mark_rect(stroke="white")
        outline = base.transform_filter("datum.authors").mark_rect(
            fillOpacity=0, stroke="#D55E00", strokeWidth=2.5
        )
        middle = alt.Chart().transform_filter("datum.count > 0").mark_text(fontSize=11)
        text = middle.encode(
            x=alt.X("middle_x:Q"),
            y=alt.Y("middle_y:Q"),
            text="count:Q",
            color=alt.Color("ink:N", scale=None),
        )
        fill = alt.Fill("count:Q", scale=blues, legend=None)
        subtitle = f"{total} random starts; outlined: the authors'"
        chart = alt.layer(ground.encode(fill=fill), outline, text).properties(
            width=212, height=212, title=alt.Title(f"Mode {k}", subtitle=subtitle)
        )
        panels.append(with_rows(chart, rows))
        texts.append(
            f"mode {k}: {100 * misfocused(record).mean():.0f} % accurate but looking elsewhere"
        )
    return alt.hconcat(*panels).properties(
        description="Number of random starts by accuracy and FT at the end of training. "
        + "; ".join(texts)
    )


def _start_counts(record: Record, authors: Record, total: int) -> list[dict[str, Any]]:
    """Cells of ten percent by ten, the last ones closed: how many starts end in each."""
    edges = np.linspace(0, 1, 11)
    counts, _, _ = np.histogram2d(record.last("accuracy"), record.last("ft"), [edges, edges])
    author_counts, _, _ = np.histogram2d(
        authors.last("accuracy"), authors.last("ft"), [edges, edges]
    )
    return [
        {
            "x": 10 * a,
            "x2": 10 * a + 10,
            "y": 10 * b,
            "y2": 10 * b + 10,
            "middle_x": 10 * a + 5,
            "middle_y": 10 * b + 5,
            "count": int(count),
            "authors": bool(author_counts[a, b] == author_counts.max()),
            "ink": "white" if count > 0.4 * total else TEXT_COLOUR,
        }
        for (a, b), count in np.ndenumerate(counts)
    ]


def angles(settings: ErrorModeSettings, records: Records) -> alt.VConcatChart:
    """Final FT against the direction of the initial focus; the line is the FT it starts with."""
    panels = []
    x = alt.X(
        "angle:Q",
        title="direction of f's initial weights, degrees from the first axis to the second",
        scale=alt.Scale(domain=[-180, 180], nice=False),
        axis=alt.Axis(values=list(range(-180, 181, 45))),
    )
    y = _percent(alt.Y, "ft", "FT, %", -4, 108)
    exact = records["linear-focus"].final
    for k in BOXES:
        record, authors = records[f"mode-{k}-starts"], records[f"mode-{k}-authors"]
        start_angles, ft = angle(record.final["f_w0"]), record.last("ft")
        size = np.linalg.norm(record.final["f_w0"], axis=1)
        rows = [
            {"angle": float(a), "ft": 100 * float(b), "end": end, "size": float(c)}
            for a, b, end, c in zip(start_angles, ft, _ends(record), size, strict=True)
        ]
        line = [
            {"angle": float(a), "ft": 100 * float(b)}
            for a, b in zip(exact["angle"][0], exact["ft"][0, k - 1], strict=True)
        ]
        start = [{"angle": float(angle(authors.final["f_w0"])[0]), "ft": _mean(authors, "ft")}]
        scale = alt.Scale(domain=[0, 1], range=[8, 90])
        layers = [
            with_rows(
                alt.Chart().mark_line(color="#9aa1a8", strokeWidth=1.5).encode(x=x, y=y), line
            ),
            with_rows(
                alt.Chart()
                .mark_point(filled=True, opacity=0.75)
                .encode(x=x, y=y, size=alt.Size("size:Q", scale=scale, legend=None), **_by_end()),
                rows,
            ),
            with_rows(
                alt.Chart()
                .mark_point(shape="cross", size=150, color=TEXT_COLOUR, strokeWidth=2, angle=45)
                .encode(x=x, y=y),
                start,
            ),
        ]
        title = alt.Title(
            f"Mode {k}: FT at the end, by where the focus started",
            subtitle="line: the FT it started with; larger points: larger weights; × the authors'",
        )
        panels.append(alt.layer(*layers).properties(width=700, height=170, title=title))
    return (
        alt.vconcat(*panels)
        .resolve_scale(color="shared", shape="shared", size="shared")
        .properties(description="Final FT of every random start against its initial direction.")
    )


def prediction_chart(settings: ErrorModeSettings, records: Records) -> Any:
    """AUC of each predictor of the error mode, with its interval."""
    rows: list[dict[str, Any]] = []
    for k, boxes in BOXES.items():
        outcomes = predict_error_mode(boxes, records[f"mode-{k}-starts"], settings.m)
        rows += [
            {"what": name, "mode": f"mode {k}", **as_row(power)}
            for name, power in outcomes.power.items()
        ]
    x = alt.X(
        "mean:Q",
        title="chance that a start that falls ranks above one that does not (AUC)",
        scale=alt.Scale(domain=[0, 1]),
    )
    y = alt.Y("what:N", title=None, sort=None, axis=alt.Axis(labelLimit=300))
    names = list(dict.fromkeys(row["what"] for row in rows))
    chart = _dots_with_ends(x, y).properties(
        width=480,
        height=max(60, 54 * len(names)),
        title="Predictors of the mode among initial weights",
        description="How well initial weights predict the mode (AUC): "
        + "; ".join(f"{r['mode']}, {r['what']}: {r['mean']:.2f}" for r in rows),
    )
    return with_rows(chart, rows)


def _dots_with_ends(x: alt.X, y: alt.Y) -> Any:
    """Points with intervals, one row a mode within each band; a line at chance."""
    legend = alt.Legend(columns=3)
    colour_encoding = alt.Color(
        "mode:N",
        scale=alt.Scale(domain=list(MODE_COLOURS), range=list(MODE_COLOURS.values())),
        legend=legend,
    )
    shift = alt.YOffset("mode:N", scale=alt.Scale(domain=list(MODE_COLOURS)))
    base = alt.Chart().encode(y=y, yOffset=shift, color=colour_encoding)
    bars = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q"), x2="high:Q")
    shape = alt.Shape(
        "mode:N",
        scale=alt.Scale(domain=list(MODE_COLOURS), range=list(MODE_SHAPES)),
        legend=legend,
    )
    dots = base.mark_point(filled=True, size=80, opacity=1).encode(x=x, shape=shape)
    chance = alt.Chart().mark_rule(strokeDash=[4, 3], color="#6b7278").encode(x=alt.datum(0.5))
    return alt.layer(chance, bars, dots)


def _ends(record: Record) -> list[str]:
    names = list(END_COLOURS)
    return [
        names[2] if not correct else names[1] if wrong_focus else names[0]
        for correct, wrong_focus in zip(accurate(record), misfocused(record), strict=True)
    ]


def _by_end(field: str = "end") -> dict[str, Any]:
    """Colour and shape by how a training ends."""
    legend = alt.Legend(columns=3, labelLimit=220)
    colours = alt.Scale(domain=list(END_COLOURS), range=list(END_COLOURS.values()))
    shapes = alt.Scale(domain=list(END_COLOURS), range=list(END_SHAPES))
    return {
        "color": alt.Color(f"{field}:N", scale=colours, legend=legend),
        "shape": alt.Shape(f"{field}:N", scale=shapes, legend=legend),
    }


def _percent(kind: Any, field: str, title: str, low: float = 0, high: float = 100) -> Any:
    """An axis of percent."""
    scale = alt.Scale(domain=[low, high], nice=False)
    return kind(
        f"{field}:Q", title=title, scale=scale, axis=alt.Axis(values=list(range(0, 101, 20)))
    )


def _mean(record: Record, name: str) -> float:
    return 100 * float(record.last(name).mean())
