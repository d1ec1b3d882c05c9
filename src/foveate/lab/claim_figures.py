"""The figure of every claim that was checked, for the lab and for the docs.

In this order: from a run on this machine; from a run whose figure came with the package; from the
stored table; where there is nothing else, the stored effect with its interval.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from foveate.charts.render import vega_spec
from foveate.lab.bundled import bundled_json
from foveate.records.findings import Entry, Ledger
from foveate.records.published import Cell

__all__ = ["claim_figure"]

Figure = dict[str, Any]


def claim_figure(ledger: Ledger, entry: Entry) -> Figure | None:
    """The figure of a claim as ``name``, ``spec`` (Vega-Lite) and ``source``, a sentence.

    Args:
        ledger: The ledger with the runs on this machine.
        entry: The claim; one without a finding has no figure.
    """
    if entry.finding is None:
        return None
    return _from_run(ledger, entry) or _bundled(entry) or _from_table(entry) or _effect(entry)


def _from_run(ledger: Ledger, entry: Entry) -> Figure | None:
    run = ledger.runs.get(entry.experiment)
    if run is None or entry.finding is None:
        return None
    changed = (run.path / "manifest.json").stat().st_mtime_ns
    chart = _run_charts(str(run.path), changed).get(entry.finding.figure)
    source = f"Drawn from the run {run.path.name} on this machine."
    return _figure(entry, chart, source)


@lru_cache(maxsize=4)
def _run_charts(path: str, _changed: int) -> Mapping[str, Any]:
    from foveate.jobs.experiment import experiment_charts
    from foveate.records.runs import open_run

    return experiment_charts(open_run(path))


def _bundled(entry: Entry) -> Figure | None:
    figure: Figure | None = bundled_json("claims").get(entry.claim)
    return figure


def _from_table(entry: Entry) -> Figure | None:
    assert entry.finding is not None
    chart = _table_charts().get(entry.experiment, {}).get(entry.finding.figure)
    return _figure(entry, chart, "Drawn from the stored table, which came with the package.")


@lru_cache(maxsize=1)
def _table_charts() -> dict[str, Mapping[str, Any]]:
    """The charts of the stored tables at small scale, by experiment."""
    from foveate.jobs.experiment import EXPERIMENTS
    from foveate.studies.published import Reproduction
    from foveate.studies.reproduction import stored_results

    charts = {}
    for result in stored_results():
        kind = EXPERIMENTS.get(result["table"])
        if "cells" in result and not result.get("label") and issubclass(kind, Reproduction):
            cells = [Cell(**{k: c[k] for k in Cell._fields if k in c}) for c in result["cells"]]
            charts[result["table"]] = kind().cell_figures(cells)
    return charts


def _effect(entry: Entry) -> Figure | None:
    from foveate.report.drawing.finding_chart import finding_chart

    assert entry.finding is not None
    source = f"The stored result; “foveate run {entry.experiment}” draws the figure of the study."
    return _figure(entry, finding_chart(entry.finding), source)


def _figure(entry: Entry, chart: Any, source: str) -> Figure | None:
    if chart is None or entry.finding is None:
        return None
    return {"name": entry.finding.figure, "spec": vega_spec(chart), "source": source}
