"""The configuration of a run as tables of text."""

from collections.abc import Mapping, Sequence
from typing import Any

from foveate.charts.palette import label
from foveate.records.record import Record
from foveate.records.runs import Run
from foveate.report.sentences import join_words

__all__ = ["run_names", "setup_tables", "unfinished"]

Table = tuple[str, list[tuple[str, str]]]


def run_names(runs: Sequence[Run]) -> list[str]:
    """Directory names of the runs, numbered if two are equal."""
    names: list[str] = []
    for run in runs:
        name, k = run.path.resolve().name, 2
        while name in names:
            name, k = f"{run.path.resolve().name} ({k})", k + 1
        names.append(name)
    return names


def unfinished(run: Run, records: Mapping[str, Record]) -> str:
    """A sentence on what an unfinished run lacks; empty if it is finished."""
    missing = [label(part) for part in run.manifest["parts"] if part not in records]
    if missing:
        return f"This run is not finished: {join_words(missing)} not fully trained yet."
    return "" if run.done else "This run is not finished: its summary is not written yet."


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
