"""Run the benchmarks of the table in docs/performance.md at small size and store their numbers.

    python benchmarks/all.py [--only stacked_seeds] [--store benchmarks/results.json]

Every row is a command that prints its numbers as JSON. ``tools/performance_page.py`` makes the page
from the stored file; rows that are not run again stay. A row that takes minutes runs only if named.
A row whose libraries or data are absent is stored with the last line of its error message.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).resolve().parent
PACKAGES = ("torch", "jax", "torchmil", "scipy", "nltk", "systran-align")


class Row(NamedTuple):
    """A benchmark of the table.

    Args:
        work: What is measured.
        command: Its command.
        goal: The least ratio wanted.
        long: Whether it takes minutes, so that it runs only if ``--only`` names it.
    """

    work: str
    command: tuple[str, ...]
    goal: float
    long: bool = False


def _seeds(data: str, against: str, goals: dict[int, float]) -> list[Row]:
    other = {"plain": "plain PyTorch", "jax": "JAX"}[against]
    return [
        Row(
            f"{data}, soft, S = {seeds}, against {other}",
            ("stacked_seeds.py", "--data", data, "--against", against, "--seeds", str(seeds))
            + (("--repeats", "3") if seeds > 8 else ()),
            goal,
        )
        for seeds, goal in goals.items()
    ]


def _torchmil(batch: int, goal: float) -> Row:
    sizes = ("--bags", "64", "--epochs", "2", "--batch", str(batch))
    what = f"ABMIL fit, batches of {batch}, against torchmil"
    return Row(what, ("fit_against_torchmil.py", *sizes), goal)


ROWS = [
    *_seeds("error-mode-1", "plain", {1: 1.2, 8: 4, 64: 10, 256: 15}),
    *_seeds("error-mode-1", "jax", {1: 1, 8: 1, 64: 1, 256: 1}),
    *_seeds("digits", "plain", {1: 1, 8: 2, 64: 2, 256: 2}),
    *_seeds("digits", "jax", {1: 1, 8: 1, 64: 1}),
    _torchmil(32, 1.7),
    _torchmil(1, 1.15),
    Row("exact flows against LSODA", ("flow_speed.py",), 2),
    Row("IBM Model 1 against NLTK", ("ibm1_speed.py", "--against", "nltk"), 80),
    Row("IBM Model 1 against fast_align", ("ibm1_speed.py", "--against", "fast_align"), 8),
    Row(
        "trust of 3 models on 1,000 bags × 200 × 64 (4 s), bound over CPU time",
        ("trust_speed.py",),
        1,
    ),
    Row(
        "fit of 300 bags × 500 × 384, defaults (360 s), bound over CPU time",
        ("fit_speed.py",),
        1,
        long=True,
    ),
    Row("bags mapped from a file, against bags in memory", ("mapped_bags.py",), 0.7),
    Row(
        "fit of bags larger than memory, against bags in memory",
        ("streamed_fit.py", "--bags", "100", "--segments", "2000", "--epochs", "4"),
        0.7,
    ),
    Row(
        "fit and race over two Dask workers against one (at most .6 of the time)",
        ("cluster_speed.py", "--repeats", "1"),
        1.67,
    ),
    *(
        Row(f"{what}, bound over CPU time", ("start_up.py", "--command", name), 1)
        for name, what in (
            ("import", "`import foveate` (.03 s)"),
            ("help", "`foveate --help` (.15 s)"),
            ("runs", "`foveate runs` (.25 s)"),
        )
    ),
    *(
        Row(f"growth in {name}, 1 / slope", ("growth.py", "--along", name, "--repeats", "2"), 1)
        for name in ("bags", "segments", "features", "classes", "seeds")
    ),
]


def measured(row: Row) -> dict[str, Any]:
    """The row with the numbers of its command, or with the reason why there are none."""
    file, *options = row.command
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, str(FOLDER / file), *options, "--json"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    command = " ".join(("python", f"benchmarks/{file}", *options))
    entry = {"work": row.work, "command": command, "goal": row.goal}
    if done.returncode:
        return entry | {"error": (done.stderr.strip().splitlines() or ["failed"])[-1]}
    numbers = json.loads(done.stdout.strip().splitlines()[-1])
    return entry | {"wall_seconds": time.monotonic() - start, "numbers": numbers}


def machine() -> dict[str, Any]:
    """Processor, number of cores, load and versions."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "processor": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "threads": 1,
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "versions": versions,
    }


def store(path: Path, entry: dict[str, Any]) -> None:
    """Write a row into the stored run, in place of an earlier one; rows keep their order."""
    before = json.loads(path.read_text())["rows"] if path.exists() else []
    known = {row["work"]: row for row in [*before, entry]}
    rows = [known[row.work] for row in ROWS if row.work in known]
    text = json.dumps({"machine": machine(), "rows": rows}, indent=1, ensure_ascii=False)
    path.write_text(text + "\n")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--only", default="", help="commands that contain this text")
    arguments.add_argument("--store", type=Path, help="JSON file to write")
    options = arguments.parse_args()
    for row in ROWS:
        if options.only not in " ".join(row.command) or (row.long and not options.only):
            continue
        entry = measured(row)
        outcome = f"ratio {entry['numbers']['ratio']:.2f}" if "numbers" in entry else entry["error"]
        print(f"{row.work}: {outcome} (goal {row.goal:g})", flush=True)
        if options.store:
            store(options.store, entry)


if __name__ == "__main__":
    main()
