"""Tables for the terminal: runs, registered names, claims."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from foveate.records.findings import Ledger, effect_words
from foveate.records.runs import Run

__all__ = ["print_ledger", "print_registered", "print_runs"]


def print_runs(runs: Sequence[Run], folder: Path) -> None:
    """One line a run, newest first."""
    if not runs:
        print(f"no runs in {folder}")
        return
    table = Table()
    for heading in ("run", "kind", "data", "parts", "seeds", "status", "started"):
        table.add_column(heading, overflow="fold")
    for run in runs:
        manifest = run.manifest
        row = (
            run.name,
            manifest["kind"],
            Path(manifest["label"]).name,
            ", ".join(manifest["parts"]),
        )
        seeds = str(len(manifest.get("seeds", [])))
        table.add_row(
            *map(escape, row), seeds, manifest["status"], manifest["created"][:16].replace("T", " ")
        )
    Console(width=None if Console().is_terminal else 140).print(table)


def print_registered(kind: str) -> None:
    """Names of one kind with a line each."""
    rows = _registered(kind)
    width = max(len(name) for name, _ in rows)
    for name, about in rows:
        print(f"{name:<{width}}  {about}")


def _registered(kind: str) -> list[tuple[str, str]]:
    if kind == "datasets":
        from foveate.data import DATASETS

        return [(name, make().about) for name, make in DATASETS.items()]
    if kind == "metrics":
        from foveate.metrics.metric import METRICS

        return [(name, item.description) for name, item in METRICS.items()]
    if kind == "experiments":
        from foveate.jobs.experiment import EXPERIMENTS

        return [(name, kind.about) for name, kind in EXPERIMENTS.items()]
    from foveate.attention.maps import MAPS
    from foveate.attention.paradigms import PARADIGMS

    registry: Any = MAPS if kind == "maps" else PARADIGMS
    return [(name, _first_sentence(item)) for name, item in registry.items()]


def _first_sentence(item: Any) -> str:
    return (item.__doc__ or "").strip().splitlines()[0]


def print_ledger(ledger: Ledger, paper: str | None) -> None:
    """One row a claim of the ledger, and where it comes from."""
    table = Table(title=f"claims at {ledger.scale} scale or larger")
    for heading in ("claim", "statement", "verdict", "measured", "experiment", "scale"):
        table.add_column(heading, overflow="fold")
    for entry in ledger.of(paper):
        finding = entry.finding
        verdict, effect = (finding.verdict, effect_words(finding)) if finding else ("not run", "–")
        scale = (entry.scale or "–") if finding else "–"
        table.add_row(entry.claim, entry.statement, verdict, effect, entry.experiment, scale)
    _console().print(table)
    if not ledger.runs:
        print("as shipped; 'foveate claims --run' runs them here")


def _console() -> Console:
    return Console(width=None if Console().is_terminal else 140)
