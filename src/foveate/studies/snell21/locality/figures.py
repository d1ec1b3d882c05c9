"""Figures of the keyword sentences: γ over training, and around the keyword. [snell21] Fig. 5"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np

from foveate.charts.lines import band_chart, name_colours
from foveate.jobs.experiment import Records
from foveate.metrics.intervals import mean_interval
from foveate.records.record import Array, Record
from foveate.studies.snell21.locality.findings import NAMES, QUANTITIES, early_at
from foveate.studies.snell21.locality.training import MAX_DISTANCE

if TYPE_CHECKING:
    from foveate.studies.snell21.locality import LocalitySettings

__all__ = ["figures"]

COLOURS = {
    "keyword": "#D55E00",
    "after": "#E69F00",
    "mean": "#1b1f24",
    "last": "#0072B2",
    "first": "#009E73",
}
MOMENTS = {"as the loss begins to fall": "#D55E00", "at the end": "#0072B2"}


def figures(settings: "LocalitySettings", records: Records) -> Mapping[str, Any]:
    """γ over steps (Figure 5) for each condition; γ by distance from the keyword and by place."""
    named = {NAMES[name]: record for name, record in records.items()}
    curves = [_curves(record, title, settings.fine_until) for title, record in named.items()]
    charts = [_window_chart(settings, record, title) for title, record in named.items()]
    return {
        "curves": alt.vconcat(*curves).properties(
            description="Log-odds at five positions over training, early and whole, by condition."
        ),
        "around": alt.hconcat(*charts).properties(
            description="Log-odds by distance from the keyword, early and at the end."
        ),
    }


def _curves(record: Record, title: str, early: int) -> alt.HConcatChart:
    """The first steps on the left, all of them on the right: the order changes within the first."""
    return alt.hconcat(
        _lines(record, record.t <= early, f"{title}: the first steps"),
        _lines(record, record.t >= 0, f"{title}: all steps"),
    )


def _lines(record: Record, part: Array, title: str) -> alt.LayerChart:
    rows = []
    for name, label in QUANTITIES.items():
        for i in np.flatnonzero(part):
            mean, low, high = _interval(record.values[name][i])
            rows.append({"x": int(record.t[i]), "y": mean, "low": low, "high": high, "name": label})
    colours = name_colours(dict(zip(QUANTITIES.values(), COLOURS.values(), strict=True)))
    x = alt.X("x:Q", title="steps", scale=alt.Scale(nice=False))
    y = alt.Y("y:Q", title="γ, log-odds of the positive class")
    return band_chart(rows, x, y, colours, width=350, height=190, title=title)


def _window_chart(settings: "LocalitySettings", record: Record, title: str) -> alt.LayerChart:
    """Mean γ at each distance from the keyword, when the loss begins to fall and at the end."""
    window = record.values["around"]  # (T, S, 2 REACH + 1)
    at_early = window[early_at(record, settings.early), np.arange(window.shape[1])]
    rows = []
    for when, values in zip(MOMENTS, (at_early, window[-1]), strict=True):
        for k in range(values.shape[1]):
            finite = values[np.isfinite(values[:, k]), k]
            if len(finite):
                mean, low, high = _interval(finite)
                rows.append(
                    {"x": k - MAX_DISTANCE, "y": mean, "low": low, "high": high, "name": when}
                )
    colours = name_colours(MOMENTS, columns=1)
    x = alt.X("x:Q", title="distance from the keyword, words", axis=alt.Axis(tickMinStep=2))
    y = alt.Y("y:Q", title="γ, log-odds")
    dots = alt.OverlayMarkDef(size=18)
    return band_chart(rows, x, y, colours, width=215, height=190, title=title, point=dots)


def _interval(values: Array) -> tuple[float, float, float]:
    mean, low, high = mean_interval(values)
    return mean, mean if low is None else low, mean if high is None else high
