"""How well the label-free score ranks models by FT, and what the detector finds and misses."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from foveate.jobs.experiment import Records
from foveate.metrics.intervals import Interval
from foveate.metrics.ranks import spearman
from foveate.records.published import Cell
from foveate.records.record import Array, Record
from foveate.trust.error_modes import ACCURATE, MODES, UNIFORM, detect, score

__all__ = ["Detection", "Row", "by_set", "confusion", "ranking", "role_of", "trust_cells"]

DRAWS = 2000
AWAY = 0.25  # mean place of the evidence among the scores, 0 lowest, below which f avoids it


class Detection(NamedTuple):
    """Classes that a detector calls astray, against those that are.

    A class of a model is astray where the model is accurate on it and FT is below one half.
    """

    found: int
    missed: int
    false: int

    @property
    def precision(self) -> float:
        """Share of what it calls astray that is; nan where it calls nothing so."""
        return self.found / (self.found + self.false) if self.found + self.false else float("nan")

    @property
    def recall(self) -> float:
        """Share of what is astray that it finds; nan where nothing is."""
        called = self.found + self.missed
        return self.found / called if called else float("nan")


class Row(NamedTuple):
    """One line of the validation: a set of models, ρ, error and detection."""

    name: str
    models: int
    low: float
    mean: float
    high: float
    picked: float
    """FT of the model with the largest score; of several sets the mean over them."""
    rho: Interval
    error: float
    detection: Detection
    lead: Detection


def role_of(records: Records, role: str) -> dict[str, Record]:
    """The records of the design sets, or of the validation sets."""
    return {name: r for name, r in records.items() if r.meta["role"] == role}


def by_set(records: Records) -> dict[str, dict[str, Record]]:
    """The records of each set."""
    sets: dict[str, dict[str, Record]] = {}
    for name, record in records.items():
        sets.setdefault(record.meta["set"], {})[name] = record
    return sets


def ranking(records: Records, name: str) -> Row:
    """Spearman's ρ of score and FT over models, with an interval by bootstrap over conditions.

    Seeds of a condition are alike, so whole conditions are drawn.
    """
    parts = list(records.values())
    said = np.stack([score(_marks(r)) for r in parts])
    true = np.stack([_ft(r) for r in parts])
    picks = np.random.default_rng(0).integers(len(parts), size=(DRAWS, len(parts)))
    drawn = spearman(said[picks].reshape(DRAWS, -1), true[picks].reshape(DRAWS, -1))
    drawn = drawn[~np.isnan(drawn)]
    ends = np.quantile(drawn, [0.025, 0.975]) if len(parts) > 1 and len(drawn) else (None, None)
    low, high = (None if end is None else float(end) for end in ends)
    rho = float(spearman(said.ravel(), true.ravel()))
    return Row(
        name,
        said.size,
        float(true.min()),
        float(true.mean()),
        float(true.max()),
        float(np.mean([_picked(own.values()) for own in by_set(records).values()])),
        Interval(rho, low, high),
        float(np.abs(said - true).mean()),
        _detection(parts, lambda r: detect(_marks(r)) > 0),
        _detection(parts, lambda r: r.final["unattended"] >= 0.5),
    )


def confusion(records: Records) -> Array:
    """Classes by true mode (rows) and detected mode (columns), 0 for none, shape (4, 4).

    By the truth a class is astray where FT is below one half at an accuracy of .8 or more; then in
    mode 3 where attention is nearly uniform, in mode 2 where f ranks its evidence in the lowest
    quarter, else in mode 1.
    """
    counts = np.zeros((len(MODES) + 1,) * 2, int)
    for record in records.values():
        final = record.final
        kind = np.where(final["rank"] < AWAY, 2, 1)
        kind = np.where(final["entropy"] >= UNIFORM, 3, kind)
        np.add.at(counts, (np.where(_astray(record), kind, 0), detect(_marks(record))), 1)
    return counts


def trust_cells(records: Records) -> list[Cell]:
    """The validation as a table: a line a set, and one of all design or all validation sets."""
    cells = []
    for role in ("design", "validation"):
        own = role_of(records, role)
        rows = [ranking(part, name) for name, part in by_set(own).items()]
        for row in [*rows, ranking(own, "all")] if own else []:
            cells += _cells(f"{role.capitalize()} sets", row)
    return cells


def _cells(group: str, row: Row) -> list[Cell]:
    alone = {
        "models": row.models,
        "least FT %": 100 * row.low,
        "mean FT %": 100 * row.mean,
        "largest FT %": 100 * row.high,
        "FT of the pick %": 100 * row.picked,
        "mean error": row.error,
        "classes astray": row.detection.found + row.detection.missed,
        "found by the detector": row.detection.found,
        "false calls": row.detection.false,
        "found by the lead alone": row.lead.found,
        "its false calls": row.lead.false,
    }
    values = {name: Interval(float(value), None, None) for name, value in alone.items()}
    values = {"models": values.pop("models"), "Spearman's ρ": row.rho, **values}
    return [Cell(group, row.name, name, "", *value, row.models) for name, value in values.items()]


def _marks(record: Record) -> dict[str, Array]:
    return dict(record.final)


def _ft(record: Record) -> Array:
    """FT of every member over all bags, shape (S,)."""
    weight: Mapping[str, Any] = record.final
    mean: Array = (weight["ft"] * weight["bags"]).sum(1) / weight["bags"].sum(1)
    return mean


def _picked(parts: Iterable[Record]) -> float:
    """FT of the model that the score alone would choose."""
    said, true = zip(*((score(_marks(r)), _ft(r)) for r in parts), strict=True)
    return float(np.concatenate(true)[np.nanargmax(np.concatenate(said))])


def _astray(record: Record) -> Array:
    astray: Array = (record.final["accuracy"] >= ACCURATE) & (record.final["ft"] < 0.5)
    return astray


def _detection(parts: list[Record], called: Callable[[Record], Array]) -> Detection:
    found = missed = false = 0
    for record in parts:
        says = called(record) & (record.final["accuracy"] >= ACCURATE)
        is_so = _astray(record)
        found += int((says & is_so).sum())
        missed += int((~says & is_so).sum())
        false += int((says & ~is_so).sum())
    return Detection(found, missed, false)
