"""The results of a multi-label run as a table for the terminal."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from foveate.records.runs import Run
from foveate.report.pages.multi_label import OVERALL, label_rows, labels_lead

__all__ = ["print_labels"]

HEADINGS = {
    "count": "bags",
    "auroc": "AUROC [95 %]",
    "baseline": "best baseline",
    "f1": "F1",
    "threshold": "predicted from",
    "verdict": "attention",
}


def print_labels(run: Run) -> None:
    """Print the scores of every label, those over all labels, and where the page is."""
    manifest = run.manifest
    table = Table(title=f"{escape(manifest['label'])}: {manifest['sizes']['bags']} bags")
    table.add_column("label")
    for heading in HEADINGS.values():
        table.add_column(heading, justify="right")
    for row in label_rows(manifest):
        table.add_row(escape(row["name"]), *(str(row[key]) for key in HEADINGS))
    Console(width=None if Console().is_terminal else 140).print(table)
    print(labels_lead(manifest))
    for key, words in OVERALL.items():
        print(f"{words}: {manifest['overall'][key]:.3f}")
    print(f"report: {run.path / 'report.html'}")
