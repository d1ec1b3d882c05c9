"""The command that describes a user's bags and says what is wrong with them."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from foveate.cli.flags import ColumnFlags, Json
from foveate.cli.progress import progress_of
from foveate.errors import FoveateError
from foveate.io.columns import Columns

if TYPE_CHECKING:
    from foveate.io.check import Description, Problem

__all__ = ["check_command"]


def check_command(
    data: Path,
    /,
    *,
    columns: ColumnFlags = None,
    as_json: Json = False,
) -> None:
    """Describe your own bags and say what is wrong with them; exit code 2 if something must be.

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
    from foveate.io.check import Problem, describe, problems

    settings = (columns or Columns()).model_dump()
    try:
        with progress_of(quiet=True) as report:
            collection = read_bags(data, **settings, report=report)
    except FoveateError as error:
        if not as_json:
            raise
        _print_json(None, [Problem("error", str(data), str(error))])
        raise SystemExit(2) from None
    description, found = describe(collection), problems(collection)
    if as_json:
        _print_json(description, found)
    else:
        _print(description, found)
    if any(problem.severity == "error" for problem in found):
        raise SystemExit(2)


def _print_json(description: "Description | None", found: "list[Problem]") -> None:
    numbers = None if description is None else description.as_numbers()
    print(json.dumps({"description": numbers, "problems": [asdict(one) for one in found]}))


def _print(description: "Description", found: "list[Problem]") -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(width=None if Console().is_terminal else 110)
    table = Table(title=escape(description.source), show_header=False)
    table.add_column("what", no_wrap=True)
    table.add_column("is", overflow="fold")
    for what, value in _rows(description):
        table.add_row(what, escape(value))
    console.print(table)
    for one in found:
        colour = "red" if one.severity == "error" else "yellow"
        console.print(f"[{colour}]{one.severity}[/]  {escape(one.where)}: {escape(one.what)}")
    if not found:
        console.print("no problems found")


def _rows(description: "Description") -> list[tuple[str, str]]:
    """What is said of the bags, a line each."""
    least, median, most = description.lengths
    classes = [f"{name}: {count:,}" for name, count in description.classes.items()]
    said = [
        ("bags", f"{description.bags:,} of {description.segments:,} segments"),
        ("segments a bag", f"{least:,} to {most:,}, median {median:g}"),
        ("a segment is", _segment(description)),
        ("classes", _shortened(classes) or "none: the bags are unlabelled"),
    ]
    if description.imbalance is not None:
        said.append(("largest / smallest class", f"{description.imbalance:.2g}"))
    if description.groups is not None:
        said.append(("groups", f"{description.groups:,}"))
    if description.splits is not None:
        splits = [f"{name}: {count:,}" for name, count in description.splits.items()]
        said.append(("splits", _shortened(splits)))
    known = "unknown"
    if description.relevant is not None:
        share = f"{100 * description.relevant:.3g} % of their segments are relevant"
        known = f"known for {100 * description.known:.3g} % of bags; {share}"
    return [*said, ("relevance", known)]


def _segment(description: "Description") -> str:
    if description.kind == "text":
        return "a piece of text"
    if description.kind == "image":
        return "a tile of an image"
    what = "a window in time" if description.kind == "series" else "a row"
    columns = _shortened(list(description.columns))
    return f"{what} of {len(description.columns):,} numbers: {columns}"


def _shortened(parts: list[str], most: int = 8) -> str:
    more = f", and {len(parts) - most:,} more" if len(parts) > most else ""
    return ", ".join(parts[:most]) + more
