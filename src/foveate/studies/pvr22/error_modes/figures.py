"""Figures of the error modes, by name."""

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np

from foveate.charts.palette import TEXT_COLOUR
from foveate.charts.render import with_rows
from foveate.jobs.experiment import Records
from foveate.metrics.focus import QUADRANTS
from foveate.metrics.intervals import mean_interval
from foveate.records.record import Array, Record
from foveate.studies.pvr22.error_modes import BOXES, ErrorModeSettings
from foveate.studies.pvr22.error_modes.colours import MODE_COLOURS, MODE_DASHES
from foveate.studies.pvr22.error_modes.findings import LEAST_BAGS
from foveate.studies.pvr22.error_modes.outcome import (
    SPREAD_BITS,
    accurate,
    epochs_to_accuracy,
    misfocused,
)
from foveate.studies.pvr22.error_modes.outcome_charts import angles, outcomes, prediction_chart
from foveate.studies.pvr22.error_modes.plane_charts import mode_figure
from foveate.studies.pvr22.error_modes.statistics import as_row

__all__ = ["figures"]


def figures(settings: ErrorModeSettings, records: Records) -> Mapping[str, Any]:
    """The charts by name.

    Args:
        settings: The experiment's settings.
        records: Its records.

    Returns:
        ``mode-1`` to ``mode-3``, ``outcomes``, ``angles``, ``foresight``, ``convergence``,
        ``sparsity``, ``linear-focus``.
    """
    return {
        **{
            f"mode-{k}": mode_figure(
                k, boxes, records[f"mode-{k}-authors"], records[f"mode-{k}-starts"]
            )
            for k, boxes in BOXES.items()
        },
        "outcomes": outcomes(records),
        "angles": angles(settings, records),
        "foresight": prediction_chart(settings, records),
        "convergence": _convergence(records),
        "sparsity": _sparsity(records),
        "linear-focus": _linear(records["linear-focus"]),
    }


def _convergence(records: Records) -> alt.HConcatChart:
    """Share of the trainings that fell which have reached .95, by epoch."""
    panels, texts = [], []
    titles = {"starts": "Random starts that fell", "authors": "From the authors' weights"}
    for group, title in titles.items():
        rows: list[dict[str, Any]] = []
        for k in BOXES:
            record = records[f"mode-{k}-{group}"]
            epochs = epochs_to_accuracy(record)[misfocused(record)]
            if len(epochs) == 0:
                continue
            texts.append(f"{title.lower()}, mode {k}: {epochs.mean():.1f} epochs on average")
            for t in record.t[record.t <= 60]:
                share = mean_interval(100.0 * (epochs <= t), within=(0, 100))
                rows.append({"t": int(t), "mode": f"mode {k}", **as_row(share)})
        x = alt.X("t:Q", title="epoch", scale=alt.Scale(nice=False))
        y = alt.Y(
            "mean:Q", title="trainings at accuracy .95 or more, %", scale=alt.Scale(domain=[0, 100])
        )
        panels.append(_lines(rows, x, y, title))
    return (
        alt.hconcat(*panels)
        .resolve_scale(color="shared", strokeDash="shared")
        .properties(description="Epochs until accuracy .95: " + "; ".join(texts))
    )


def _lines(rows: list[dict[str, Any]], x: alt.X, y: alt.Y, title: str) -> Any:
    """A line and a band for each mode."""
    legend = alt.Legend(columns=3, symbolType="stroke", symbolOpacity=1)
    mode_colours = alt.Scale(domain=list(MODE_COLOURS), range=list(MODE_COLOURS.values()))
    dash = alt.Scale(domain=list(MODE_COLOURS), range=list(MODE_DASHES))
    base = alt.Chart().encode(x=x, color=alt.Color("mode:N", scale=mode_colours, legend=legend))
    band = base.mark_area(opacity=0.18).encode(y=alt.Y("low:Q"), y2="high:Q")
    line = base.mark_line(strokeWidth=2.2).encode(
        y=y, strokeDash=alt.StrokeDash("mode:N", scale=dash, legend=legend)
    )
    return with_rows(alt.layer(band, line).properties(width=350, height=230, title=title), rows)


