"""Charts of gradient flows: μ, ν, attention and loss over time."""

from collections.abc import Sequence

import altair as alt
import numpy as np

from foveate.charts.lines import curve_rows, line_chart
from foveate.dynamics import vr23
from foveate.records.record import Array, Record

__all__ = ["flow_panels"]

TITLES = {
    "mu": "μ (classifier)",
    "nu": "ν (focus)",
    "alpha": "α (attention on the foreground)",
    "loss": "training loss, nats",
}


def flow_panels(record: Record, names: Sequence[str] = vr23.PARADIGMS) -> alt.HConcatChart:
    """μ, ν, α and the loss of each paradigm over time, in one row."""
    m, C = record.meta["m"], record.meta["C"]
    grid = np.linspace(0, record.t[-1], 200)  # the record is even in log time, the axis is linear
    panels = [
        line_chart(
            curve_rows(grid, _interpolate(grid, record, key), names),
            names,
            x="time",
            y=title,
            title=f"m = {m}, C = {C}" if key == "mu" else "",
            width=150,
            height=150,
        )
        for key, title in TITLES.items()
        if key in record.values
    ]
    return alt.hconcat(*panels)


def _interpolate(grid: Array, record: Record, key: str) -> Array:
    columns = record.values[key].T
    return np.stack([np.interp(grid, record.t, column) for column in columns], 1)
