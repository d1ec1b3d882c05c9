"""Reproductions of published tables: resumable runs with stored results."""

import hashlib
import json
import re
import shlex
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from foveate.errors import FoveateError
from foveate.jobs.engine import Engine
from foveate.jobs.experiment import (
    EXPERIMENTS,
    Records,
    Scale,
    changed_settings,
    findings_of,
    of_run,
    resume_experiment,
    settings_for,
    start_experiment,
)
from foveate.metrics.faults import faults
from foveate.records.causes import Comparison, compare
from foveate.records.published import PublishedTable
from foveate.records.record import write_atomically
from foveate.records.runs import Run, open_run, runs_folder
from foveate.settings import Settings
from foveate.studies.ledger import path_of
from foveate.studies.published import Reproduction
from foveate.types import PartProgress

__all__ = [
    "Result",
    "charts_of",
    "comparisons",
    "estimate",
    "published_tables",
    "reproduce",
    "store",
    "stored_results",
]

Result = dict[str, Any]
IN_PROCESS = Engine()


@cache
def published_tables() -> dict[str, PublishedTable]:
    """Title of every reproduction, by name; those with published numbers come first."""
    published = {
        name: kind.published for name, kind in EXPERIMENTS.items() if issubclass(kind, Reproduction)
    }
    return dict(sorted(published.items(), key=lambda item: (not item[1].numbers, item[0])))


def comparisons(results: list[Result]) -> list[Comparison]:
    """Every published number beside every stored one, with the causes that the studies declare.

    Args:
        results: Stored results.
    """
    causes = {
        name: kind.causes for name, kind in EXPERIMENTS.items() if issubclass(kind, Reproduction)
    }
    return compare(results, published_tables(), causes)


def reproduce(
    table: str,
    scale: Scale = "small",
    seeds: int | None = None,
    *,
    changes: Mapping[str, Any] | None = None,
    label: str = "",
    report: PartProgress | None = None,
    engine: Engine = IN_PROCESS,
) -> Result:
    """Run or resume a table, and return its numbers in the stored form.

    Groups without data are left out, with the reason. A whole table with its own seeds is run
    where the ledger looks for it, so that neither repeats the other.

    Args:
        table: A name in :func:`published_tables`.
        scale: The scale.
        seeds: How many seeds, in place of the scale's own.
        changes: Further settings to change.
        label: Name of the changed table, stored beside the unchanged one.
        report: Called as ``report(part, done, total)``.
        engine: Where parts are executed.
    """
    if not re.fullmatch(r"[\w-]*", label):
        raise FoveateError(f"a label is letters, digits and dashes, got '{label}'")
    changed_settings = _changed(changes, seeds)
    _, settings, absent = _requested_tables(table, scale, changed_settings)
    if absent and not _parts(table, settings):
        return {**_absent(table, scale), "absent": absent}
    folder = _run_folder(table, scale, settings, complete=not changed_settings and not absent)
    command = _command(table, scale, changed_settings, label)
    progress = None if report is None else lambda part, a, b: report(f"{table}: {part}", a, b)
    if (folder / "manifest.json").exists():
        run = open_run(folder)
        run = run if run.done else resume_experiment(run, progress, engine)
    else:
        values = settings.model_dump()
        run = start_experiment(
            table, scale, values, out=folder, report=progress, command=command, engine=engine
        )
    return {**_result(table, run, command, absent), "label": label}


def estimate(
    table: str,
    scale: Scale,
    seeds: int | None = None,
    *,
    changes: Mapping[str, Any] | None = None,
    label: str = "",
    report: PartProgress | None = None,
) -> Result:
    """Estimated seconds of a table on one core, from one step of each of its parts.

    Args:
        table: As for :func:`reproduce`, as are the others.
        scale: The scale.
        seeds: How many seeds.
        changes: Further settings to change.
        label: Name of the changed table.
        report: Called as ``report(part, done, total)``.
    """
    changed_settings = _changed(changes, seeds)
    kind, settings, absent = _requested_tables(table, scale, changed_settings)
    seconds = kind.seconds(settings, report) if _parts(table, settings) else 0.0
    return {
        "table": table,
        "scale": scale,
        "seconds": seconds,
        "absent": absent,
        "label": label,
        "command": _command(table, scale, changed_settings, label),
    }


def charts_of(results: list[Result]) -> dict[str, Mapping[str, Any]]:
    """The figures of the runs behind some results, by table, where these are on this machine."""
    charts = {}
    for result in results:
        folder = Path(result.get("run", ""))
        if (folder / "manifest.json").exists() and (run := open_run(folder)).done:
            experiment, settings = of_run(run)
            charts[result["table"]] = experiment.figures(settings, run.records())
    return charts


