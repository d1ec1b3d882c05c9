"""Progress with time left, on the error stream, so that output stays clean."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from foveate.types import PartProgress

__all__ = ["progress_of"]


@contextmanager
def progress_of(*, quiet: bool = False) -> Iterator[PartProgress]:
    """A bar for each part, made and moved by ``report(part, done, total)``.

    Args:
        quiet: Show bars only on a terminal; otherwise also a plain line per finished part.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskID,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description:>12}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    console.quiet = not console.is_terminal
    with Progress(*columns, console=console) as bars:
        tasks: dict[str, TaskID] = {}

        def report(part: str, done: int, total: int) -> None:
            if part not in tasks:
                tasks[part] = bars.add_task(part, total=total)
            bars.update(tasks[part], completed=done)
            if done == total and not console.is_terminal and not quiet:
                print(f"{part}: {total} of {total} done", file=sys.stderr)

        yield report
