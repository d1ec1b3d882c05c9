"""Charts of a fit: calibration curve and confusion matrix."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from foveate.charts.palette import CELL_TEXT_COLOUR
from foveate.charts.render import with_rows
from foveate.records.record import Array

__all__ = ["calibration_chart", "confusion_chart"]

BINS = 10
BEFORE, AFTER = "before calibration", "after"


def calibration_chart(p: Array, scaled: Array, y: Array) -> alt.LayerChart:
    """Observed accuracy against the predicted probability.

    Args:
        p: Predicted probabilities, shape (n, C).
        scaled: The same at the fitted temperature.
        y: Labels, shape (n,).
    """
    rows = [
        {"kind": kind, **row}
        for kind, probabilities in ((BEFORE, p), (AFTER, scaled))
        for row in _bins(probabilities, y)
    ]
    across = alt.X("confidence:Q", title="predicted probability", scale=alt.Scale(domain=[0, 1]))
    up = alt.Y("correct:Q", title="share correct", scale=alt.Scale(domain=[0, 1]))
    color = alt.Color(
        "kind:N", scale=alt.Scale(domain=[BEFORE, AFTER], range=["#8a9299", "#263340"])
    )
    shape = alt.Shape("kind:N", scale=alt.Scale(domain=[BEFORE, AFTER], range=["square", "circle"]))
    points = alt.Chart().mark_point(filled=True, opacity=0.9).encode(
        x=across, y=up, color=color, shape=shape,
        size=alt.Size("bags:Q", legend=None, scale=alt.Scale(range=[40, 320])),
    )  # fmt: skip
    lines = alt.Chart().mark_line(strokeWidth=1.4).encode(x=across, y=up, color=color)
    diagonal = (
        alt.Chart(alt.Data(values=[{"x": 0, "y": 0}, {"x": 1, "y": 1}]))
        .mark_line(strokeDash=[4, 4], color="#6b7278", strokeWidth=1)
        .encode(x=alt.X("x:Q"), y=alt.Y("y:Q"))
    )
    text = "; ".join(
        f"{row['kind']}, {row['confidence']:.2f}: {row['correct']:.2f} of {row['bags']}"
        for row in rows
    )
    return with_rows(
        alt.layer(diagonal, lines, points).properties(
            width=262, height=230, description=f"Share right by predicted probability. {text}."
        ),
        rows,
    )


def _bins(p: Array, y: Array) -> list[dict[str, Any]]:
    confidence, correct = p.max(1), p.argmax(1) == y
    index = np.minimum((confidence * BINS).astype(int), BINS - 1)
    return [
        {
            "confidence": float(confidence[index == b].mean()),
            "correct": float(correct[index == b].mean()),
            "bags": int((index == b).sum()),
        }
        for b in np.unique(index)
    ]


def confusion_chart(p: Array, y: Array, classes: Sequence[str]) -> alt.LayerChart:
    """Number of bags by true class (rows) and prediction (columns), shaded by share of the row.

    Args:
        p: Probabilities, shape (n, C).
        y: Labels, shape (n,).
        classes: Names of the classes.
    """
    predictions = p.argmax(1)
    rows = []
    for truth, name in enumerate(classes):
        of = int((y == truth).sum())
        for predicted, other in enumerate(classes):
            count = int(((y == truth) & (predictions == predicted)).sum())
            rows.append(
                {"truth": name, "prediction": other, "bags": count, "share": count / max(of, 1)}
            )
    across = alt.X(
        "prediction:N", title="prediction", sort=list(classes), axis=alt.Axis(labelAngle=-30)
    )
    down = alt.Y("truth:N", title="true class", sort=list(classes))
    colour_encoding = alt.Color(
        "share:Q",
        legend=None,
        scale=alt.Scale(domain=[0, 1], range=["#ffffff", "#4a5b6c"], interpolate="rgb"),
    )
    ink = alt.condition("datum.share > 0.55", alt.value("#ffffff"), alt.value(CELL_TEXT_COLOUR))
    cells = alt.Chart().mark_rect(stroke="#d5d8dc").encode(x=across, y=down, color=colour_encoding)
    numbers = alt.Chart().mark_text(fontSize=13).encode(
        x=across, y=down, text=alt.Text("bags:Q"), color=ink
    )  # fmt: skip
    side = min(44, max(18, 360 // len(classes))) * len(classes)
    words = "; ".join(
        f"true class {r['truth']}, predicted {r['prediction']}: {r['bags']}"
        for r in rows
        if r["bags"]
    )
    chart = alt.layer(cells, numbers).properties(width=side, height=side, description=words)
    return with_rows(chart, rows)
