"""The study in numbers: every paradigm beside the oracle, and the variants on validation bags."""

from collections.abc import Callable, Mapping

import numpy as np

from foveate.jobs.experiment import Records
from foveate.metrics.calibration import cross_calibrated
from foveate.metrics.focus import focus_and_prediction, focus_true, saif
from foveate.records.published import Cell
from foveate.records.record import Array, Record
from foveate.studies.beyond.witness.sets import STUDY
from foveate.studies.published import cell
from foveate.studies.vr23.table1.rows import Row

__all__ = [
    "CALIBRATED_SAIF",
    "CALM_GAIN",
    "GAIN",
    "OF_ORACLE",
    "RULES",
    "VALIDATION",
    "witness_cells",
]

RULES = ("soft", "hard", "lvml", "hybrid", "witness", "oracle")
VALIDATION = "validation bags"
GAIN = "SAIF above the better of LVML and hybrid, points"
CALIBRATED_SAIF = "SAIF of calibrated answers, %"
CALM_GAIN = f"{CALIBRATED_SAIF.removesuffix(', %')} above the better of LVML and hybrid, points"
OF_ORACLE = "{} of the oracle's, %"


def witness_cells(names: tuple[str, ...], records: Records) -> list[Cell]:
    """Every paradigm on every set that is reported on, then every variant on validation bags.

    Args:
        names: Sets in :data:`~foveate.studies.beyond.witness.sets.STUDY`.
        records: By part.
    """
    cells = []
    for name in names:
        row, values = STUDY[name], {rule: _reported(records[f"{name}-{rule}"]) for rule in RULES}
        for rule in RULES:
            cells += _cells(row.group, row.setting, rule, values[rule])
        cells += _cells(row.group, row.setting, "witness", _compared(values))
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
    a_z, p_y = focus_and_prediction(record)
    focused = focus_true(final["s"], final["z"], final.get("mask"))
    return {
        "SAIF %": 100 * _mean_over(known, lambda s: saif(a_z[s], p_y[s])),
        "FT %": 100 * _mean_over(known, lambda s: focused[s].mean()),
        "accuracy %": 100 * record.last("accuracy"),
    }


def _reported(record: Record) -> dict[str, Array]:
    """Also mean confidence, and SAIF after calibration of the predictions.

    Paradigms that look alike differ in SAIF by how sure they are, rightly or not. Answers are
    calibrated on the bags between those they are given for.
    """
    final, (a_z, _) = record.final, focus_and_prediction(record)
    known: Array = np.asarray(final["z"].any(-1))
    log_p = final["log_p"].astype(np.float64)
    y = np.broadcast_to(final["y"], log_p.shape[:2])
    calibrated = np.stack(
        [cross_calibrated(*member) for member in zip(np.exp(log_p), y, strict=True)]
    )
    loss, calm_y = (np.take_along_axis(v, y[..., None], 2)[..., 0] for v in (-log_p, calibrated))
    return {
        **_measured(record),
        "log loss": loss.mean(-1),
        CALIBRATED_SAIF: 100 * _mean_over(known, lambda s: saif(a_z[s], calm_y[s])),
        "calls of g a bag and epoch": _calls(record),
    }


def _mean_over(known: Array, of: Callable[[tuple[int, Array]], Array]) -> Array:
    """A measure of the known bags of each seed, shape (S,)."""
    return np.array([of((seed, rows)) for seed, rows in enumerate(known)])


def _compared(values: Mapping[str, Mapping[str, Array]]) -> dict[str, Array]:
    """The witness against the oracle and, paired by seed, the better of LVML and hybrid."""

    def gain(measure: str) -> Array:
        better = max((values[rule][measure] for rule in ("lvml", "hybrid")), key=np.mean)
        return values["witness"][measure] - better

    # Relative to the oracle's mean: single seeds of the oracle can be near 0.
    most = {key: float(values["oracle"][f"{key} %"].mean()) for key in ("SAIF", "FT")}
    shares = {
        OF_ORACLE.format(key): 100 * values["witness"][f"{key} %"] / mean
        for key, mean in most.items()
        if mean
    }
    return {GAIN: gain("SAIF %"), CALM_GAIN: gain(CALIBRATED_SAIF), **shares}


def _calls(record: Record) -> Array:
    """Calls of the classifier for each training bag and epoch, in the mean."""
    bags = record.meta["n"] * record.meta["plan"]["epochs"]
    return np.array([np.mean(record.meta["classifier_calls"]) / bags])
