"""Run the benchmarks of the table in docs/performance.md at small size and store their numbers.

    python benchmarks/all.py [--only stacked_seeds] [--store benchmarks/results.json] [--resume]

Every row is a command that prints its numbers as JSON, and is stored as soon as it ends; rows that
are not run stay. A run that was interrupted goes on with ``--resume``: rows that the file has of
the same code are skipped, failed ones are run again. ``tools/performance_page.py`` makes the page
from the file. A row that takes minutes runs only if ``--only`` names it. A row whose libraries or
data are absent, or that takes longer than its limit, is stored with the reason.
"""

import argparse
import hashlib
import json
import os
import platform
import resource
import signal
import subprocess
import sys
import time
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent
LIMIT = 300  # seconds of a row that is not long
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
        "fit of 20 GB of bags, against bags in memory",
        ("streamed_fit.py",),
        0.7,
        long=True,
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
        Row(f"growth in {name}, 1 / slope", ("growth.py", "--along", name), 1)
        for name in ("bags", "segments", "features", "classes", "seeds")
    ),
]


def measured(row: Row, source: str) -> dict[str, Any]:
    """The row with the numbers of its command, or with the reason why there are none."""
    file, *options = row.command
    entry = {
        "work": row.work,
        "command": " ".join(("python", f"benchmarks/{file}", *options)),
        "goal": row.goal,
        "source": source,
        "date": date.today().isoformat(),
        "load": round(os.getloadavg()[0], 1),
    }
    start, before = time.monotonic(), _children_seconds()
    words = [sys.executable, str(FOLDER / file), *options, "--json"]
    result = _run(words, None if row.long else LIMIT)
    if isinstance(result, str):
        return entry | {"error": result}
    spent = {"wall_seconds": time.monotonic() - start}
    spent["cpu_seconds"] = _children_seconds() - before
    return entry | {key: round(value, 1) for key, value in spent.items()} | {"numbers": result}


def _run(words: list[str], limit: float | None) -> dict[str, Any] | str:
    """The numbers that a command prints as its last line, or what went wrong."""
    process = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        start_new_session=True,  # its child processes are stopped with it
    )
    try:
        output, errors = process.communicate(timeout=limit)
    except BaseException as stopped:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if isinstance(stopped, subprocess.TimeoutExpired):
            return f"took longer than {limit:g} s"
        raise
    if process.returncode:
        return (errors.strip().splitlines() or ["failed"])[-1]
    try:
        numbers: dict[str, Any] = json.loads(output.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return "its last line is not JSON"
    return numbers


def _children_seconds() -> float:
    """CPU seconds of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def source_digest() -> str:
    """A digest of the code that is measured: the package and the benchmarks."""
    digest = hashlib.sha256()
    for path in sorted([*(ROOT / "src").rglob("*.py"), *FOLDER.glob("*.py")]):
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


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
        "python": platform.python_version(),
        "versions": versions,
    }


def stored_rows(path: Path | None) -> dict[str, dict[str, Any]]:
    """The rows of a stored run by their names."""
    if path is None or not path.exists():
        return {}
    return {row["work"]: row for row in json.loads(path.read_text())["rows"]}


def store(path: Path, entry: dict[str, Any]) -> None:
    """Write a row into the stored run, in place of an earlier one; rows keep their order."""
    known = stored_rows(path) | {entry["work"]: entry}
    rows = [known[row.work] for row in ROWS if row.work in known]
    text = json.dumps({"machine": machine(), "rows": rows}, indent=1, ensure_ascii=False)
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(text + "\n")
    temporary.replace(path)


def selected(options: argparse.Namespace, source: str) -> list[Row]:
    """The rows to run: all that are not long, or those named, without those stored already."""
    rows = [row for row in ROWS if options.only in " ".join(row.command)]
    rows = [row for row in rows if options.only or not row.long]
    if not options.resume:
        return rows
    known = stored_rows(options.store)
    done = {name for name, row in known.items() if row.get("source") == source and "numbers" in row}
    return [row for row in rows if row.work not in done]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--only", default="", help="commands that contain this text")
    arguments.add_argument("--store", type=Path, help="JSON file to write")
    arguments.add_argument("--resume", action="store_true", help="skip rows of --store")
    options = arguments.parse_args()
    if options.resume and not options.store:
        arguments.error("--resume goes on with the file that --store names")
    start, source = time.monotonic(), source_digest()
    rows = selected(options, source)
    for number, row in enumerate(rows, 1):
        entry = measured(row, source)
        outcome = f"ratio {entry['numbers']['ratio']:.2f}" if "numbers" in entry else entry["error"]
        elapsed = time.monotonic() - start
        print(
            f"[{number}/{len(rows)}, {elapsed:.0f} s] {row.work}: {outcome} (goal {row.goal:g})",
            flush=True,
        )
        if options.store:
            store(options.store, entry)


if __name__ == "__main__":
    main()
