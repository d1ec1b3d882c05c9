"""How a run was set up, as tables of words."""

from collections.abc import Mapping, Sequence
from typing import Any

from foveate.charts.palette import label
from foveate.records.record import Record
from foveate.records.runs import Run
from foveate.report.sentences import listed

__all__ = ["run_names", "setup_tables", "unfinished"]

Table = tuple[str, list[tuple[str, str]]]


def run_names(runs: Sequence[Run]) -> list[str]:
    """The names of the runs, told apart where two directories share one."""
    names: list[str] = []
    for run in runs:
        name, k = run.path.resolve().name, 2
        while name in names:
            name, k = f"{run.path.resolve().name} ({k})", k + 1
        names.append(name)
    return names


def unfinished(run: Run, records: Mapping[str, Record]) -> str:
    """What is missing of a run, in a sentence; empty if nothing is."""
    missing = [label(part) for part in run.manifest["parts"] if part not in records]
    if missing:
        return f"This run is not finished: {listed(missing)} not trained to the end yet."
    return "" if run.done else "This run is not finished: its last words are not written yet."


def setup_tables(run: Run, name: str, records: Mapping[str, Record]) -> list[Table]:
    """Everything the manifest says of the run, in titled tables; what it lacks is left out."""
    manifest = run.manifest
    written = {
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
        ("Run", _rows(written)),
        ("Versions", _rows(versions)),
    ]
    return [(title, rows) for title, rows in tables if rows]


def _trained(resolved: Mapping[str, Any], records: Mapping[str, Record]) -> list[tuple[str, str]]:
    rows = []
    for name, settled in resolved.items():
        words = [f"{key} {_plain(value)}" for key, value in settled.items()]
        if name in records and records[name].meta["epochs_run"] != settled.get("epochs"):
            words.append(f"stopped after {records[name].meta['epochs_run']}")
        rows.append((label(name), ", ".join(words)))
    return rows


def _rows(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(key, _plain(value)) for key, value in values.items()]


def _plain(value: Any) -> str:
    """A value as a reader would write it."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value)) or "–"
    return f"{value:,}" if isinstance(value, int) else str(value)
