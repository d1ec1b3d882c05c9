"""Commands for run directories of every kind: resume, runs, report; and list."""

from pathlib import Path
from typing import Literal

from foveate.cli.app import start_options
from foveate.cli.flags import DEFAULTS, ExecutionFlags, Overwrite
from foveate.cli.outputs import check_outputs
from foveate.errors import FoveateError
from foveate.jobs.job import show_results
from foveate.records.runs import list_runs, open_run, runs_folder

__all__ = ["list_command", "report_command", "resume_command", "runs_command"]


def resume_command(
    run: Path,
    /,
    *,
    execution: ExecutionFlags = DEFAULTS,
) -> None:
    """Resume an interrupted run; its results equal those of an uninterrupted one.

    Parameters
    ----------
    run
        The run directory, or its name under runs/.
    """
    from foveate.cli.fit_verdicts import add_verdict, lacks_verdict
    from foveate.jobs.lifecycle import resume_job
    from foveate.settings import use_device

    opened = open_run(run)
    with start_options(execution) as options:
        finished = resume_job(opened, options["report"], options["engine"])
    if lacks_verdict(finished):
        with use_device(execution.device):
            finished = add_verdict(finished)
    show_results(finished, as_json=execution.as_json)


def runs_command(folder: Path | None = None, /) -> None:
    """List runs.

    Parameters
    ----------
    folder
        The folder of runs; runs/ by default.
    """
    from foveate.cli.tables import print_runs

    print_runs(list_runs(folder), folder or runs_folder())


def report_command(
    *runs: Path,
    out: Path | None = None,
    figures: Path | None = None,
    overwrite: Overwrite = False,
) -> None:
    """Rebuild the report of a run, or compare several.

    Parameters
    ----------
    runs
        Run directories, or their names under runs/.
    out
        The page to write; report.html in the run directory (of several: here) unless given.
    figures
        A folder to write every figure to, as SVG and PNG.
    """
    from foveate.jobs.job import open_job
    from foveate.report.figure_files import write_drawings

    if not runs:
        raise FoveateError("which run? 'foveate runs' lists them")
    opened = [open_run(run) for run in runs]
    check_outputs(out, overwrite=overwrite)
    jobs = [open_job(run) for run in opened]
    if len(opened) == 1 or (out is None and not any(job.comparable for job in jobs)):
        for run, job in zip(opened, jobs, strict=True):
            print(job.write_report(run, out or run.path / "report.html"))
    elif jobs[0].comparable and len({job.kind for job in jobs}) == 1:
        print(jobs[0].compare(opened, out or Path("report.html")))
    else:
        raise FoveateError("races can be compared on one page; other runs have a page each")
    for run, job in zip(opened, jobs, strict=True):
        if figures is not None:
            target = figures if len(opened) == 1 else figures / run.name
            for path in write_drawings(job.drawings(run), target):
                print(path)


def list_command(
    kind: Literal["datasets", "paradigms", "maps", "metrics", "experiments"], /
) -> None:
    """List data sets, paradigms, maps, metrics or experiments.

    Parameters
    ----------
    kind
        What to list.
    """
    from foveate.cli.tables import print_registered

    print_registered(kind)
