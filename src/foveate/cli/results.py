"""What a command does with a finished run: write its page, print its results."""

import json

from foveate.records.runs import Run

__all__ = ["show_results"]


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
