"""Commands around races and runs."""

import json
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from foveate.cli.command_line import run_again
from foveate.cli.flags import Cluster, Json, Workers
from foveate.cli.progress import progress_of
from foveate.errors import FoveateError
from foveate.records.runs import Run, list_runs, open_run, runs_folder
from foveate.training.plan import Race

__all__ = ["list_command", "race_command", "report_command", "resume_command", "runs_command"]

Flags = Annotated[Race | None, Parameter(name="*")]


def race_command(
    data: str | None = None,
    /,
    *,
    race: Flags = None,
    config: Path | None = None,
    out: Path | None = None,
    workers: Workers = 1,
    cluster: Cluster = None,
    as_json: Json = False,
) -> None:
    """Train several paradigms on the same bags and compare where they look.

    Parameters
    ----------
    data
        A data set by name (foveate list datasets), a Parquet folder or an NPZ file; else digits.
    race
        Settings of the race, each a flag.
    config
        A TOML file with the same settings; flags win over it.
    out
        The run directory; a new one under runs/ unless given.
    as_json
        Print the numbers as JSON.
    """
    from foveate.jobs.engine import Engine
    from foveate.jobs.race import start_race

    given = {name: getattr(race, name) for name in race.model_fields_set} if race else {}
    from_file = _read_toml(config) if config else {}
    named = {"data": data} if data else {}
    settings = Race(**{**from_file, **given, **named})
    command = run_again()
    engine = Engine(workers, cluster)
    with progress_of(quiet=as_json) as report:
        run = start_race(settings, out=out, report=report, command=command, engine=engine)
    _finish(run, as_json=as_json)


def resume_command(
    run: Path,
    /,
    *,
    workers: Workers = 1,
    cluster: Cluster = None,
    as_json: Json = False,
) -> None:
    """Go on with a run that was stopped; it ends as if it never had been.

    Parameters
    ----------
    run
        The run directory, or its name under runs/.
    as_json
        Print the numbers as JSON.
    """
    from foveate.jobs.engine import Engine
    from foveate.jobs.race import resume_race
    from foveate.jobs.runner import resume_experiment

    opened, engine = open_run(run), Engine(workers, cluster)
    if opened.manifest["kind"] == "fit":
        return _resume_fit(opened, as_json=as_json)
    is_race = opened.manifest["kind"] == "race"
    go_on = resume_race if is_race else resume_experiment
    with progress_of(quiet=as_json) as report:
        finished = go_on(opened, report, engine)
    if is_race:
        _finish(finished, as_json=as_json)
    else:
        from foveate.cli.commands.experiments import finish_experiment

        finish_experiment(finished, as_json=as_json)


def runs_command(folder: Path | None = None, /) -> None:
    """List runs.

    Parameters
    ----------
    folder
        Where to look; runs/ unless given.
    """
    from foveate.cli.tables import print_runs

    print_runs(list_runs(folder), folder or runs_folder())


def report_command(
    *runs: Path,
    out: Path | None = None,
    figures: Path | None = None,
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
    from foveate.report.pages.race import export_figures, write_report

    if not runs:
        raise FoveateError("which run? 'foveate runs' lists them")
    opened = [open_run(run) for run in runs]
    if len(opened) == 1 and opened[0].manifest["kind"] == "fit":
        from foveate.report.pages.fit import write_fit_report

        print(write_fit_report(opened[0], out or opened[0].path / "report.html"))
        return
    if any(run.manifest["kind"] != "race" for run in opened):
        from foveate.cli.commands.experiments import report_experiments

        return report_experiments(opened, out, figures)
    page = out or (opened[0].path if len(opened) == 1 else Path()) / "report.html"
    write_report(opened, page)
    print(page)
    if figures is not None:
        for run in opened:
            target = figures if len(opened) == 1 else figures / run.name
            for path in export_figures(run, target):
                print(path)


def list_command(
    kind: Literal["datasets", "paradigms", "maps", "metrics", "experiments"], /
) -> None:
    """List data sets, paradigms, maps or experiments.

    Parameters
    ----------
    kind
        What to list.
    """
    from foveate.cli.tables import print_registered

    print_registered(kind)


def _resume_fit(run: Run, *, as_json: bool) -> None:
    from foveate.cli.commands.own import finish_fit
    from foveate.jobs.fit import resume_fit

    with progress_of(quiet=as_json) as report:
        finished = resume_fit(run, report)
    finish_fit(finished, as_json=as_json)


def _finish(run: Run, *, as_json: bool) -> None:
    """The report on disk, the table on the screen."""
    from foveate.cli.tables import as_numbers, print_race
    from foveate.report.pages.race import write_report

    write_report([run], run.path / "report.html")
    if as_json:
        print(json.dumps(as_numbers(run)))
    else:
        print_race(run)


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return {k.replace("-", "_"): v for k, v in tomllib.loads(path.read_text()).items()}
    except FileNotFoundError:
        raise FoveateError(f"there is no file {path}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise FoveateError(f"{path} is not TOML: {error}") from None
