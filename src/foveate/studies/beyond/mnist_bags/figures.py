"""Figures of MNIST-bags: bag AUC against segment AUROC, by method."""

from collections.abc import Mapping
from typing import Any

import altair as alt

from foveate.charts.palette import colour, label, shape
from foveate.charts.render import with_rows
from foveate.jobs.experiment import Records
from foveate.metrics.intervals import mean_interval

__all__ = ["auc_chart", "figures", "rows_of"]

MEASURES = {"bag_auc": "bag AUC", "segment_auroc": "segment AUROC"}
SIDE = 250


def figures(_: object, records: Records) -> Mapping[str, Any]:
    """Bag AUC against segment AUROC with intervals over seeds; both over the training bags."""
    rows = rows_of(records)
    sizes = sorted({row["bags"] for row in rows})
    charts = {"auc": auc_chart(rows, sizes)}
    if len(sizes) > 1:
        charts["bags"] = _over_bags(rows)
    return charts


def rows_of(records: Records) -> list[dict[str, Any]]:
    """A row a part: means over seeds and the ends of their intervals."""
    rows = []
    for record in records.values():
        row: dict[str, Any] = {
            "method": record.meta["method"],
            "label": label(record.meta["method"]),
            "bags": record.meta["bags"],
        }
        for name in MEASURES:
            mean, low, high = mean_interval(record.final[name], within=(0.0, 1.0))
            row |= {name: mean, f"{name}_low": low, f"{name}_high": high}
        rows.append(row)
    return rows


def _methods(rows: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(row["method"] for row in rows))


def _colour_encoding(methods: list[str]) -> alt.Color:
    scale = alt.Scale(domain=[label(m) for m in methods], range=[colour(m) for m in methods])
    return alt.Color("label:N", scale=scale, legend=alt.Legend(columns=6))


def _shape(methods: list[str]) -> alt.Shape:
    scale = alt.Scale(domain=[label(m) for m in methods], range=[shape(m) for m in methods])
    return alt.Shape("label:N", scale=scale, legend=alt.Legend(columns=6))


def auc_chart(rows: list[dict[str, Any]], sizes: list[int]) -> Any:
    """A panel for the fewest, a middle and the largest number of bags; a cross a method."""
    chosen = sorted({sizes[0], sizes[len(sizes) // 2], sizes[-1]})
    methods = _methods(rows)
    colour_encoding = _colour_encoding(methods)
    scale = alt.Scale(zero=False, nice=True)
    axis = alt.Axis(tickCount=4, labelFlush=False)
    x = alt.X("bag_auc:Q", title="bag AUC", scale=scale, axis=axis)
    y = alt.Y("segment_auroc:Q", title="segment AUROC, in positive bags", scale=scale, axis=axis)
    panels = []
    for n in chosen:
        selected = [row for row in rows if row["bags"] == n]
        x_interval = alt.Chart().mark_rule(strokeWidth=1.8)
        x_interval = x_interval.encode(
            x="bag_auc_low:Q", x2="bag_auc_high:Q", y=y, color=colour_encoding
        )
        y_interval = alt.Chart().mark_rule(strokeWidth=1.8)
        y_interval = y_interval.encode(
            x=x, y="segment_auroc_low:Q", y2="segment_auroc_high:Q", color=colour_encoding
        )
        dot = alt.Chart().mark_point(filled=True, size=110, opacity=1)
        dot = dot.encode(x=x, y=y, color=colour_encoding, shape=_shape(methods))
        spread = [row for row in selected if row["bag_auc_low"] is not None]
        lines = [with_rows(x_interval, spread), with_rows(y_interval, spread)] if spread else []
        layers = alt.layer(*lines, with_rows(dot, selected))
        panels.append(
            layers.properties(
                width=SIDE, height=SIDE, title={"text": f"{n} training bags", "frame": "group"}
            )
        )
    return alt.hconcat(*panels).properties(
        description="Bag AUC against segment AUROC of every method, with intervals over seeds."
    )


def _over_bags(rows: list[dict[str, Any]]) -> Any:
    methods = _methods(rows)
    colour_encoding = _colour_encoding(methods)
    panels = []
    for name, title in MEASURES.items():
        x = alt.X("bags:Q", title="training bags", scale=alt.Scale(nice=False, padding=8))
        y = alt.Y(f"{name}:Q", title=title, scale=alt.Scale(zero=False))
        line = alt.Chart().mark_line(strokeWidth=2.2).encode(x=x, y=y, color=colour_encoding)
        bar = alt.Chart().mark_rule(strokeWidth=1.4)
        bar = bar.encode(x=x, y=f"{name}_low:Q", y2=f"{name}_high:Q", color=colour_encoding)
        dot = alt.Chart().mark_point(filled=True, size=70, opacity=1)
        dot = dot.encode(x=x, y=y, color=colour_encoding, shape=_shape(methods))
        spread = [row for row in rows if row[f"{name}_low"] is not None]
        layers = [with_rows(line, rows), with_rows(dot, rows)]
        layers += [with_rows(bar, spread)] if spread else []
        panels.append(alt.layer(*layers).properties(width=330, height=SIDE))
    return alt.hconcat(*panels).properties(
        description="Bag AUC and segment AUROC over the number of training bags."
    )
