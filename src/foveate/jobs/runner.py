"""Running experiments: in a run directory, a part at a time, resumable."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from foveate.errors import FoveateError
from foveate.jobs.engine import Engine, Job, execute
from foveate.jobs.experiment import EXPERIMENTS, SCALES, Experiment, Scale
from foveate.papers import statement_of
from foveate.records.findings import Entry, Finding
from foveate.records.record import write_atomically
from foveate.records.runs import Run, create_run
from foveate.settings import Settings
from foveate.types import PartProgress

__all__ = [
    "do_part",
    "experiment_charts",
    "findings_of",
    "of_run",
    "resume_experiment",
    "settings_for",
    "start_experiment",
    "write_experiment_report",
]

FINDINGS = "findings.json"
KEEP_EVERY = 10.0  # CPU seconds of a part between two notes of them
HERE = Engine()


def settings_for(name: str, scale: str, changes: Mapping[str, Any]) -> Settings:
    """An experiment's settings at a scale, with some of them changed.

    Args:
        name: The experiment.
        scale: One of "smoke", "small", "paper".
        changes: Fields to replace, checked like any other.
    """
    kind = EXPERIMENTS.get(name)
    if scale not in SCALES:
        raise FoveateError(f"scale must be one of {', '.join(SCALES)}, got '{scale}'")
    usual = kind.scales[scale]
    return type(usual)(**{**usual.model_dump(), **changes})


def start_experiment(
    name: str,
    scale: Scale = "small",
    changes: Mapping[str, Any] | None = None,
    *,
    out: Path | None = None,
    report: PartProgress | None = None,
    command: str = "",
    engine: Engine = HERE,
) -> Run:
    """Run an experiment in a new run directory.

    Args:
        name: A name in ``foveate list experiments``.
        scale: How large.
        changes: Settings to change.
        out: The directory; None for a new one in the folder of runs.
        report: Called as ``report(part, done, total)``.
        command: The command that repeats it, for the manifest.
        engine: Where its parts execute.
    """
    settings = settings_for(name, scale, changes or {})
    parts = list(EXPERIMENTS.get(name)().parts(settings))
    for claim in EXPERIMENTS.get(name).criteria:
        statement_of(claim)  # a claim without a statement is refused before anything is trained
    if not parts:
        raise FoveateError(f"these settings leave {name} nothing to do")
    run = create_run(
        out,
        "experiment",
        name,
        parts=parts,
        config={"experiment": name, "scale": scale, "settings": settings.model_dump()},
        command=command,
        seconds=0.0,
    )
    return resume_experiment(run, report, engine)


def resume_experiment(run: Run, report: PartProgress | None = None, engine: Engine = HERE) -> Run:
    """Do the parts that are not done yet, then write the findings."""
    start = time.monotonic()
    experiment, settings = of_run(run)
    target, given = f"{__name__}:do_part", {"config": run.manifest["config"]}
    jobs = [
        Job(name, target, given, experiment.needs.get(name, ()))
        for name in experiment.parts(settings)
        if not run.has(name)
    ]
    execute(jobs, run.path, engine, report)
    found = [asdict(finding) for finding in experiment.findings(settings, run.records())]
    text = json.dumps(found, indent=2, ensure_ascii=False).encode()
    write_atomically(run.path / FINDINGS, lambda file: file.write(text))
    seconds = run.manifest["seconds"] + time.monotonic() - start
    return run.update(status="done", seconds=seconds, cpu_seconds=_cpu_seconds(run))


def _cpu_seconds(run: Run) -> float | None:
    """What all parts took, however often they were killed; None where one did not count.

    Where a part of an earlier version did not, its training did.
    """
    metas = [record.meta for record in run.records().values()]
    spent = [m.get("spent", m.get("cpu_seconds")) for m in metas]
    return None if None in spent else float(sum(spent))


def do_part(
    folder: Path, name: str, *, config: Mapping[str, Any], tell: Callable[[int, int], None]
) -> None:
    """Do one part of an experiment and leave its record in ``folder / name``."""
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    checkpoint = place / "checkpoint.safetensors"
    experiment, settings = _configured(config)
    spent = _Spent(place / "spent.txt", tell)
    record = experiment.parts(settings)[name](checkpoint, spent)
    meta = {**record.meta, "spent": spent.seconds()}
    replace(record, meta=meta).save(place / "record.npz")
    checkpoint.unlink(missing_ok=True)
    spent.path.unlink(missing_ok=True)


class _Spent:
    """The CPU seconds that a part has taken, those before it was killed too; hands on progress.

    Args:
        path: Where the seconds are kept until the part is done.
        tell: What progress is handed on to.
    """

    def __init__(self, path: Path, tell: Callable[[int, int], None]) -> None:
        self.path, self._tell = path, tell
        self._before = float(path.read_text()) if path.exists() else 0.0
        self._start = self._kept = time.process_time()

    def seconds(self) -> float:
        """All of them up to now."""
        return self._before + time.process_time() - self._start

    def __call__(self, done: int, total: int) -> None:
        if time.process_time() - self._kept > KEEP_EVERY:
            text = str(self.seconds()).encode()
            write_atomically(self.path, lambda file: file.write(text))
            self._kept = time.process_time()
        self._tell(done, total)


def of_run(run: Run) -> tuple[Experiment, Settings]:
    """The experiment a run is of, and its settings."""
    try:
        return _configured(run.manifest["config"])
    except (KeyError, TypeError):
        raise FoveateError(f"{run.path} is not a run of an experiment") from None


def _configured(config: Mapping[str, Any]) -> tuple[Experiment, Settings]:
    name = config["experiment"]
    return EXPERIMENTS.get(name)(), settings_for(name, config["scale"], config["settings"])


def findings_of(run: Run) -> list[Finding]:
    """The findings a finished run wrote."""
    try:
        return [Finding(**entry) for entry in json.loads((run.path / FINDINGS).read_text())]
    except (OSError, ValueError, TypeError) as error:
        raise FoveateError(f"{run.path} has no whole findings: {error}") from None


def experiment_charts(run: Run) -> Mapping[str, Any]:
    """The charts of an experiment run, drawn from its records."""
    experiment, settings = of_run(run)
    return experiment.figures(settings, run.records())


def write_experiment_report(run: Run, path: Path) -> Path:
    """Write the page of a finished experiment."""
    from foveate.report.pages.experiment import write_experiment_page

    experiment, _ = of_run(run)
    name = run.manifest["label"]
    entries = [
        Entry(found.claim, statement_of(found.claim), name, experiment.criteria[found.claim], found)
        for found in findings_of(run)
    ]
    return write_experiment_page(run, path, experiment.about, entries, experiment_charts(run))
