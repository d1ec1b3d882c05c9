"""All charts of a run, by name."""

from collections.abc import Mapping

import altair as alt

from foveate.records.record import Record
from foveate.records.runs import Run
from foveate.report.drawing.accuracy_plane import plane
from foveate.report.drawing.curves import curve_chart, curve_names, quadrant_chart
from foveate.report.drawing.focus_charts import heat_map_chart, threshold_chart
from foveate.report.outcomes import find_switch, outcomes

__all__ = ["Chart", "figures"]

Chart = alt.Chart | alt.LayerChart


def figures(run: Run, records: Mapping[str, Record] | None = None) -> dict[str, Chart]:
    """The charts of a run; those about focus only if the relevant segments are known.

    Args:
        run: The run.
        records: Its records, if they are already loaded.

    Returns:
        ``plane``, ``heat-map-<paradigm>``, ``curve-<quantity>``, ``quadrants-<paradigm>``,
        ``threshold``.
    """
    records = run.records() if records is None else records
    if not records:
        return {}
    focused = {name: record for name, record in records.items() if "saif" in record.values}
    switch = find_switch(run, records)
    charts: dict[str, Chart] = {}
    if focused:
        charts["plane"] = plane(outcomes(run.name, focused))
    for name, record in focused.items():
        charts[f"heat-map-{name}"] = heat_map_chart(record, name)
    for quantity in curve_names():
        measured = {k: record for k, record in records.items() if quantity in record.values}
        if measured:
            charts[f"curve-{quantity}"] = curve_chart(measured, quantity, switch)
    for name, record in focused.items():
        charts[f"quadrants-{name}"] = quadrant_chart(record, name)
    if focused:
        charts["threshold"] = threshold_chart(focused)
    return charts
