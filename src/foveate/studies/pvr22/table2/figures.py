"""Figures of the second table: focus, sparsity, and Figure 6's curves. [pvr22] Sec. 6"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from foveate.charts.render import with_rows
from foveate.jobs.experiment import Records
from foveate.metrics.focus import attention_on, threshold_curve
from foveate.records.published import Cell
from foveate.studies.comparison_chart import comparison_chart
from foveate.studies.pvr22.table2 import LAYERS, Table2Settings
from foveate.studies.pvr22.table2.cells import table2_cells
from foveate.studies.pvr22.table2.published import PUBLISHED

__all__ = ["LINE_COLOURS", "cell_figures", "figures"]

LINE_COLOURS = {
    "softmax": "#0072B2",
    "entropy": "#56B4E9",
    "sparsemax": "#009E73",
    "spherical": "#CC79A7",
    "hard": "#E69F00",
    "oracle": "#000000",
}
DASHES = {"entropy": [6, 3], "sparsemax": [2, 2], "spherical": [9, 3, 2, 3], "hard": [12, 4]}
THRESHOLDS = np.linspace(0, 1, 101)


def figures(settings: Table2Settings, records: Records) -> Mapping[str, Any]:
    """The charts by name: ``focus``, ``sparsity``, ``thresholds``, ``gaussians``."""
    charts = cell_figures(table2_cells(settings, records))
    charts["thresholds"] = alt.vconcat(
        *(_curves(data, settings.variants, records) for data in settings.sets)
    ).properties(
        description="Share of held-out bags with attention on the foreground above a threshold."
    )
    return charts


def cell_figures(cells: Sequence[Cell]) -> dict[str, Any]:
    """The charts of the table: ``gaussians``; with images, ``focus`` and ``sparsity`` too."""
    known = PUBLISHED.numbers
    points = [c for c in cells if c.group.startswith("Gaussians")]
    images = [c for c in cells if c not in points]
    charts = {"gaussians": _stacked(points, known, ("accuracy %", "FT %", "FTPT %"))}
    if images:
        charts["focus"] = _stacked(images, known, ("accuracy %", "FT %"))
        charts["sparsity"] = _stacked(images, known, ("NNZ", "Ent, bits"))
    return charts


def _stacked(cells: Sequence[Cell], published: Mapping[Any, float], measures: Sequence[str]) -> Any:
    charts = [
        comparison_chart(cells, published, measure, colours=LINE_COLOURS) for measure in measures
    ]
    words = f"{', '.join(measures)} by variant and layer, with published numbers as diamonds."
    return alt.vconcat(*charts).properties(description=words)


def _curves(data: str, variants: Sequence[str], records: Records) -> Any:
    """Mean over seeds of the share of bags whose a_z exceeds each threshold, a panel a layer."""
    panels = []
    for layer in LAYERS:
        rows = []
        for name in variants:
            final = records[f"{data}-{name}-{layer}"].final
            share = threshold_curve(attention_on(final["alpha"], final["z"]), THRESHOLDS).mean(0)
            rows += [
                {"x": float(t), "y": 100 * float(s), "name": name}
                for t, s in zip(THRESHOLDS, share, strict=True)
            ]
        names = list(variants)
        legend = alt.Legend(columns=6, symbolType="stroke", symbolOpacity=1)
        chart = alt.Chart().mark_line(strokeWidth=2).encode(
            x=alt.X("x:Q", title="threshold on the attention a_z"),
            y=alt.Y("y:Q", title="bags above it, %", scale=alt.Scale(domain=[0, 100])),
            color=alt.Color("name:N", legend=legend,
                            scale=alt.Scale(domain=names, range=[LINE_COLOURS[n] for n in names])),
            strokeDash=alt.StrokeDash("name:N", legend=legend, scale=alt.Scale(
                domain=names, range=[DASHES.get(n, [1, 0]) for n in names])),
        )  # fmt: skip
        title = f"{data}, {layer} layer"
        panels.append(with_rows(chart.properties(width=330, height=230, title=title), rows))
    return alt.hconcat(*panels)
