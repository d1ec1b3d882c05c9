"""The end of a command: the page and the results of a run, and the command that repeats it."""

import json
import shlex
import sys

from foveate.records.runs import Run

__all__ = ["repeating_command", "show_results", "this_command"]


def show_results(run: Run, *, as_json: bool) -> None:
    """Write the page of a finished run and print its results.

    Args:
        run: The run, of any kind.
        as_json: Whether to print JSON in place of a table.
    """
    from foveate.jobs.job import open_job

    job = open_job(run)
    job.write_report(run, run.path / "report.html")
    if as_json:
        print(json.dumps(job.results(run), ensure_ascii=False))
    else:
        job.print_results(run)


def this_command() -> str:
    """The command line of this process."""
    return shlex.join(["foveate", *sys.argv[1:]])


def repeating_command() -> str:
    """The command line without ``--out``: a run directory is used once."""
    arguments = iter(sys.argv[1:])
    words = []
    for word in arguments:
        if word == "--out":
            next(arguments, None)
        elif not word.startswith("--out="):
            words.append(word)
    return shlex.join(["foveate", *words])
