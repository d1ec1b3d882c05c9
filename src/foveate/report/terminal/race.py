"""The results of a race: numbers for machines, a table for the terminal."""

from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

from foveate.metrics.faults import dead_focus, diverged, faults
from foveate.metrics.intervals import Interval
from foveate.metrics.metric import summarise, summary_metrics
from foveate.records.runs import Run

__all__ = ["print_race", "race_numbers"]

WIDE_COLUMNS = 110  # columns of a table with one line per paradigm
MEASURED_COLUMNS = 1000  # more than any table needs


def race_numbers(run: Run) -> dict[str, Any]:
    """The numbers of a race for JSON; shares in percent."""
    paradigms = {}
    for name, record in run.records().items():
        summary = summarise(record)
        paradigms[name] = {
            k: v._asdict() if isinstance(v, Interval) else v for k, v in summary.items()
        }
        wrong = {"diverged": diverged(record), "silent": dead_focus(record)}
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
    console = Console(width=None if Console().is_terminal else WIDE_COLUMNS)
    narrow = console.width < WIDE_COLUMNS
    table = Table(
        title=escape(title),
        caption="% of held-out bags: mean [95 % interval over seeds]; cost per seed",
        box=box.SIMPLE_HEAD if narrow else box.HEAVY_HEAD,
        padding=(0, 0) if narrow else (0, 1),
    )
    table.add_column("paradigm", no_wrap=True)
    metrics = summary_metrics()
    titles = [item.title if item.unit == "%" else item.heading for item in metrics]
    calls = "classifier\ncalls" if narrow else "classifier calls"
    for heading in (*titles, "CPU s", calls, "epochs"):
        table.add_column(heading, justify="right", no_wrap=True)
    records = run.records()
    for name, record in records.items():
        summary = summarise(record)
        gap = "\n" if narrow else " "
        shares = [_interval(summary.get(item.name), gap) for item in metrics]
        cost = [f"{summary['cpu_seconds']:.2f}", f"{summary['classifier_calls']:,.0f}"]
        table.add_row(name, *shares, *cost, str(record.meta["epochs_run"]))
    needed = Measurement.get(console, console.options.update(max_width=MEASURED_COLUMNS), table)
    console.width = max(console.width, needed.maximum)  # a narrower one would cut off digits
    console.print(table)
    for sentence in faults(records):
        print(f"warning: {sentence}")
    if budget := run.manifest.get("sizes", {}).get("budget"):
        print(f"equal compute: at most {budget:,.0f} multiplications of f and g per training bag")
    print(f"report: {run.path / 'report.html'}")


def _interval(value: Interval | None, gap: str) -> str:
    if value is None:
        return "–"
    if value.low is None or value.high is None:
        return f"{value.mean:.1f}"
    return f"{value.mean:.1f}{gap}[{value.low:.1f}, {value.high:.1f}]"
