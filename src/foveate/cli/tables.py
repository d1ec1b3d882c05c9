"""Tables for the terminal, and the same numbers for machines."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from foveate.metrics.faults import diverged, faults, silent
from foveate.metrics.intervals import Interval
from foveate.metrics.metric import summary_metrics
from foveate.metrics.summary import summarise
from foveate.records.findings import Finding, Ledger, effect_words
from foveate.records.runs import Run

__all__ = ["as_numbers", "print_race", "print_registered", "print_runs"]

WIDE = 110  # columns that a race's table needs for one line a paradigm


def as_numbers(run: Run) -> dict[str, Any]:
    """What ``foveate race --json`` prints; shares in percent."""
    paradigms = {}
    for name, record in run.records().items():
        summary = summarise(record)
        paradigms[name] = {
            k: v._asdict() if isinstance(v, Interval) else v for k, v in summary.items()
        }
        wrong = {"diverged": diverged(record), "silent": silent(record)}
        paradigms[name] |= {k: seeds for k, seeds in wrong.items() if seeds}
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
    console = Console(width=None if Console().is_terminal else WIDE)
    narrow = console.width < WIDE
    table = Table(
        title=escape(title),
        caption="% of held-out bags: mean [95 % interval over seeds]; cost per seed",
        box=box.SIMPLE_HEAD if narrow else box.HEAVY_HEAD,
        padding=(0, 0) if narrow else (0, 1),
    )
    table.add_column("paradigm", no_wrap=True)
    metrics = summary_metrics()
    titles = [item.title if item.unit == "%" else item.heading for item in metrics]
    for heading in (*titles, "CPU s", "classifier calls", "epochs"):
        table.add_column(heading, justify="right", no_wrap=heading != "classifier calls")
    records = run.records()
    for name, record in records.items():
        summary = summarise(record)
        gap = "\n" if narrow else " "
        shares = [_interval(summary.get(item.name), gap) for item in metrics]
        cost = [f"{summary['cpu_seconds']:.2f}", f"{summary['classifier_calls']:,.0f}"]
        table.add_row(name, *shares, *cost, str(record.meta["epochs_run"]))
    console.print(table)
    for sentence in faults(records):
        print(f"warning: {sentence}")
    if budget := run.manifest.get("sizes", {}).get("budget"):
        print(f"equal compute: at most {budget:,.0f} multiplications of f and g per training bag")
    print(f"report: {run.path / 'report.html'}")


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


def _interval(value: Interval | None, gap: str) -> str:
    if value is None:
        return "–"
    if value.low is None or value.high is None:
        return f"{value.mean:.1f}"
    return f"{value.mean:.1f}{gap}[{value.low:.1f}, {value.high:.1f}]"


def print_findings(findings: Sequence[Finding], scale: str) -> None:
    """One row a claim that an experiment checked."""
    table = Table(title=f"findings at {scale} scale", show_lines=True)
    for heading in ("claim", "verdict", "measured", "found"):
        table.add_column(heading, overflow="fold")
    for found in findings:
        table.add_row(found.claim, found.verdict, effect_words(found), found.said)
    _console().print(table)


def print_ledger(ledger: Ledger, paper: str | None) -> None:
    """One row a claim of the ledger, and where it comes from."""
    table = Table(title=f"claims at {ledger.scale} scale or larger")
    for heading in ("claim", "statement", "verdict", "measured", "experiment", "scale"):
        table.add_column(heading, overflow="fold")
    for entry in ledger.of(paper):
        found = entry.finding
        verdict, effect = (found.verdict, effect_words(found)) if found else ("not run", "–")
        scale = (entry.scale or "–") if found else "–"
        table.add_row(entry.claim, entry.statement, verdict, effect, entry.experiment, scale)
    _console().print(table)
    if not ledger.runs:
        print("as shipped; 'foveate claims --run' runs them here")


def _console() -> Console:
    return Console(width=None if Console().is_terminal else 140)
