"""Tables (t, l) of one sentence pair as shaded squares, known links marked."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from foveate.charts.render import with_rows
from foveate.jobs.experiment import Records
from foveate.records.record import Record
from foveate.types import FloatArray

__all__ = ["TITLES", "example_tables", "over_training"]

Rows = list[dict[str, Any]]

TITLES = {
    "made-up": "Made-up pair of languages (links known)",
    "multi30k_aligned_auto": "Multi30k in words (links made by machine, not gold)",
    "hansards": "Hansards English–French (links made by hand)",
}
LINK = "#D55E00"
MAX_TABLES = 4  # tables of an example, over training
CELL = 16  # pixels
SPACE = "▁"  # before a piece that begins a word; fonts that lack it spoil a whole label


def example_tables(record: Record) -> alt.HConcatChart:
    """α_opt, β (relative to its row) and α of one sentence after training, first seed."""
    source, target = record.meta["source"], record.meta["target"]
    shape = len(target), len(source)
    opt, alpha, beta = (
        record.last(f"example_{name}")[0].reshape(shape) for name in ("opt", "alpha", "beta")
    )
    beta = np.exp(beta - beta.max(1, keepdims=True))
    panels = {"α_opt": opt, "β, largest of a row = 1": beta, "α": alpha}
    charts = [
        _heat(table, source, () if k else target, title)
        for k, (title, table) in enumerate(panels.items())
    ]
    return alt.hconcat(*charts).properties(
        description="Optimal attention, word knowledge and attention for one sentence pair."
    )


def over_training(records: Records) -> alt.VConcatChart:
    """Attention of the first seed on one sentence pair at some checkpoints, known links marked."""
    rows = []
    for record in records.values():
        meta = record.meta
        indices = np.unique(np.linspace(0, len(record.t) - 1, MAX_TABLES).round().astype(int))
        shape = len(meta["target"]), len(meta["source"])
        links = (meta["sure"], meta["possible"])
        charts = [
            _heat(
                record.values["example"][k, 0].reshape(shape),
                meta["source"],
                () if k else meta["target"],  # words at the side of the first alone
                f"step {int(record.t[k]):,}",
                links,
            )
            for k in indices
        ]
        rows.append(alt.hconcat(*charts).properties(title=TITLES.get(meta["data"], meta["data"])))
    return alt.vconcat(*rows).properties(
        description="Attention of one sentence pair at four steps, known links marked by dots."
    )


def _heat(
    table: FloatArray,
    source: Sequence[str],
    target: Sequence[str],
    title: str,
    links: Sequence[Sequence[Sequence[int]]] = ((), ()),
) -> alt.LayerChart:
    """A table (T, L) as squares; sure links as full dots, possible ones as rings.

    Words at the side are left out where ``target`` is empty.
    """
    T, L = table.shape
    rows: Rows = [{"i": i, "j": j, "value": float(table[j, i])} for j in range(T) for i in range(L)]
    sure, possible = ({(int(i), int(j)) for i, j in some} for some in links)
    for row in rows:
        cell = (row["i"], row["j"])
        row["link"] = "sure" if cell in sure else "possible" if cell in possible else ""
    x = alt.X("i:O", title=None, axis=_words(source, -40))
    y = alt.Y("j:O", title=None, axis=_words(target, 0) if target else None)
    scale = alt.Scale(domain=[0, 1], range=["#ffffff", "#08519c"], interpolate="rgb")
    shade = alt.Color("value:Q", scale=scale, legend=None)
    square = alt.Chart().mark_rect(stroke="#d5d8dc", strokeWidth=0.5)
    dots = [
        alt.Chart()
        .transform_filter(f"datum.link == '{kind}'")
        .mark_point(size=34, filled=filled, color=LINK, opacity=1, strokeWidth=1.6)
        .encode(x=x, y=y)
        for kind, filled in (("sure", True), ("possible", False))
    ]
    size = {"width": CELL * L, "height": CELL * T}
    chart = alt.layer(square.encode(x=x, y=y, color=shade), *dots)
    return with_rows(chart.properties(title=title, **size), rows)


def _words(words: Sequence[str], angle: int) -> alt.Axis:
    listing = "[" + ", ".join(f"'{_escaped(word)}'" for word in words) + "]"
    return alt.Axis(
        labelExpr=f"{listing}[datum.value]",
        labelAngle=angle,
        labelLimit=90,
        ticks=False,
        grid=False,
    )


def _escaped(word: str) -> str:
    example_pair = word.removeprefix(SPACE) or word
    return example_pair.replace("\\", "\\\\").replace("'", "\\'")
