"""Results of a run for pages and figures, computed from its records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from foveate.charts.palette import paradigm_class
from foveate.metrics.intervals import Interval, mean_interval
from foveate.metrics.metric import summarise
from foveate.records.record import Array, Record
from foveate.records.runs import Run

__all__ = ["Outcome", "Switch", "band", "class_names", "find_switch", "outcomes"]


@dataclass(frozen=True)
class Outcome:
    """Final results of one paradigm of one run.

    Args:
        run: The run's display name.
        paradigm: The paradigm's name.
        summary: The result of :func:`foveate.metrics.metric.summarise`.
        epochs: Epochs trained.
        seeds: Number of seeds.
    """

    run: str
    paradigm: str
    summary: Mapping[str, Any]
    epochs: int
    seeds: int

    def share(self, name: str) -> Interval | None:
        """A metric of the summary, shares in percent; None if it could not be measured."""
        return self.summary.get(name)


def outcomes(run: str, records: Mapping[str, Record]) -> list[Outcome]:
    """The outcome of each finished paradigm of a run."""
    return [
        Outcome(run, name, summarise(r), r.meta["epochs_run"], len(r.meta["seeds"]))
        for name, r in records.items()
    ]


def band(values: Array, top: float = np.inf, bottom: float = 0.0) -> list[Interval]:
    """Mean over seeds with its 95 % interval, for each row of values (T, S) within bounds."""
    return [mean_interval(row, within=(bottom, top)) for row in values]


def class_names(run: Run, classes: int) -> Sequence[str]:
    """Class names; placeholders for an unfinished run, which has not written them yet."""
    named = run.manifest.get("sizes", {}).get("classes", [])
    return [str(named[k]) if k < len(named) else f"class {k}" for k in range(classes)]


class Switch(NamedTuple):
    """Where the second phase of a paradigm starts.

    Args:
        paradigm: Its name.
        epoch: The first epoch of the second phase.
        phase: The label of the second phase.
    """

    paradigm: str
    epoch: int
    phase: str


def find_switch(run: Run, records: Mapping[str, Record]) -> Switch | None:
    """The paradigm that the race's switch applies to, its epoch, and the phase that starts there.

    None without such a paradigm, and where the switch comes at another epoch for every seed.
    """
    switch = run.manifest["config"].get("switch")
    for name, record in records.items():
        kind = paradigm_class(name)
        if switch is None or kind is None or not kind.has_switch:
            continue
        rule, meta = kind.from_settings(switch=switch), record.meta
        epoch = rule.switch_epoch(meta.get("plan", {}).get("epochs", meta["epochs_run"]))
        if epoch is not None and 0 < epoch < meta["epochs_run"]:
            return Switch(name, epoch, rule.phase_labels[-1])
    return None
