"""The command that runs published tables again."""

import json
import sys
from pathlib import Path
from typing import Any, Literal

from foveate.cli.app import start_options
from foveate.cli.commands.experiments import changed_setting
from foveate.cli.flags import DEFAULTS, Execution, ExecutionFlags, Flag, Overwrite, SettingFlags
from foveate.cli.outputs import check_outputs
from foveate.errors import FoveateError
from foveate.report.progress import progress_of

__all__ = ["reproduce_command"]


def reproduce_command(
    table: str = "all",
    /,
    *,
    scale: Literal["smoke", "small", "paper"] = "small",
    seeds: int | None = None,
    set: SettingFlags = (),
    label: str = "",
    estimate: Flag = False,
    stored: Flag = False,
    results: Path | None = None,
    docs: Path | None = None,
    out: Path | None = None,
    overwrite: Overwrite = False,
    execution: ExecutionFlags = DEFAULTS,
) -> None:
    """Reproduce published tables: published and measured numbers in one table.

    Parameters
    ----------
    table
        table1, released-split (vr23), table2, captions (pvr22), agreement (snell21), topic-words
        (lu21), toy-classifier (blog21), or all of these; or a study of this project.
    scale
        small suits two cores, paper is the published size; smoke only tests that it runs.
    seeds
        Number of seeds, instead of the scale's.
    set
        A setting to change, as key=value; may be repeated. Needs one table and a label.
    label
        What the changed table is called where its numbers are kept.
    estimate
        Only say how long it would take.
    stored
        Run nothing: show the results that came with the package.
    results
        A folder to keep the numbers in, a JSON file a table.
    docs
        A folder to write results.md and causes.md to, from the stored results.
    out
        The page; reproduce.html unless given.
    """
    from foveate.report.pages.causes import write_causes
    from foveate.report.pages.reproduction import write_results
    from foveate.studies.reproduction import comparisons, published_tables, stored_results

    if not execution.as_json and not estimate:
        check_outputs(out or Path("reproduce.html"), overwrite=overwrite)
    tables = published_tables()
    all_names = tuple(name for name, item in tables.items() if stored or item.numbers)
    names = all_names if table == "all" else (table,)
    if set and (len(names) > 1 or not label):
        raise FoveateError(
            "--set changes one table and needs a name for the result: add --label NAME"
        )
    changes = {"changes": dict(changed_setting(text) for text in set), "label": label}
    if stored:
        computed = _stored(names, results)
    else:
        computed = _estimates(names, scale, seeds, changes) if estimate or scale == "paper" else []
        if not estimate:
            computed = _run(names, scale, seeds, changes, execution)
        if results is not None:
            _store(computed, results)
    if docs is not None:
        stored_names = stored_results(results)
        print(write_results(stored_names, tables, docs), file=sys.stderr)
        print(write_causes(comparisons(stored_names), docs), file=sys.stderr)
    if execution.as_json:
        print(json.dumps(computed, ensure_ascii=False))
    elif not estimate:
        print(f"page: {_page(computed, out or Path('reproduce.html'))}")


def _stored(names: tuple[str, ...], folder: Path | None) -> list[dict[str, Any]]:
    from foveate.studies.reproduction import stored_results

    computed = [result for result in stored_results(folder) if result["table"] in names]
    if not computed:
        raise FoveateError(f"no results of {', '.join(names)} are stored")
    return computed


def _store(computed: list[dict[str, Any]], folder: Path) -> None:
    from foveate.studies.reproduction import store

    for result in computed:
        print(store(result, folder), file=sys.stderr)


def _estimates(
    names: tuple[str, ...], scale: Any, seeds: int | None, changes: dict[str, Any]
) -> list[dict[str, Any]]:
    """Estimated times of tables, printed with the reasons of those that cannot be run."""
    from foveate.report.durations import format_duration
    from foveate.studies.reproduction import estimate

    with progress_of(quiet=True) as report:
        computed = [estimate(name, scale, seeds, **changes, report=report) for name in names]
    for result in computed:
        title = f"{result['table']} at {scale} scale"
        if result.get("seconds"):
            print(
                f"{title}: about {format_duration(result['seconds'])} on one core", file=sys.stderr
            )
        else:
            reason = next(iter(result["absent"].values()), "it has no parts")
            print(f"{title} cannot be run here: {reason}", file=sys.stderr)
    return [result for result in computed if result.get("seconds")]


def _run(
    names: tuple[str, ...],
    scale: Any,
    seeds: int | None,
    changes: dict[str, Any],
    execution: Execution,
) -> list[dict[str, Any]]:
    from foveate.studies.reproduction import reproduce

    with start_options(execution) as options:
        report, engine = options["report"], options["engine"]
        return [
            reproduce(name, scale, seeds, report=report, engine=engine, **changes) for name in names
        ]


def _page(computed: list[dict[str, Any]], path: Path) -> Path:
    """The page, with the figures of the runs that are on this machine."""
    from foveate.records.record import write_atomically
    from foveate.report.pages.reproduction import reproduction_page
    from foveate.studies.reproduction import charts_of, published_tables

    complete = [result for result in computed if "cells" in result]
    page = reproduction_page(complete, published_tables(), charts_of(complete)).encode()
    write_atomically(path, lambda file: file.write(page))
    return path
