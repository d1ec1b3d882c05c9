"""Results and settings of a run for pages and figures, read from its records and manifest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from foveate.charts.palette import label, paradigm_class
from foveate.metrics.intervals import Interval, mean_interval
from foveate.metrics.metric import summarise
from foveate.records.record import Array, Record
from foveate.records.runs import Run

__all__ = [
    "Outcome",
    "Switch",
    "band",
    "class_names",
    "find_switch",
    "outcomes",
    "run_names",
    "setup_tables",
]

Table = tuple[str, list[tuple[str, str]]]


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


def run_names(runs: Sequence[Run]) -> list[str]:
    """Directory names of the runs, numbered if two are equal."""
    names: list[str] = []
    for run in runs:
        name, k = run.path.resolve().name, 2
        while name in names:
            name, k = f"{run.path.resolve().name} ({k})", k + 1
        names.append(name)
    return names


def setup_tables(run: Run, name: str, records: Mapping[str, Record]) -> list[Table]:
    """All settings in the manifest, in titled tables; empty tables are omitted."""
    manifest = run.manifest
    general = {
        "directory": name,
        "created": manifest["created"],
        "commit": manifest.get("commit") or "not recorded",
        "status": manifest["status"],
        "wall-clock seconds": round(manifest.get("seconds") or 0.0, 1),
        "seeds": manifest.get("seeds", []),
    }
    versions, sizes = manifest.get("versions", {}), manifest.get("sizes", {})
    tables = [
        ("Configuration", _rows(manifest["config"])),
        ("Sizes", _rows(sizes)),
        ("As trained", _trained(manifest.get("resolved", {}), records)),
        ("Run", _rows(general)),
        ("Versions", _rows(versions)),
    ]
    return [(title, rows) for title, rows in tables if rows]


def _trained(resolved: Mapping[str, Any], records: Mapping[str, Record]) -> list[tuple[str, str]]:
    rows = []
    for name, settings in resolved.items():
        words = [f"{key} {_format_value(value)}" for key, value in settings.items()]
        if name in records and records[name].meta["epochs_run"] != settings.get("epochs"):
            words.append(f"stopped after {records[name].meta['epochs_run']}")
        rows.append((label(name), ", ".join(words)))
    return rows


def _rows(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(key, _format_value(value)) for key, value in values.items()]


def _format_value(value: Any) -> str:
    """A setting as text."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(_format_value, value)) or "–"
    return f"{value:,}" if isinstance(value, int) else str(value)
