"""The diagnosis in numbers: the forecast for each corpus, and the results on the copy tasks."""

from typing import TYPE_CHECKING, get_args

import numpy as np

from foveate.jobs.experiment import Records
from foveate.metrics.intervals import Interval
from foveate.records.published import Cell
from foveate.records.record import Record
from foveate.studies.beyond.diagnosis.ranking import ranking, steps_to_learn
from foveate.studies.published import cell
from foveate.text.statistics.decision import Verdict

if TYPE_CHECKING:
    from foveate.studies.beyond.diagnosis import DiagnosisSettings

__all__ = ["ATTENTION", "FORECAST", "LEFT", "RANKED", "TRAINED", "VERDICTS", "diagnosis_cells"]

FORECAST, TRAINED, RANKED = "Said before training", "Then trained", "Ranked"
VERDICTS: tuple[str, ...] = get_args(Verdict)[::-1]
"""What is said, from 0 on: a cell holds a number."""


NAMES = {"sst": "SST", "imdb": "IMDB", "sms": "SMS spam", "multi30k": "Multi30k En–De, words"}
ATTENTION = "attention (0 unlikely, 1 may be, 2 likely)"
LEFT = ("left of C − mean C, permuted, %", "left of Trans, permuted, %")


def diagnosis_cells(settings: "DiagnosisSettings", records: Records) -> list[Cell]:
    """Groups of cells: forecasts, results of training, and their rank correlation."""
    cells = [
        cell((FORECAST, NAMES.get(name, name), measure), "", np.array([value]))
        for name, record in records.items()
        for measure, value in _forecast_numbers(record).items()
        if np.isfinite(value)
    ]
    for name, steps in steps_to_learn(settings, records).items():
        learnt = np.isfinite(steps)
        cells.append(cell((TRAINED, name, "seeds that learn %"), "", 100.0 * learnt))
        if learnt.any():
            median = float(np.median(steps[learnt]))
            cells.append(cell((TRAINED, name, "steps, median"), "", np.array([median])))
    speed, success, most = ranking(settings, records)
    for name, interval in (
        ("information and speed", speed),
        ("information and share of seeds that learn", success),
        ("the most that ties allow for the latter", Interval(most, None, None)),
    ):
        if np.isfinite(interval.mean):
            cells.append(Cell(RANKED, name, "Spearman's ρ", "", *interval, settings.seeds))
    return cells


def _forecast_numbers(record: Record) -> dict[str, float]:
    final = {name: float(values[0]) for name, values in record.final.items()}
    return {
        "sentences": final["sentences"],
        "information, nats": final["information"],
        "of the whole table, nats": final["table"],
        "z": final["z"],
        "lift %": 100 * final["lift"],
        "sentences without %": 100 * final["without"],
        ATTENTION: VERDICTS.index(record.meta["said"]),
        LEFT[0]: 100 * final["left_of_counts"],
        LEFT[1]: 100 * final["left_of_trans"],
    }