def _sparsity(records: Records) -> alt.HConcatChart:
    """Attention entropy of accurate models, on bags with the right and with a wrong focus."""
    words = {"ffpt": "wrong focus", "ftpt": "right focus"}
    panels, texts = [], []
    x = alt.X("what:N", title=None, sort=list(words.values()), axis=alt.Axis(labelAngle=0))
    y = alt.Y(
        "ent:Q", title="attention entropy, bits", scale=alt.Scale(domain=[0, float(np.log2(9))])
    )
    mode_colours = alt.Color(
        "what:N", scale=alt.Scale(domain=list(words.values()), range=["#E69F00", "#0072B2"])
    ).legend(None)
    for k in BOXES:
        record = records[f"mode-{k}-starts"]
        rows, means = _entropies(record, words)
        base = alt.Chart().encode(x=x, color=mode_colours)
        dots = base.mark_tick(thickness=1.2, width=56, opacity=0.35).encode(y=y)
        bars = base.mark_rule(strokeWidth=5).encode(y=alt.Y("low:Q"), y2="high:Q")
        point = base.mark_point(filled=True, size=110, opacity=1, stroke="white").encode(
            y=alt.Y("mean:Q")
        )
        bit = alt.Chart().mark_rule(strokeDash=[4, 3], color="#6b7278")
        layers = [
            with_rows(dots, rows),
            with_rows(bars, means),
            with_rows(point, means),
            bit.encode(y=alt.datum(SPREAD_BITS)),
        ]
        title = alt.Title(f"Mode {k}", subtitle=f"{accurate(record).sum()} accurate models")
        panels.append(alt.layer(*layers).properties(width=210, height=260, title=title))
        texts += [f"mode {k}, {row['what']}: {row['mean']:.2f} bits" for row in means]
    return alt.hconcat(*panels).properties(
        title=alt.Title(
            "Attention on bags predicted right",
            subtitle="a tick is the mean of one model, the point the mean of all with its 95 % "
            "interval; dashed: 1 bit, as of two equal segments",
        ),
        description="Attention entropy of bags predicted right. " + "; ".join(texts),
    )


def _entropies(
    record: Record, words: Mapping[str, str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    rows: list[dict[str, Any]] = []
    means: list[dict[str, Any]] = []
    for name, label in words.items():
        index = QUADRANTS.index(name)
        enough = accurate(record) & (record.final["split_count"][:, index] >= LEAST_BAGS)
        ent: Array = record.final["split_ent"][enough, index]
        rows += [{"what": label, "ent": float(value)} for value in ent]
        if len(ent):
            means.append({"what": label, **as_row(mean_interval(ent, within=(0, np.inf)))})
    return rows, means


def _linear(record: Record) -> Any:
    """Exact FT of a linear focus by its direction."""
    angles, ft = record.final["angle"][0], 100 * record.final["ft"][0]
    rows = [
        {"t": float(a), "mode": name, "mean": float(b), "low": float(b), "high": float(b)}
        for name, curve in zip(MODE_COLOURS, ft, strict=True)
        for a, b in zip(angles, curve, strict=True)
    ]
    x = alt.X(
        "t:Q",
        title="direction of f's weights, degrees from the first axis to the second",
        scale=alt.Scale(domain=[-180, 180], nice=False),
        axis=alt.Axis(values=list(range(-180, 181, 45))),
    )
    y = alt.Y("mean:Q", title="FT, %", scale=alt.Scale(domain=[0, 104], nice=False))
    value = 100 * float(record.final["sum_ft"].mean())
    mark = [{"t": 45.0, "mean": value, "text": f"f = x1 + x2 in mode 1: {value:.1f} %"}]
    point = alt.Chart().mark_point(
        shape="diamond", filled=True, size=130, color=TEXT_COLOUR, opacity=1
    )
    text = alt.Chart().mark_text(align="left", dx=12, dy=-8)
    lines = _lines(rows, x, y, "What a linear focus can reach, without training")
    best = ", ".join(
        f"{name} {value:.1f} %" for name, value in zip(MODE_COLOURS, ft.max(1), strict=True)
    )
    return alt.layer(
        lines,
        with_rows(point.encode(x=x, y=y), mark),
        with_rows(text.encode(x=x, y=y, text="text:N"), mark),
    ).properties(width=700, height=260, description=f"Best FT over all directions: {best}")
