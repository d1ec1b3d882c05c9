"""The command that describes a user's bags and reports what is wrong with them."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from foveate.cli.column_flags import ColumnFlags
from foveate.cli.column_listing import column_lines
from foveate.cli.flags import Json
from foveate.errors import FoveateError
from foveate.io.columns import ColumnRole, Columns
from foveate.report.progress import progress_of

if TYPE_CHECKING:
    from foveate.io.check import Problem
    from foveate.io.description import Description

__all__ = ["check_command"]


def check_command(
    data: Path,
    /,
    *,
    columns: ColumnFlags = None,
    as_json: Json = False,
) -> None:
    """Describe your bags and report problems; exit code 2 if there are errors.

    Parameters
    ----------
    data
        A table, an NPZ file, or a folder of .npy files, HDF5 files, annotated texts or images.
    columns
        Which column is what, each a flag.
    as_json
        Print description and problems as JSON.
    """
    from foveate.io import read_bags
    from foveate.io.check import Problem, problems
    from foveate.io.description import describe

    settings = (columns or Columns()).model_dump()
    try:
        with progress_of(quiet=True) as report:
            collection = read_bags(data, **settings, report=report)
    except FoveateError as error:
        if not as_json:
            raise
        _print_json(None, [Problem("error", str(data), str(error))])
        raise SystemExit(2) from None
    description, listed = describe(collection), problems(collection)
    if as_json:
        _print_json(description, listed)
    else:
        _print(description, listed, collection.accepted)
    errors = [problem for problem in listed if problem.severity == "error"]
    if any(problem.name not in collection.accepted for problem in errors):
        raise SystemExit(2)


def _print_json(description: "Description | None", listed: "list[Problem]") -> None:
    numbers = None if description is None else description.as_numbers()
    print(json.dumps({"description": numbers, "problems": [asdict(one) for one in listed]}))


def _print(description: "Description", listed: "list[Problem]", accepted: Sequence[str]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(width=None if Console().is_terminal else 110)
    table = Table(title=escape(description.source), show_header=False)
    table.add_column("what", no_wrap=True)
    table.add_column("is", overflow="fold")
    for name, value in _rows(description):
        table.add_row(name, escape(value))
    console.print(table)
    if description.roles:
        columns = Table(title="columns", show_header=False)
        columns.add_column("role", no_wrap=True)
        columns.add_column("columns", overflow="fold")
        for role, line in column_lines([ColumnRole(*role) for role in description.roles]):
            columns.add_row(role, escape(line))
        console.print(columns)
    for problem in listed:
        colour = "red" if problem.severity == "error" else "yellow"
        kind = "accepted" if problem.name in accepted else problem.severity
        console.print(f"[{colour}]{kind}[/]  {escape(str(problem))}")
    if not listed:
        console.print("no problems found")


def _rows(description: "Description") -> list[tuple[str, str]]:
    """The description, a line for each entry."""
    least, median, most = description.lengths
    classes = [f"{name}: {count:,}" for name, count in description.classes.items()]
    lines = [
        ("bags", f"{description.bags:,} of {description.segments:,} segments"),
        ("segments per bag", f"{least:,} to {most:,}, median {median:g}"),
        ("a segment is", _segment(description)),
        ("classes", _shortened(classes) or "none: the bags are unlabelled"),
    ]
    if description.unlabelled:
        lines.append(("without a label", f"{description.unlabelled:,} bags"))
    if description.missing:
        total = sum(description.missing.values())
        lines.append(("missing numbers", f"{total:,} in {len(description.missing):,} columns"))
    if description.imbalance is not None:
        lines.append(("largest / smallest class", f"{description.imbalance:.2g}"))
    if description.groups is not None:
        lines.append(("groups", f"{description.groups:,}"))
    if description.splits is not None:
        splits = [f"{name}: {count:,}" for name, count in description.splits.items()]
        lines.append(("splits", _shortened(splits)))
    text = "unknown"
    if description.relevant is not None:
        share = f"{100 * description.relevant:.3g} % of their segments are relevant"
        text = f"known for {100 * description.known:.3g} % of bags; {share}"
    return [*lines, ("relevance", text)]


def _segment(description: "Description") -> str:
    if description.kind == "text":
        return "a piece of text"
    if description.kind == "image":
        return "a tile of an image"
    noun = "a window in time" if description.kind == "series" else "a row"
    columns = _shortened(list(description.columns))
    return f"{noun} of {len(description.columns):,} numbers: {columns}"


def _shortened(parts: list[str], most: int = 8) -> str:
    more = f", and {len(parts) - most:,} more" if len(parts) > most else ""
    return ", ".join(parts[:most]) + more
