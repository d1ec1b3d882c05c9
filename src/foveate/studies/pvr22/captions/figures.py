"""Figures of the captioning experiment: cosines beside the published, curves, overlays."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from foveate.charts.lines import curve_rows, line_chart
from foveate.charts.palette import TEXT_COLOUR
from foveate.charts.render import with_rows
from foveate.jobs.experiment import Records
from foveate.records.published import Cell
from foveate.records.record import Array, Record
from foveate.studies.comparison_chart import comparison_chart
from foveate.studies.pvr22.captions.findings import ALIGNED, SOURCES, caption_cells, group_of
from foveate.studies.pvr22.captions.overlays import overlay_chart
from foveate.studies.pvr22.captions.published import PUBLISHED
from foveate.studies.pvr22.captions.settings import CaptionSettings

__all__ = ["cell_figures", "figures"]

RULE_COLOURS = {"full": "#0072B2", "top": "#56B4E9", "random": "#767676", "uniform": "#E69F00"}
OTHER = "#CC79A7"
FULL = 1.0  # room for cosines, and numbers behind them


def figures(settings: CaptionSettings, records: Records) -> Mapping[str, Any]:
    """The charts by name: ``cosines``, ``saif``, ``curves`` and ``overlays``."""
    charts = cell_figures(caption_cells(settings, records))
    charts["curves"] = _curves(settings, records)
    if len(records["soft"].final["photo"][0]):
        charts["overlays"] = overlay_chart(records["soft"], settings.top)
    return charts


def cell_figures(cells: Sequence[Cell]) -> dict[str, Any]:
    """The charts of the table: ``cosines`` and ``saif``."""
    return {"cosines": _cosines(cells), "saif": _by_paradigm(cells)}


def _by_paradigm(cells: Sequence[Cell]) -> Any:
    """SAIF in both kinds of captions, and BLEU-4 below."""
    known = PUBLISHED.numbers
    charts = [comparison_chart(cells, known, measure) for measure in ("SAIF at .3, %", "BLEU-4")]
    words = "SAIF at .3 and BLEU-4 by paradigm with 95 % intervals, and the published numbers."
    return alt.vconcat(*charts).properties(description=words)


def _rule_colour(kind: str) -> str:
    return RULE_COLOURS.get(kind.partition("-")[0], OTHER)


def _cosines(cells: Sequence[Cell]) -> Any:
    """Bars of the cosines of soft attention with their intervals; a diamond is the published."""
    kinds = list(dict.fromkeys(c.name for c in cells if c.group == ALIGNED))
    charts = [
        _bars(
            [c for c in cells if c.group == group_of(ALIGNED, source)],
            kinds,
            f"Soft attention, {words}",
        )
        for source, words in SOURCES.items()
    ]
    words = (
        "Mean cosine of up-sampled attention with the boxes of the named object, with 95 % "
        "intervals over images and seeds, and the published numbers."
    )
    return alt.hconcat(*charts).properties(description=words)


def _bars(cells: Sequence[Cell], kinds: Sequence[str], title: str) -> Any:
    known = PUBLISHED.numbers
    rows = [
        {
            "kind": c.name,
            "mean": c.mean,
            "low": c.mean if c.low is None else c.low,
            "high": c.mean if c.high is None else c.high,
            "published": (paper := known.get(c[:3])),
            "text": f"{c.mean:.3f}" + (f", published {paper:.3f}" if paper is not None else ""),
        }
        for c in cells
    ]
    scale = alt.Scale(domain=list(kinds), range=[_rule_colour(k) for k in kinds])
    line = alt.Chart().encode(y=alt.Y("kind:N", sort=list(kinds), title=None))
    x_scale = alt.Scale(domain=[0, FULL], nice=False, clamp=True)
    axis = alt.Axis(values=[0, 0.2, 0.4, 0.6], title="cosine with the boxes")
    bar = line.mark_bar(size=18).encode(
        x=alt.X("mean:Q", scale=x_scale, axis=axis),
        color=alt.Color("kind:N", scale=scale, legend=None),
    )
    span = line.mark_rule(strokeWidth=1.8, color=TEXT_COLOUR).encode(x="low:Q", x2="high:Q")
    paper_mark = (
        line.transform_filter("datum.published !== null")
        .mark_point(
            shape="diamond", filled=True, size=90, color="#ffffff", stroke=TEXT_COLOUR, opacity=1
        )
        .encode(x="published:Q")
    )
    number = line.mark_text(align="left", fontSize=11).encode(x=alt.datum(0.66), text="text:N")
    layers = alt.layer(bar, span, paper_mark, number)
    return with_rows(layers.properties(width=330, height=26 * len(kinds), title=title), rows)


def _curves(settings: CaptionSettings, records: Records) -> Any:
    """Cosines of soft attention, loss and BLEU over epochs; the hybrid begins at the switch."""
    soft = records["soft"]
    t = soft.t / soft.meta["per_epoch"]
    rules = ("full", f"top-{settings.top[0]}", f"random-{settings.top[0]}", "uniform", "shuffled")
    means = _means(soft, "reference", rules)
    rows = curve_rows(t, means, rules)
    colour_encoding = alt.Color(
        "name:N",
        scale=alt.Scale(domain=list(rules), range=[_rule_colour(k) for k in rules]),
        legend=alt.Legend(columns=3, symbolType="stroke"),
    )
    line = (
        alt.Chart()
        .mark_line(point=True, strokeWidth=2)
        .encode(
            x=alt.X("x:Q", title="epochs"),
            y=alt.Y("y:Q", title="cosine with the boxes"),
            color=colour_encoding,
        )
        .properties(width=230, height=190, title="Soft, reference captions")
    )
    charts = [with_rows(line, rows), _by_rule(settings, records, "loss", "nats a word, reference")]
    charts.append(_by_rule(settings, records, "bleu", "BLEU-4"))
    words = "Cosines under soft attention, loss and BLEU-4 over the training, means over seeds."
    return (
        alt.hconcat(*charts)
        .resolve_scale(color="independent", strokeDash="independent")
        .properties(description=words)
    )


def _by_rule(settings: CaptionSettings, records: Records, name: str, title: str) -> Any:
    rows = []
    for rule, record in records.items():
        before = settings.soft_epochs if rule == "hybrid" else 0
        t = before + record.t / record.meta["per_epoch"]
        rows += curve_rows(t, record.values[name].mean(1)[:, None], [rule])
    return line_chart(rows, list(records), x="epochs", y=title, title=title, width=180)


def _means(record: Record, source: str, kinds: Sequence[str]) -> Array:
    """Mean cosines over all names of all seeds, shape (T, kinds)."""
    sums = record.values[source].sum((1, 2))
    count = record.values[f"{source}_there"].sum((1, 2))
    indices = [list(record.meta["kinds"]).index(kind) for kind in kinds]
    means: Array = sums[:, indices] / np.maximum(1, count)[:, None]
    return means