def store(result: Result, folder: Path) -> Path:
    """Write a result as ``TABLE-SCALE[-LABEL].json``, an estimate as ``…-estimate.json``.

    A result replaces the estimate of the same name.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FoveateError(f"cannot make the folder {folder}: {error.strerror}") from None
    label = f"-{result['label']}" if result.get("label") else ""
    name = f"{result['table']}-{result['scale']}{label}"
    estimated = folder / f"{name}-estimate.json"
    path = folder / f"{name}.json" if "cells" in result else estimated
    # "run" is a path of this machine, "changed" depends on the version that reads the result.
    stored = {k: v for k, v in result.items() if k not in ("run", "changed")}
    text = _result_text(stored).encode()
    write_atomically(path, lambda file: file.write(text))
    if path != estimated:
        estimated.unlink(missing_ok=True)
    return path


def _result_text(stored: Result) -> str:
    """As JSON, a cell a line, so that two versions of a result can be compared by eye."""
    cells = [json.dumps(cell, ensure_ascii=False) for cell in stored.get("cells", ())]
    text = json.dumps(
        stored | ({"cells": ["CELLS"]} if cells else {}), indent=1, ensure_ascii=False
    )
    return text.replace('"CELLS"', ",\n  ".join(cells), 1) + "\n"


def stored_results(folder: Path | None = None) -> list[Result]:
    """The results stored in a folder, by table; those of the package unless given."""
    source = resources.files("foveate").joinpath("studies/results") if folder is None else folder
    if not source.is_dir():
        raise FoveateError(f"there is no folder of results at {source}")
    files = sorted((path for path in source.iterdir()), key=lambda path: path.name)
    tables = list(published_tables())
    results = [
        _with_changes(_parse_result(path.read_text("utf-8"), str(path)))
        for path in files
        if path.name.startswith(tuple(f"{table}-" for table in tables))
        and path.name.endswith(".json")
    ]
    return sorted(results, key=lambda result: tables.index(result["table"]))


def _with_changes(result: Result) -> Result:
    """A stored result and, as "changed", the settings in which it differs from its scale today."""
    config = result.get("manifest", {}).get("config", {})
    known = "experiment" in config
    return {**result, "changed": changed_settings(config)} if known else result


def _parse_result(text: str, path: str) -> Result:
    try:
        result = json.loads(text)
        if not {"table", "scale"} <= result.keys() or not {"cells", "seconds"} & result.keys():
            raise ValueError("it lacks the table, its scale or its numbers")
        if result["table"] not in published_tables():
            raise ValueError(f"its table must be one of {', '.join(published_tables())}")
    except (ValueError, AttributeError) as error:
        raise FoveateError(f"{path} is no stored result: {error}") from None
    return dict(result)


def _changed(changes: Mapping[str, Any] | None, seeds: int | None) -> dict[str, Any]:
    return dict(changes or {}) | ({} if seeds is None else {"seeds": seeds})


def _requested_tables(
    table: str, scale: Scale, changes: Mapping[str, Any]
) -> tuple[Reproduction, Any, dict[str, str]]:
    """The experiment, its settings for the available data, and the reasons for missing data."""
    if table not in published_tables():
        names = ", ".join(published_tables())
        raise FoveateError(f"table must be one of {names} or all, got '{table}'")
    kind = EXPERIMENTS.get(table)
    assert issubclass(kind, Reproduction)
    if (seeds := changes.get("seeds", 1)) < 1:
        raise FoveateError(f"seeds must be at least 1, got {seeds}")
    settings = settings_for(table, scale, changes)
    experiment = kind()
    return (experiment, *experiment.runnable(settings))


def _parts(table: str, settings: Settings) -> list[str]:
    return list(EXPERIMENTS.get(table)().parts(settings))


def _run_folder(table: str, scale: str, settings: Settings, complete: bool) -> Path:
    """The folder of a run with these settings; runs with other settings have other folders."""
    if complete:
        return path_of(table, scale)
    folder = runs_folder() / f"reproduce-{scale}"
    for path in sorted(folder.glob(f"{table}-*/manifest.json")):
        if _has_settings(path.parent, table, settings):
            return path.parent
    text = json.dumps(settings.model_dump(), sort_keys=True)
    key = hashlib.sha256(text.encode()).hexdigest()[:8]
    return folder / f"{table}-{key}"


def _has_settings(path: Path, table: str, settings: Settings) -> bool:
    """Whether a run, perhaps of an earlier version, is of these settings of a table.

    Settings that did not exist yet have their defaults; a damaged run is of none.
    """
    with suppress(FoveateError, ValueError):
        config = open_run(path).manifest["config"]
        return config["experiment"] == table and type(settings)(**config["settings"]) == settings
    return False


def _command(table: str, scale: str, changes: Mapping[str, Any], label: str) -> str:
    """The command that repeats a table."""
    words = ["foveate", "reproduce", table, "--scale", scale]
    for key, value in changes.items():
        words += (
            ["--seeds", str(value)]
            if key == "seeds"
            else ["--set", f"{key}={_setting_text(value)}"]
        )
    return shlex.join([*words, *(["--label", label] if label else [])])


def _setting_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _result(table: str, run: Run, command: str, absent: Mapping[str, str]) -> Result:
    experiment, settings = of_run(run)
    assert isinstance(experiment, Reproduction)
    records = run.records()
    keys = ("created", "versions", "commit", "seconds", "cpu_seconds", "config")
    return {
        "table": table,
        "scale": run.manifest["config"]["scale"],
        "cells": [cell._asdict() for cell in experiment.cells(settings, records)],
        "absent": dict(absent),
        "differs": [*experiment.differs(settings, records), *_faults(records)],
        "findings": [
            {"claim": f.claim, "verdict": f.verdict, "summary": f.summary} for f in findings_of(run)
        ],
        "manifest": {"command": command} | {key: run.manifest.get(key) for key in keys},
        "run": str(run.path),
    }


def _faults(records: Records) -> list[str]:
    """Faults of the trainings of focus and classifier, as sentences."""
    read = {name: r for name, r in records.items() if {"s", "log_p"} <= r.final.keys()}
    return [f"{text[0].upper()}{text[1:]}." for text in faults(read)]


def _absent(table: str, scale: str) -> Result:
    groups = published_tables()[table].groups
    return {
        "table": table,
        "scale": scale,
        "cells": [],
        "absent": dict.fromkeys(groups, ""),
        "differs": [],
        "findings": [],
        "manifest": {},
    }
