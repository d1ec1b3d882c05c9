"""Charts over training: accuracy, FT, SAIF and loss with intervals, and the four quadrants."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from foveate.charts.palette import QUADRANT_COLOURS, colour, dash, label
from foveate.charts.render import with_rows
from foveate.metrics.focus import QUADRANTS
from foveate.metrics.metric import METRICS, curve_metrics
from foveate.records.record import Record
from foveate.report.outcomes import Switch, band

__all__ = ["curve_chart", "curve_names", "lines", "quadrant_chart"]

TRAIN_LOSS = "Training loss, nats"
QUADRANT_NAMES = {
    "ftpt": "both correct",
    "ffpt": "prediction only",
    "ftpf": "focus only",
    "ffpf": "neither",
}
WIDTH, HEIGHT = 262, 190


def curve_names() -> list[str]:
    """What is drawn over training: the registered metrics that ask for it, and the loss."""
    return [*(item.name for item in curve_metrics()), "train_loss"]


def curve_chart(
    records: Mapping[str, Record], name: str, switch: Switch | None = None
) -> alt.LayerChart:
    """One quantity over the epochs: mean over seeds with a band of its 95 % interval.

    Args:
        records: One per paradigm.
        name: One of :func:`curve_names`.
        switch: Where the second phase of one of the paradigms starts.
    """
    is_loss = name == "train_loss"
    factor, (low, top) = (1.0, (0.0, np.inf)) if is_loss else _range(name)
    title = TRAIN_LOSS if is_loss else METRICS.get(name).heading
    rows: list[dict[str, Any]] = []
    for paradigm, record in records.items():
        values = record.values[name]
        finite = np.isfinite(values).all(1)
        for t, share in zip(record.t[finite], band(factor * values[finite], top, low), strict=True):
            rows.append({"x": float(t), "paradigm": label(paradigm), **share._asdict()})
    y = _loss(rows) if is_loss else _axis(title, factor)
    extra: list[alt.Chart] = []
    if switch is not None and switch.paradigm in records:
        extra = _switch_mark(switch, float(records[switch.paradigm].t[-1]))
    ends = "; ".join(
        f"{label(k)} {factor * float(np.mean(r.last(name))):.{1 if factor == 100 else 3}f}"
        for k, r in records.items()
    )
    return lines(
        rows,
        list(records),
        _epochs(records),
        y,
        extra,
        width=WIDTH,
        height=HEIGHT,
        description=f"{title} over training, mean over seeds. At the end: {ends}.",
    )


def lines(
    rows: Sequence[Mapping[str, Any]],
    paradigms: Sequence[str],
    x: alt.X,
    y: alt.Y,
    extra: Sequence[alt.Chart] = (),
    **properties: Any,
) -> alt.LayerChart:
    """One line per paradigm with a band around it.

    Args:
        rows: ``x``, ``paradigm`` (its label), ``mean``, ``low``, ``high``.
        paradigms: Their names, in the order of the legend.
        x: The horizontal axis.
        y: The vertical axis, of ``mean``.
        extra: Further layers.
        properties: Width, height and description of the chart.
    """
    names = [label(p) for p in paradigms]
    # As many columns as fit above the plot: a wider legend would shrink it.
    columns = int(min(4, max(1, WIDTH // (20 + 6.5 * max(map(len, names))))))
    legend = alt.Legend(columns=columns, symbolType="stroke", symbolOpacity=1)
    colours = alt.Scale(domain=names, range=[colour(p) for p in paradigms])
    color = alt.Color("paradigm:N", scale=colours, legend=legend)
    dashes = alt.StrokeDash(
        "paradigm:N",
        scale=alt.Scale(domain=names, range=[list(dash(p)) for p in paradigms]),
        legend=legend,
    )
    area = alt.Chart().transform_filter("datum.low !== null").mark_area(opacity=0.17)
    line = alt.Chart().mark_line(strokeWidth=2.2, strokeCap="butt")
    fill = alt.Fill("paradigm:N", scale=colours, legend=legend)
    chart = alt.layer(
        area.encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), fill=fill),
        line.encode(x=x, y=y, color=color, strokeDash=dashes),
        *extra,
    ).properties(**properties)
    return with_rows(chart, rows)


def quadrant_chart(record: Record, paradigm: str) -> alt.Chart:
    """Shares of bags by correct focus and correct prediction over the epochs. [pvr22] Fig. 5

    Args:
        record: The paradigm's record.
        paradigm: Its name.
    """
    shares = {k: 100 * record.values[k].mean(1) for k in QUADRANTS}
    rows = [
        {"x": float(t), "name": QUADRANT_NAMES[k], "share": float(shares[k][i]), "order": order}
        for order, k in enumerate(QUADRANTS)
        for i, t in enumerate(record.t)
    ]
    scale = alt.Scale(
        domain=list(QUADRANT_NAMES.values()), range=[QUADRANT_COLOURS[k] for k in QUADRANTS]
    )
    ends = "; ".join(f"{QUADRANT_NAMES[k]} {shares[k][-1]:.1f} %" for k in QUADRANTS)
    chart = (
        alt.Chart()
        .mark_area(stroke="white", strokeWidth=0.7)
        .encode(
            x=_epochs({paradigm: record}),
            y=_percent("share", "bags, %").stack(True),
            color=alt.Color("name:N", scale=scale, legend=alt.Legend(columns=2)),
            order=alt.Order("order:Q"),
        )
        .properties(
            width=WIDTH - 10,
            height=HEIGHT,
            title=label(paradigm),
            description=f"{label(paradigm)}: focus and prediction over training. Final: {ends}.",
        )
    )
    return with_rows(chart, rows)


def _epochs(records: Mapping[str, Record]) -> alt.X:
    last = max(float(record.t[-1]) for record in records.values())
    scale = alt.Scale(domain=[0, last], nice=False)
    axis = alt.Axis(tickCount=5, tickMinStep=1, format="d", grid=False)
    return alt.X("x:Q", title="epochs", scale=scale, axis=axis)


def _range(name: str) -> tuple[float, tuple[float, float]]:
    """From records to what is shown, and between what the mean of a metric must lie."""
    item = METRICS.get(name)
    return item.factor, item.bounds or (-np.inf, np.inf)


def _axis(title: str, factor: float) -> alt.Y:
    if factor == 100:
        return _percent("mean", title)
    return alt.Y("mean:Q", title=title, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5))


def _percent(field: str, title: str) -> alt.Y:
    scale = alt.Scale(domain=[0, 100])
    return alt.Y(f"{field}:Q", title=title, scale=scale, axis=alt.Axis(tickCount=5))


def _loss(rows: Sequence[Mapping[str, Any]]) -> alt.Y:
    """A logarithmic axis, or a linear one if a loss reaches zero."""
    ends = [row[k] for row in rows for k in ("mean", "low", "high") if row[k] is not None]
    if not ends:  # every training diverged in the first epoch
        return alt.Y("mean:Q", title=TRAIN_LOSS)
    low, high = min(ends), max(ends)
    if low <= 0:
        return alt.Y("mean:Q", title=TRAIN_LOSS, axis=alt.Axis(tickCount=5))
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    digits = (1, 2, 5) if len(decades) <= 4 else (1,)
    ticks = [float(f"{digit}e{decade}") for decade in decades for digit in digits]
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    axis = alt.Axis(values=[tick for tick in ticks if low <= tick <= high], format="~g")
    return alt.Y("mean:Q", title=TRAIN_LOSS, scale=scale, axis=axis)


def _switch_mark(switch: Switch, last: float) -> list[alt.Chart]:
    """A line at the switch, and a text on the side with more space."""
    text = f"{switch.paradigm} switches to {switch.phase.lower()}"
    base = alt.Chart(alt.Data(values=[{"x": switch.epoch, "text": text}]))
    rule = base.mark_rule(color=colour(switch.paradigm), strokeWidth=1.5).encode(x=alt.X("x:Q"))
    side: dict[str, Any] = (
        {"align": "right", "dx": -4} if switch.epoch > last / 2 else {"align": "left", "dx": 4}
    )
    note = base.mark_text(baseline="bottom", fontSize=11, **side).encode(
        x=alt.X("x:Q"), y=alt.YValue(HEIGHT - 4), text=alt.Text("text:N")
    )
    return [rule, note]
