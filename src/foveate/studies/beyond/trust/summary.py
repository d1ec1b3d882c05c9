"""The table of the study: one line per set and one for all; old score, auditor and rule."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from foveate.jobs.experiment import Records
from foveate.metrics.ranks import spearman
from foveate.records.published import Cell
from foveate.records.record import Array, Record
from foveate.trust.grades import CARE, GRADES, TRUST

__all__ = ["ROLES", "Row", "by_role", "row_of", "trust_cells"]

SAYS_TRUST = (GRADES.index("trust"), GRADES.index("trust with care"))
ROLES = {
    "design": "Design",
    "confirmation": "Confirmation",
    "second": "Second confirmation",
    "third": "Third confirmation",
}
DISTRUST, CANNOT_TELL = GRADES.index("do not trust"), GRADES.index("cannot tell")


class Row(NamedTuple):
    """One line: some sets, and the verdicts on their classes and models.

    A case is a class of two models that were trained alike. ``false_alarms`` are cases with FT of
    at least .85 graded "do not trust", ``misses`` those with FT below .6 graded "trust" or "trust
    with care"; ``good`` and ``bad`` count such FT.
    """

    name: str
    cases: int
    least: float
    largest: float
    chance: float
    good: int
    bad: int
    old_rho: float
    old_error: float
    old_false_alarms: int
    old_misses: int
    auditor_rho: float
    auditor_error: float
    reported_error: float
    false_alarms: int
    misses: int
    silent: float
    covered: float
    pick: float
    old_pick: float
    best: float


def by_role(records: Records, role: str) -> dict[str, Record]:
    """The records of the design or of the confirmation sets."""
    return {name: r for name, r in records.items() if r.meta["role"] == role}


def row_of(records: Sequence[Record], name: str) -> Row:
    """The line of some sets.

    Args:
        records: At least one.
        name: What the line is called.
    """

    def joined(key: str) -> Array:
        values: Array = np.concatenate([r.final[key] for r in records])
        return values

    known = joined("bags") >= 5
    ft, estimate, grade = (joined(key)[known] for key in ("ft", "estimate", "grade"))
    auditor, old, old_grade = (joined(k)[known] for k in ("auditor", "model_score", "model_grade"))
    estimated = ~np.isnan(estimate)
    good, bad = ft >= TRUST, ft < CARE
    inside = (joined("low")[known] <= ft) & (ft <= joined("high")[known])
    return Row(
        name,
        len(ft),
        _least(ft),
        float(ft.max()) if len(ft) else float("nan"),
        float(joined("chance")[known].mean()),
        int(good.sum()),
        int(bad.sum()),
        _rho(old, ft),
        _error(old, ft),
        int((good & (old_grade == DISTRUST)).sum()),
        int((bad & np.isin(old_grade, SAYS_TRUST)).sum()),
        _rho(auditor, ft),
        _error(auditor, ft),
        _error(estimate, ft),
        int((good & (grade == DISTRUST)).sum()),
        int((bad & np.isin(grade, SAYS_TRUST)).sum()),
        float((grade == CANNOT_TELL).mean()),
        float(inside[estimated].mean()) if estimated.any() else float("nan"),
        float(np.mean([_picked_value(r, "way_score") for r in records])),
        float(np.mean([_picked_value(r, "way_model_score") for r in records])),
        float(np.mean([r.final["way_ft"].max() for r in records])),
    )


def trust_cells(records: Records) -> list[Cell]:
    """A line a set and one of all, by role, for identifiable sets and for the others."""
    cells = []
    for role, title in ROLES.items():
        of_role = by_role(records, role)
        for sees in (True, False):
            part = {name: r for name, r in of_role.items() if bool(r.meta["identifiable"]) == sees}
            group = f"{title}, {'' if sees else 'not '}identifiable"
            rows = [row_of([record], name) for name, record in part.items()]
            rows += [row_of(list(part.values()), "all")] if part else []
            for row in rows:
                cells += _cells(group, row)
        if of_role:
            cells += _cells(title, row_of(list(of_role.values()), "all"))
    return cells


def _cells(group: str, row: Row) -> list[Cell]:
    values = {
        "cases": row.cases,
        "least FT %": 100 * row.least,
        "largest FT %": 100 * row.largest,
        "chance %": 100 * row.chance,
        "good": row.good,
        "bad": row.bad,
        "old ρ": row.old_rho,
        "old error": row.old_error,
        "old false alarms": row.old_false_alarms,
        "old misses": row.old_misses,
        "auditor ρ": row.auditor_rho,
        "auditor error": row.auditor_error,
        "error where said": row.reported_error,
        "false alarms": row.false_alarms,
        "misses": row.misses,
        "cannot tell %": 100 * row.silent,
        "interval holds %": 100 * row.covered,
        "FT of the pick %": 100 * row.pick,
        "FT of the old pick %": 100 * row.old_pick,
        "best FT %": 100 * row.best,
    }
    return [
        Cell(group, row.name, key, "", float(value), None, None, row.cases)
        for key, value in values.items()
        if not np.isnan(value)
    ]


def _least(values: Array) -> float:
    return float(values.min()) if len(values) else float("nan")


def _rho(values: Array, ft: Array) -> float:
    known = ~np.isnan(values)
    return float(spearman(values[known], ft[known])) if known.sum() > 2 else float("nan")


def _error(values: Array, ft: Array) -> float:
    known = ~np.isnan(values)
    return float(np.abs(values - ft)[known].mean()) if known.any() else float("nan")


def _picked_value(record: Record, key: str) -> float:
    """FT of the variant that a score would choose among those about as accurate as the best.

    Where nothing is said, the choice is by accuracy alone.
    """
    accuracy, ft, score = (record.final[k] for k in ("way_accuracy", "way_ft", key))
    close = accuracy >= accuracy.max() - 0.03
    known = close & ~np.isnan(score)
    if not known.any():
        return float(ft[int(accuracy.argmax())])
    return float(ft[int(np.where(known, score, -np.inf).argmax())])
