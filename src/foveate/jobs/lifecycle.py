"""The lifecycle of every job: start, compute parts, finish; resume where it was interrupted.

A part is finished when its record is on disk, so an interrupted run is resumed by computing the
parts that have none, each from its checkpoint. CPU seconds are counted through interruptions.
"""

import shutil
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from foveate.errors import RunInterrupted
from foveate.jobs.engine import Engine, Task, execute
from foveate.jobs.job import CHECKPOINT, Job, open_job
from foveate.records.locking import lock_run
from foveate.records.record import write_atomically
from foveate.records.runs import Run, create_run, open_run, versions
from foveate.types import PartProgress, StepProgress

__all__ = ["IN_PROCESS", "resume_job", "run_part", "start_job"]

IN_PROCESS = Engine()
SAVE_EVERY = 10.0  # CPU seconds of a part between two updates of its counter on disk


def start_job(
    job: Job,
    *,
    out: Path | None = None,
    report: PartProgress | None = None,
    command: str = "",
    engine: Engine = IN_PROCESS,
) -> Run:
    """Run a job in a new run directory.

    Args:
        job: What to run.
        out: The directory; None for a new one in the folder of runs.
        report: Called as ``report(part, done, total)``.
        command: The command that repeats it, for the manifest.
        engine: Where its parts are computed.
    """
    job.check(report)
    run = create_run(
        out,
        job.kind,
        job.label,
        parts=list(job.parts()),
        command=command,
        seconds=0.0,
        **job.describe(),
    )
    return _run_missing_parts(run, job, report, engine)


def resume_job(
    run: Run,
    report: PartProgress | None = None,
    engine: Engine = IN_PROCESS,
    job: Job | None = None,
) -> Run:
    """Compute the parts that are missing and finish; the results equal those of an unbroken run.

    Args:
        run: A run of any kind.
        report: Called as ``report(part, done, total)``.
        engine: Where its parts are computed.
        job: The job of the run, if the caller has it; reopened from the manifest otherwise.
    """
    job = job or open_job(run)
    job.check(report)
    return _run_missing_parts(run, job, report, engine)


def _run_missing_parts(run: Run, job: Job, report: PartProgress | None, engine: Engine) -> Run:
    with lock_run(run.path):
        # The process that held the lock before may have changed the manifest.
        return _run_locked(open_run(run.path), job, report, engine)


def _run_locked(run: Run, job: Job, report: PartProgress | None, engine: Engine) -> Run:
    start = time.monotonic()
    inputs = job.write_inputs(run.path, for_workers=not engine.in_process)
    missing = {name: after for name, after in job.parts().items() if not run.has(name)}
    function, arguments = _call(job, run, engine)
    tasks = [Task(name, function, arguments, (*a, *inputs)) for name, a in missing.items()]
    try:
        execute(tasks, run.path, engine, report)
    except KeyboardInterrupt:
        raise RunInterrupted(run.path) from None
    for name in job.parts():
        (run.path / name / CHECKPOINT).unlink(missing_ok=True)
    entries = job.finish(run)
    for name in inputs:
        shutil.rmtree(run.path / name, ignore_errors=True)
    seconds = run.manifest.get("seconds") or 0.0
    if missing or not run.done:  # resuming a finished run changes nothing
        seconds += time.monotonic() - start
    return run.update(
        status="done",
        seconds=seconds,
        cpu_seconds=_cpu_seconds(run),
        part_versions=_part_versions(run),
        **entries,
    )


def _call(job: Job, run: Run, engine: Engine) -> tuple[Any, dict[str, Any]]:
    """The function that computes a part, and its arguments: a worker opens the job itself."""
    if engine.in_process:
        return run_part, {"job": job}
    return _run_reopened_part, {"job_class": type(job), "manifest": run.manifest}


def _run_reopened_part(
    folder: Path,
    name: str,
    *,
    job_class: type[Job],
    manifest: Mapping[str, Any],
    progress: StepProgress,
) -> None:
    run_part(folder, name, job=job_class.reopen(Run(folder, dict(manifest))), progress=progress)


def run_part(folder: Path, name: str, *, job: Job, progress: StepProgress) -> None:
    """Compute one part of a job and write its record to ``folder / name``."""
    part_folder = folder / name
    part_folder.mkdir(parents=True, exist_ok=True)
    clock = _CpuClock(part_folder / "spent.txt", progress)
    record = job.run_part(name, folder, clock)
    meta = {**record.meta, "spent": clock.seconds(), "versions": versions()}
    replace(record, meta=meta).save(part_folder / "record.npz")
    (part_folder / CHECKPOINT).unlink(missing_ok=True)
    clock.path.unlink(missing_ok=True)


class _CpuClock:
    """Counts the CPU seconds of a part, interrupted attempts included; forwards progress.

    Args:
        path: File that keeps the seconds until the part is finished.
        progress: Where progress is forwarded to.
    """

    def __init__(self, path: Path, progress: StepProgress) -> None:
        self.path, self._progress = path, progress
        self._before = _stored_seconds(path)
        self._start = self._saved = time.process_time()

    def seconds(self) -> float:
        """All CPU seconds up to now."""
        return self._before + time.process_time() - self._start

    def __call__(self, done: int, total: int) -> None:
        if time.process_time() - self._saved > SAVE_EVERY:
            text = str(self.seconds()).encode()
            write_atomically(self.path, lambda file: file.write(text))
            self._saved = time.process_time()
        self._progress(done, total)


def _stored_seconds(path: Path) -> float:
    """Seconds in a file of :class:`_CpuClock`; 0 if it is missing or damaged."""
    try:
        return float(path.read_bytes())
    except (OSError, ValueError):
        return 0.0


def _part_versions(run: Run) -> dict[str, Any]:
    """Versions of the packages that computed each part; of older runs, those of the run."""
    old = run.manifest.get("versions", {})
    return {name: record.meta.get("versions", old) for name, record in run.records().items()}


def _cpu_seconds(run: Run) -> float | None:
    """CPU seconds of all parts; None if one of them did not count.

    Records of older versions have the seconds of their training instead.
    """
    metas = [record.meta for record in run.records().values()]
    spent = [meta.get("spent", meta.get("cpu_seconds")) for meta in metas]
    return None if None in spent else float(sum(spent))
