"""Figure of the multiple-instance tests: bag AUC of every method with the clue reversed."""

from collections.abc import Mapping
from typing import Any

from foveate.jobs.experiment import Records
from foveate.studies.beyond.mil_assumptions import MEASURES, MilAssumptions, MilAssumptionsSettings
from foveate.studies.comparison_chart import comparison_chart

__all__ = ["figures"]


def figures(settings: MilAssumptionsSettings, records: Records) -> Mapping[str, Any]:
    """Bag AUC on bags with the clue reversed, with intervals over seeds, one panel per test."""
    cells, measure = MilAssumptions().cells(settings, records), next(iter(MEASURES))
    return {"auc": comparison_chart(cells, {}, measure, columns=len(settings.kinds))}
