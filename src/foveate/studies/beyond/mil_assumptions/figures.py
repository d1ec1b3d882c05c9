"""Figure of the multiple-instance tests: bag AUC of every method with the clue reversed."""

from collections.abc import Mapping
from typing import Any

from foveate.jobs.experiment import Records
from foveate.studies.beyond.mil_assumptions import MilAssumptions, MilAssumptionsSettings
from foveate.studies.comparison_chart import beside

__all__ = ["figures"]


def figures(settings: MilAssumptionsSettings, records: Records) -> Mapping[str, Any]:
    """Bag AUC with intervals over seeds, one panel per test and set of bags."""
    cells = MilAssumptions().cells(settings, records)
    return {"auc": beside(cells, {}, "bag AUC", columns=len(settings.kinds))}
