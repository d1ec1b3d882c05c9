"""Figures of the copy tasks: accuracy of every seed, and the order of learning. [snell21]"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from foveate.charts.lines import band_chart, name_colours
from foveate.charts.render import with_rows
from foveate.jobs.experiment import Records
from foveate.records.record import Record

__all__ = ["TITLES", "figures", "quantile_chart", "seed_curves"]

TITLES = {
    "permutation": "Permutations of 40",
    "subset": "40 drawn from 60",
    "mixture": "Two sets of permutations",
    "permutation-function": "Permutation function",
}
COLOURS = {
    "permutation": "#D55E00",
    "subset": "#0072B2",
    "mixture": "#E69F00",
    "permutation-function": "#CC79A7",
}
SERIES = {
    "knows": ("β is largest at the word to copy", "#D55E00"),
    "on": ("α on the word to copy", "#0072B2"),
    "accuracy": ("accuracy", "#1b1f24"),
}


def figures(_: object, records: Records) -> Mapping[str, Any]:
    """Accuracy by seed (Figure 2, left and middle), and the order of learning within a task."""
    curves = [seed_curves(records[kind], title, COLOURS[kind]) for kind, title in TITLES.items()]
    order = [quantile_chart(records[kind], title) for kind, title in TITLES.items()]
    return {
        "curves": _grid(curves, "Accuracy over steps for every seed, by task."),
        "order": _grid(order, "Word knowledge, attention and accuracy over steps, medians."),
    }


def _grid(charts: Sequence[alt.Chart | alt.LayerChart], description: str) -> alt.VConcatChart:
    rows = [alt.hconcat(*charts[k : k + 2]) for k in range(0, len(charts), 2)]
    return alt.vconcat(*rows).properties(description=description)


def seed_curves(record: Record, title: str, line_colour: str, noun: str = "seeds") -> alt.Chart:
    """One thin line per seed: accuracy on held-out sequences over steps."""
    accuracy = record.values["accuracy"]
    rows = [
        {"x": int(step), "y": float(accuracy[i, k]), "seed": k}
        for k in range(accuracy.shape[1])
        for i, step in enumerate(record.t)
        if np.isfinite(accuracy[i, k])
    ]
    chart = (
        alt.Chart()
        .mark_line(strokeWidth=1.2, opacity=0.75, color=line_colour)
        .encode(
            x=alt.X("x:Q", title="steps"),
            y=alt.Y("y:Q", title="accuracy", scale=alt.Scale(domain=[0, 1])),
            detail="seed:N",
        )
        .properties(width=360, height=170, title=f"{title} ({accuracy.shape[1]} {noun})")
    )
    return with_rows(chart, rows)


def quantile_chart(
    record: Record, title: str, quantiles: tuple[float, float, float] = (0.25, 0.5, 0.75)
) -> alt.LayerChart:
    """Accuracy, attention and probe over steps: the middle quantile over seeds, with a band."""
    rows = []
    for key, (name, _) in SERIES.items():
        low, middle, high = np.nanquantile(record.values[key], quantiles, axis=1)
        rows += [
            {"x": int(t), "y": float(m), "low": float(lo), "high": float(hi), "name": name}
            for t, lo, m, hi in zip(record.t, low, middle, high, strict=True)
        ]
    x = alt.X("x:Q", title="steps")
    y = alt.Y("y:Q", title="share of positions", scale=alt.Scale(domain=[0, 1]))
    colours = name_colours(dict(SERIES.values()))
    return band_chart(rows, x, y, colours, width=360, height=170, title=title)
