"""The results of a fit as a table for the terminal."""

from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from foveate.metrics.faults import divergence, silence
from foveate.records.runs import Run

__all__ = ["print_fit"]


def print_fit(run: Run) -> None:
    """Print the scores of all paradigms, the choice, and where the page is."""
    manifest = run.manifest
    table = Table(title=f"{escape(manifest['label'])}: {manifest['sizes']['bags']} bags")
    table.add_column("paradigm")
    headings = {
        "balanced_accuracy": "balanced accuracy, %",
        "auroc": "AUROC",
        "log_loss": "log loss",
    }
    for heading in headings.values():
        table.add_column(f"{heading}\nvalidation", justify="right")
        table.add_column(f"{heading}\ntest [95 %]", justify="right")
    by_attention = manifest["config"].get("choose") == "attention"
    if by_attention:
        table.add_column("attention\nvalidation", justify="right")
    for name, own in manifest["scores"].items():
        cells = []
        for key in headings:
            factor, places = (100, 1) if key == "balanced_accuracy" else (1, 3)
            cells.append(f"{factor * own['validation'][key][0]:.{places}f}")
            cells.append(_interval(own["test"][key], factor, places))
        if by_attention:
            cells.append(f"{own['attention_score']:.2f}")
        table.add_row(f"{name} *" if name == manifest["chosen"] else name, *cells)
    Console(width=None if Console().is_terminal else 160).print(table)
    records = run.records()
    if lost := divergence(records):
        print(f"warning: not compared, for {lost}")
    if lost := silence(records):
        print(f"warning: {lost}")
    print(f"* {manifest['chosen']} is chosen: {manifest['rule']}")
    print(f"report: {run.path / 'report.html'}")
    print(f"next: 'foveate trust {run.path}' says whether its attention can be trusted")


def _interval(value: Any, factor: int, places: int) -> str:
    mean, low, high = value
    if low is None:
        return f"{factor * mean:.{places}f}"
    return f"{factor * mean:.{places}f} [{factor * low:.{places}f}, {factor * high:.{places}f}]"
