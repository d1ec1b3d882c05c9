"""Figures of the first table: SAIF and accuracy beside the published ones, and heat maps."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from foveate.charts.palette import label
from foveate.jobs.experiment import Records
from foveate.records.published import Cell
from foveate.report.drawing.race_charts import Bins, heat_map_chart
from foveate.studies.comparison_chart import comparison_chart
from foveate.studies.vr23.table1 import Table1Settings
from foveate.studies.vr23.table1.cells import table1_cells
from foveate.studies.vr23.table1.published import PUBLISHED
from foveate.studies.vr23.table1.rows import ROWS

__all__ = ["cell_figures", "figures"]

CELL = 30  # pixels
MAPPED = ("soft", "hard", "lvml", "hybrid")  # [vr23] Figure 1, and the hybrid


def figures(settings: Table1Settings, records: Records) -> Mapping[str, Any]:
    """The charts by name: ``saif``, ``accuracy`` and, for mosaics, both ``heat-maps``."""
    charts = cell_figures(table1_cells(settings, records))
    if settings.images:
        charts["heat-maps"] = _heat_maps(settings, records, "fixed")
        charts["released-heat-maps"] = _heat_maps(settings, records, "data range")
    return charts


def cell_figures(cells: Sequence[Cell]) -> dict[str, Any]:
    """The charts of the table: ``saif`` and ``accuracy``."""
    known = PUBLISHED.numbers
    return {
        "saif": comparison_chart(cells, known, "SAIF %"),
        "accuracy": comparison_chart(cells, known, "accuracy %"),
    }


def _heat_maps(settings: Table1Settings, records: Records, bins: Bins) -> Any:
    """One row of heat maps per row of the table, with one kind of bins."""
    rows = [
        alt.hconcat(
            *(
                heat_map_chart(
                    records[f"{row}-{rule}"], f"{label(rule)}, {ROWS[row].group}", CELL, bins
                )
                for rule in MAPPED
                if rule in settings.rules(row)
            )
        )
        for row in settings.images
    ]
    return alt.vconcat(*rows).properties(
        description="Share of held-out bags by focus score and probability of the true class, "
        f"{bins} bins."
    )
