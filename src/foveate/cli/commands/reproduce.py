"""The command that runs published tables again."""

import json
import sys
from pathlib import Path
from typing import Any, Literal

from foveate.cli.commands.experiments import changed_setting
from foveate.cli.flags import Cluster, Flag, Json, Overwrite, SettingFlags, Workers
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
    workers: Workers = 1,
    cluster: Cluster = None,
    estimate: Flag = False,
    stored: Flag = False,
    results: Path | None = None,
    docs: Path | None = None,
    out: Path | None = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Run published tables again, and show published and measured numbers side by side.

    Parameters
    ----------
    table
        table1, released-split (vr23), table2, captions (pvr22), agreement (snell21), topic-words
        (lu21), toy-classifier (blog21), or all of these; or a study of our own.
    scale
        small suits two cores, paper is the published size; smoke only tries the machinery.
    seeds
        How many seeds, in place of the scale's own number.
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
    as_json
        Print the numbers as JSON.
    """
    from foveate.jobs.engine import Engine
    from foveate.report.pages.causes import write_causes
    from foveate.report.pages.reproduction import write_results
    from foveate.studies.reproduction import comparisons, published_tables, stored_results

    if not as_json and not estimate:
        check_outputs(out or Path("reproduce.html"), overwrite=overwrite)
    tables = published_tables()
    every = tuple(name for name, own in tables.items() if stored or own.numbers)
    names = every if table == "all" else (table,)
    if set and (len(names) > 1 or not label):
        raise FoveateError("--set changes one table under a name of its own: add --label NAME")
    what = {"changes": dict(changed_setting(text) for text in set), "label": label}
    if stored:
        found = _stored(names, results)
    else:
        found = _estimates(names, scale, seeds, what) if estimate or scale == "paper" else []
        if not estimate:
            how = {**what, "engine": Engine(workers, cluster)}
            found = _run(names, scale, seeds, how, quiet=as_json)
        if results is not None:
            _keep(found, results)
    if docs is not None:
        kept = stored_results(results)
        print(write_results(kept, tables, docs), file=sys.stderr)
        print(write_causes(comparisons(kept), docs), file=sys.stderr)
    if as_json:
        print(json.dumps(found, ensure_ascii=False))
    elif not estimate:
        print(f"page: {_page(found, out or Path('reproduce.html'))}")


def _stored(names: tuple[str, ...], place: Path | None) -> list[dict[str, Any]]:
    from foveate.studies.reproduction import stored_results

    found = [own for own in stored_results(place) if own["table"] in names]
    if not found:
        raise FoveateError(f"no results of {', '.join(names)} are stored")
    return found


def _keep(found: list[dict[str, Any]], place: Path) -> None:
    from foveate.studies.reproduction import store

    for own in found:
        print(store(own, place), file=sys.stderr)


def _estimates(
    names: tuple[str, ...], scale: Any, seeds: int | None, what: dict[str, Any]
) -> list[dict[str, Any]]:
    """How long each that can be run would take; said as well, as is what cannot."""
    from foveate.report.durations import format_duration
    from foveate.studies.reproduction import estimate

    with progress_of(quiet=True) as report:
        found = [estimate(name, scale, seeds, **what, report=report) for name in names]
    for own in found:
        which = f"{own['table']} at {scale} scale"
        if own.get("seconds"):
            print(f"{which}: about {format_duration(own['seconds'])} on one core", file=sys.stderr)
        else:
            why = next(iter(own["absent"].values()), "it has no parts")
            print(f"{which} cannot be run here: {why}", file=sys.stderr)
    return [own for own in found if own.get("seconds")]


def _run(
    names: tuple[str, ...], scale: Any, seeds: int | None, how: dict[str, Any], *, quiet: bool
) -> list[dict[str, Any]]:
    from foveate.studies.reproduction import reproduce

    with progress_of(quiet=quiet) as report:
        return [reproduce(name, scale, seeds, report=report, **how) for name in names]


def _page(found: list[dict[str, Any]], path: Path) -> Path:
    """The page, with the figures of the runs that are on this machine."""
    from foveate.records.record import write_atomically
    from foveate.report.pages.reproduction import reproduction_page
    from foveate.studies.reproduction import charts_of, published_tables

    whole = [own for own in found if "cells" in own]
    page = reproduction_page(whole, published_tables(), charts_of(whole)).encode()
    write_atomically(path, lambda file: file.write(page))
    return path
