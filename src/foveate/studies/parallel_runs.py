"""Experiments side by side: a process each, as many at a time as there are cores.

Small trainings gain little from a second thread, and two threads on a busy core lose a lot; so each
process has one, and the cores are filled with experiments instead.
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

__all__ = ["run_side_by_side"]

LOOK_EVERY = 0.5  # seconds
COMMAND = "from foveate.cli import main; main()"


def run_side_by_side(
    places: Mapping[str, Path], scale: str, report: PartProgress | None, lanes: int | None = None
) -> None:
    """Run, or finish, one experiment in each place.

    Args:
        places: Experiments by name, and the run directory of each.
        scale: The scale of those that are new.
        report: Called as ``report(experiment, parts done, parts)``.
        lanes: How many at a time; the number of cores unless given.
    """
    waiting = list(places.items())
    running: dict[str, subprocess.Popen[bytes]] = {}
    lanes = lanes or os.cpu_count() or 1
    try:
        while waiting or running:
            while waiting and len(running) < lanes:
                name, place = waiting.pop(0)
                running[name] = _started(name, place, scale)
            time.sleep(LOOK_EVERY)
            for name in list(running):
                _tell(name, places[name], report)
                if running[name].poll() is not None:
                    _ended(name, running.pop(name))
    finally:
        for process in running.values():
            process.kill()
            process.communicate()


def _started(name: str, place: Path, scale: str) -> "subprocess.Popen[bytes]":
    if (place / "manifest.json").exists():
        words = ["resume", str(place), "--json"]
    else:
        words = ["run", name, "--scale", scale, "--out", str(place), "--json"]
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, *words],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def _tell(name: str, place: Path, report: PartProgress | None) -> None:
    if report is not None and (place / "manifest.json").exists():
        run = open_run(place)
        parts = run.manifest["parts"]
        report(name, sum(run.has(part) for part in parts), len(parts))


def _ended(name: str, process: "subprocess.Popen[bytes]") -> None:
    _, errors = process.communicate()
    if process.returncode:
        last = errors.decode(errors="replace").strip().splitlines()
        why = last[-1].removeprefix("foveate: ") if last else f"exit code {process.returncode}"
        raise FoveateError(f"experiment '{name}' failed: {why}")
