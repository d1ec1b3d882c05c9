"""Tables for the terminal, and the same numbers for machines."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from foveate.metrics.intervals import Interval
from foveate.metrics.summary import SHARES, summarise
from foveate.runs import Run

__all__ = ["as_numbers", "print_race", "print_registered", "print_runs"]


def as_numbers(run: Run) -> dict[str, Any]:
    """What ``foveate race --json`` prints; shares in percent."""
    paradigms = {}
    for name, record in run.records().items():
        summary = summarise(record)
        paradigms[name] = {
            k: v._asdict() if isinstance(v, Interval) else v for k, v in summary.items()
        }
    config = run.manifest["config"]
    return {
        "data": config["data"],
        "m": config["m"],
        "seeds": config["seeds"],
        "run": str(run.path),
        "paradigms": paradigms,
    }


def print_race(run: Run) -> None:
    """The table of a race, and where its report is."""
    config = run.manifest["config"]
    title = f"{Path(config['data']).name}, m = {config['m']}, {config['seeds']} seeds"
    table = Table(
        title=title, caption="% of held-out bags: mean [95 % interval over seeds]; cost per seed"
    )
    table.add_column("paradigm")
    for heading in ("accuracy", "FT", "SAIF", "CPU s", "classifier calls", "epochs"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, record in run.records().items():
        summary = summarise(record)
        shares = [_interval(summary.get(key)) for key in SHARES]
        cost = [f"{summary['cpu_seconds']:.2f}", f"{summary['classifier_calls']:,.0f}"]
        table.add_row(name, *shares, *cost, str(record.meta["epochs_run"]))
    console = Console(width=None if Console().is_terminal else 110)
    console.print(table)
    console.print(f"report: {run.path / 'report.html'}", soft_wrap=True, highlight=False)


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
        table.add_row(*row, seeds, manifest["status"], manifest["created"][:16].replace("T", " "))
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
    if kind == "experiments":
        from foveate.experiments.experiment import EXPERIMENTS

        return [(name, kind.about) for name, kind in EXPERIMENTS.items()]
    from foveate.maps import MAPS
    from foveate.paradigms import PARADIGMS

    registry: Any = MAPS if kind == "maps" else PARADIGMS
    return [(name, _first_sentence(item)) for name, item in registry.items()]


def _first_sentence(item: Any) -> str:
    return (item.__doc__ or "").strip().splitlines()[0]


def _interval(value: Interval | None) -> str:
    if value is None:
        return "–"
    if value.low is None or value.high is None:
        return f"{value.mean:.1f}"
    return f"{value.mean:.1f} [{value.low:.1f}, {value.high:.1f}]"
