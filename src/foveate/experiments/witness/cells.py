"""The study in numbers: every paradigm beside the oracle, and the variants on validation bags."""

from collections.abc import Callable, Mapping

import numpy as np

from foveate.experiments.experiment import Records
from foveate.experiments.published import Cell, cell
from foveate.experiments.signatures import confidence
from foveate.experiments.table1.rows import Row
from foveate.experiments.witness.sets import STUDY
from foveate.metrics.focus import focus_true, saif
from foveate.record import Array, Record

__all__ = ["GAIN", "REACHED", "RULES", "VALIDATION", "witness_cells"]

RULES = ("soft", "hard", "lvml", "hybrid", "witness", "oracle")
VALIDATION = "validation bags"
GAIN = "SAIF above the better of LVML and hybrid, points"
REACHED = "{} of the oracle's, %"


def witness_cells(names: tuple[str, ...], records: Records) -> list[Cell]:
    """Every paradigm on every set that is reported on, then every variant on validation bags.

    Args:
        names: Sets in :data:`~foveate.experiments.witness.sets.STUDY`.
        records: By part.
    """
    cells = []
    for name in names:
        row, own = STUDY[name], {rule: records[f"{name}-{rule}"] for rule in RULES}
        for rule, record in own.items():
            values = {**_measured(record), "calls of g a bag and epoch": _calls(record)}
            cells += _cells(row.group, row.setting, rule, values)
        cells += _cells(row.group, row.setting, "witness", _compared(own))
    for record in records.values():
        if "variant" in record.meta:
            row = STUDY[record.meta["set"]]
            cells += _cells(row.group, _validation(row), record.meta["variant"], _measured(record))
    return cells


def _cells(group: str, setting: str, name: str, values: Mapping[str, Array]) -> list[Cell]:
    return [cell((group, name, measure), setting, v) for measure, v in values.items()]


def _validation(row: Row) -> str:
    return f"{row.setting}, {VALIDATION}" if row.setting else VALIDATION


def _measured(record: Record) -> dict[str, Array]:
    """In per cent, one number a seed, over the bags whose relevant segments are known."""
    final = record.final
    known: Array = np.asarray(final["z"].any(-1))
    a_z, p_y = confidence(record)
    focused = focus_true(final["s"], final["z"], final.get("mask"))
    return {
        "SAIF %": 100 * _over(known, lambda s: saif(a_z[s], p_y[s])),
        "FT %": 100 * _over(known, lambda s: focused[s].mean()),
        "accuracy %": 100 * record.last("accuracy"),
    }


def _over(known: Array, of: Callable[[tuple[int, Array]], Array]) -> Array:
    """A measure of the known bags of each seed, shape (S,)."""
    return np.array([of((seed, rows)) for seed, rows in enumerate(known)])


def _compared(own: Mapping[str, Record]) -> dict[str, Array]:
    """The witness against the oracle and, paired by seed, the better of LVML and hybrid."""
    values = {rule: _measured(record) for rule, record in own.items()}
    better = max((values[rule]["SAIF %"] for rule in ("lvml", "hybrid")), key=np.mean)
    # Of the oracle's mean, so that a seed on which it fails does not blow up.
    most = {key: float(values["oracle"][f"{key} %"].mean()) for key in ("SAIF", "FT")}
    shares = {
        REACHED.format(key): 100 * values["witness"][f"{key} %"] / mean
        for key, mean in most.items()
        if mean
    }
    return {GAIN: values["witness"]["SAIF %"] - better, **shares}


def _calls(record: Record) -> Array:
    """Calls of the classifier for each training bag and epoch, in the mean."""
    bags = record.meta["n"] * record.meta["plan"]["epochs"]
    return np.array([np.mean(record.meta["classifier_calls"]) / bags])
