"""The findings of an experiment as a table for the terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from foveate.records.findings import Finding, effect_words

__all__ = ["print_findings"]


def print_findings(findings: Sequence[Finding], scale: str) -> None:
    """One row a claim that an experiment checked."""
    table = Table(title=f"findings at {scale} scale", show_lines=True)
    for heading in ("claim", "verdict", "measured", "found"):
        table.add_column(heading, overflow="fold")
    for finding in findings:
        table.add_row(finding.claim, finding.verdict, effect_words(finding), finding.summary)
    Console(width=None if Console().is_terminal else 140).print(table)
