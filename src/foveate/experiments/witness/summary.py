"""The study in numbers: each paradigm beside the oracle, and the variants on validation bags."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from foveate.experiments.experiment import Records
from foveate.experiments.verdicts import in_words
from foveate.experiments.witness import RULES
from foveate.experiments.witness.sets import STUDY
from foveate.metrics.intervals import Interval, bootstrap
from foveate.record import Array, Record

__all__ = ["MEASURES", "Line", "lines", "markdown", "variants"]

MEASURES = ("saif", "ft", "accuracy")


class Line(NamedTuple):
    """One paradigm on one set.

    Args:
        name: The set.
        rule: The paradigm.
        measured: SAIF, FT and accuracy in per cent, over seeds.
        of_oracle: Share of the oracle's SAIF and FT reached, of means.
        gain: SAIF above the better of LVML and hybrid, paired by seed; None for others.
        calls: Classifier calls a bag and epoch, in the mean.
    """

    name: str
    rule: str
    measured: dict[str, Interval]
    of_oracle: dict[str, float]
    gain: Interval | None
    calls: float


def lines(records: Records, names: Sequence[str]) -> list[Line]:
    """Every paradigm on every set that was run."""
    return [_line(records, name, rule) for name in names for rule in RULES]


def _line(records: Records, name: str, rule: str) -> Line:
    own, oracle = records[f"{name}-{rule}"], records[f"{name}-oracle"]
    measured = {key: bootstrap(100 * _end(own, key)) for key in MEASURES}
    shares = {key: _share(_end(own, key), _end(oracle, key)) for key in MEASURES[:2]}
    return Line(name, rule, measured, shares, _gain(records, name, rule), _calls(own))


def _share(own: Array, oracle: Array) -> float:
    """What is reached of the oracle's mean; nan where the oracle itself reached nothing."""
    return float(own.mean() / oracle.mean()) if oracle.mean() > 0 else float("nan")


def _gain(records: Records, name: str, rule: str) -> Interval | None:
    if rule != "witness":
        return None
    others = [100 * _end(records[f"{name}-{other}"], "saif") for other in ("lvml", "hybrid")]
    better = max(others, key=lambda values: float(values.mean()))
    return bootstrap(100 * _end(records[f"{name}-{rule}"], "saif") - better)


def _end(record: Record, key: str) -> Array:
    return record.values[key][-1]


def _calls(record: Record) -> float:
    """Calls of the classifier for each training bag and epoch."""
    return (
        float(np.mean(record.meta["classifier_calls"]))
        / record.meta["n"]
        / record.meta["plan"]["epochs"]
    )


def variants(records: Records) -> list[tuple[str, str, dict[str, Interval]]]:
    """Set, variant and what it reached on validation bags, in per cent."""
    return [
        (
            record.meta["set"],
            record.meta["variant"],
            {key: bootstrap(100 * _end(record, key)) for key in MEASURES},
        )
        for record in records.values()
        if "variant" in record.meta
    ]


def markdown(records: Records, names: Sequence[str]) -> str:
    """The table of the guide."""
    head = "| set | paradigm | accuracy | FT | SAIF | of the oracle's FT, SAIF | calls | "
    head += "SAIF above the better of LVML and hybrid |\n|---|---|---|---|---|---|---|---|"
    body = [_row(line) for line in lines(records, names)]
    return "\n".join([head, *body])


def _row(line: Line) -> str:
    row, m = STUDY[line.name], line.measured
    where = f"{row.group}, {row.setting}" if row.setting else row.group
    values = [f"{m[key].mean:.1f} {_spread(m[key])}" for key in ("accuracy", "ft", "saif")]
    shares = ", ".join(f"{100 * line.of_oracle[key]:.1f} %" for key in ("ft", "saif"))
    gain = "" if line.gain is None else in_words(line.gain)
    cells = [where, line.rule, *values, shares, f"{line.calls:.1f}", gain]
    return f"| {' | '.join(cells)} |"


def _spread(value: Interval) -> str:
    return "" if value.low is None else f"[{value.low:.1f}, {value.high:.1f}]"
