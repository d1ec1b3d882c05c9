"""Experiments in parallel: one process each, as many at a time as there are cores.

Small trainings hardly profit from a second thread; each
process therefore uses one thread, and there is one process per core.
"""

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from foveate.errors import FoveateError
from foveate.records.runs import open_run
from foveate.types import PartProgress

__all__ = ["run_in_parallel"]

LOOK_EVERY = 0.5  # seconds
COMMAND = "from foveate.cli import main; main()"


def run_in_parallel(
    folders: Mapping[str, Path],
    scale: str,
    report: PartProgress | None,
    processes: int | None = None,
) -> None:
    """Run or resume one experiment in each folder.

    Args:
        folders: Experiments by name, and the run directory of each.
        scale: The scale of those that are new.
        report: Called as ``report(experiment, parts done, parts)``.
        processes: Number of processes; default: the number of cores.
    """
    queued = list(folders.items())
    running: dict[str, subprocess.Popen[bytes]] = {}
    processes = processes or os.cpu_count() or 1
    try:
        while queued or running:
            while queued and len(running) < processes:
                name, folder = queued.pop(0)
                running[name] = _start_process(name, folder, scale)
            time.sleep(LOOK_EVERY)
            for name in list(running):
                _report_state(name, folders[name], report)
                if running[name].poll() is not None:
                    _check_exit(name, running.pop(name))
    finally:
        for process in running.values():
            process.kill()
            process.communicate()


def _start_process(name: str, folder: Path, scale: str) -> "subprocess.Popen[bytes]":
    if (folder / "manifest.json").exists():
        words = ["resume", str(folder), "--json"]
    else:
        words = ["run", name, "--scale", scale, "--out", str(folder), "--json"]
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, *words],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def _report_state(name: str, folder: Path, report: PartProgress | None) -> None:
    if report is not None and (folder / "manifest.json").exists():
        run = open_run(folder)
        parts = run.manifest["parts"]
        report(name, sum(run.has(part) for part in parts), len(parts))


def _check_exit(name: str, process: "subprocess.Popen[bytes]") -> None:
    _, errors = process.communicate()
    if process.returncode:
        last = errors.decode(errors="replace").strip().splitlines()
        reason = last[-1].removeprefix("foveate: ") if last else f"exit code {process.returncode}"
        raise FoveateError(f"experiment '{name}' failed: {reason}")
