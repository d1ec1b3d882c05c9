"""Kill jobs, or fill the disk, at every file operation; resume; compare every number.

Each trial runs a job in a forked process that ends with SIGKILL just before its k-th file operation
in the run directory (``--fault kill``), or that meets a full disk from there on (``--fault full``).
The job is then resumed, or started again if nothing was on disk, and must end with the bits of an
unbroken run. Prints figures; the exit code is 1 if a trial fails.

    python tools/fault_campaign.py                 # 50 kills
    python tools/fault_campaign.py --trials 1000   # a full campaign
"""

import argparse
import errno
import hashlib
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from foveate.cli import main as foveate

SMALL = ["--seeds", "1", "--epochs", "2", "--save-seconds", "0"]
SIZES = ["--n", "40", "--n-test", "12", "--batch", "20"]
JOBS: dict[str, list[str]] = {
    "race": ["race", "error-mode-1", "--paradigms", "soft,hard", *SMALL, *SIZES, "--out", "run"],
    "fit": ["fit", "t.csv", "--paradigms", "soft,hard", "--folds", "1", *SMALL, "--out", "run"],
    "run": ["run", "error-modes", "--scale", "smoke", "--out", "run"],
}
WORKERS = {"race with workers": [*JOBS["race"], "--workers", "2"]}
LONGEST = 300  # seconds of a trial; more is a hang
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
EVENTS = {"os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.chmod", "os.truncate"}


def install(folder: Path, fault: Callable[[int], None]) -> Counter[str]:
    """Call ``fault(k)`` before the k-th file operation within a folder, in this process."""
    seen: Counter[str] = Counter()
    inside = str(folder)

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open":
            flags = arguments[2] if isinstance(arguments[2], int) else 0
            if not flags & WRITES:
                return
        elif event not in EVENTS:
            return
        path = os.path.abspath(str(arguments[0]))
        if path.startswith(inside):
            seen["operations"] += 1
            fault(seen["operations"])

    sys.addaudithook(hook)
    return seen


def forked(work: Callable[[], None], log: Path) -> int:
    """Run a function in a forked process; its exit code, negative for a signal, 999 for a hang."""
    child = os.fork()
    if child == 0:
        handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        code = 0
        try:
            work()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
        except BaseException:
            traceback.print_exc()
            code = 70
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    deadline = time.monotonic() + LONGEST
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return 999


def digest(run: Path) -> str:
    """A hash of every array, tensor and split of a run."""
    whole = hashlib.sha256()
    for path in sorted(run.rglob("*.npz")):
        with np.load(path) as file:
            for name in sorted(n for n in file.files if n not in ("meta", "told")):
                whole.update(f"{path.relative_to(run)} {name}".encode())
                whole.update(np.ascontiguousarray(file[name]).tobytes())
    for path in sorted(run.rglob("*.safetensors")):
        for name, value in sorted(load_file(path).items()):
            whole.update(f"{path.relative_to(run)} {name}".encode() + value.tobytes())
    for path in sorted(run.rglob("split.json")):
        whole.update(path.read_bytes())
    return whole.hexdigest()


def preload() -> None:
    """Import once what every forked process needs."""
    for module in ("jobs.race", "jobs.fit", "jobs.experiment", "report.pages.race"):
        import_module(f"foveate.{module}")
    for module in ("report.pages.fit", "report.terminal.fit", "cli.commands.races"):
        import_module(f"foveate.{module}")
    import_module("vl_convert")


def write_table(path: Path) -> None:
    """A small table of bags."""
    chance = np.random.default_rng(0)
    lines = ["bag,label,a,b"]
    for i in range(24):
        for _ in range(3):
            a, b = chance.normal(size=2)
            lines.append(f"b{i},{'uv'[i % 2]},{a:.4f},{b:.4f}")
    path.write_text("\n".join(lines))


def kill(at: int) -> Callable[[int], None]:
    """A fault that ends the process before operation ``at``."""

    def fault(k: int) -> None:
        if k == at:
            os.kill(os.getpid(), signal.SIGKILL)

    return fault


def fill(at: int) -> Callable[[int], None]:
    """A fault that refuses every operation from ``at`` on."""

    def fault(k: int) -> None:
        if k >= at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    return fault


def trial(command: list[str], folder: Path, fault: Callable[[int], None], expected: str) -> str:
    """Break a job once or, half of the times, once more in its resume; the kind of outcome."""
    os.chdir(folder)
    log = folder.parent / "log.txt"

    def broken() -> None:
        install(folder / "run", fault)
        foveate(command)

    code = forked(broken, log)
    if code in (70, 999) or "Traceback" in log.read_text(errors="replace"):
        shutil.copy(log, folder.parent / "failed.txt")
        return "hang" if code == 999 else "traceback"
    started = (folder / "run" / "manifest.json").exists()
    code = forked(lambda: foveate(["resume", "run"] if started else command), log)
    if code:
        shutil.copy(log, folder.parent / "failed.txt")
        return f"resume ended with {code}"
    left = [path.name for path in (folder / "run").rglob(".*") if path.name != ".lock"]
    if left:
        return "leftovers"
    return "equal" if digest(folder / "run") == expected else "silent difference"


def campaign(name: str, command: list[str], trials: int, mode: str, root: Path) -> Counter[str]:
    """Trials of one job, spread over its file operations."""
    folder = root / "whole"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    write_table(folder / "t.csv")
    os.chdir(folder)
    counted = root / "operations.txt"

    def whole() -> None:
        seen = install(folder / "run", lambda _: None)
        foveate(command)
        counted.write_text(str(seen["operations"]))

    code = forked(whole, root / "log.txt")
    if code:
        raise SystemExit(f"{name} ended with {code}: {(root / 'log.txt').read_text()[-400:]}")
    operations, expected = int(counted.read_text()), digest(folder / "run")
    outcomes: Counter[str] = Counter()
    for at in np.unique(np.linspace(1, operations, trials).astype(int)):
        broken = root / "broken"
        shutil.rmtree(broken, ignore_errors=True)
        broken.mkdir()
        write_table(broken / "t.csv")
        fault = kill(int(at)) if mode == "kill" else fill(int(at))
        outcomes[trial(command, broken, fault, expected)] += 1
    print(f"{name}, {mode}: {operations} file operations, {dict(outcomes)}", flush=True)
    return outcomes


def main(arguments: list[str] | None = None) -> int:
    """Run the campaign; 1 if any trial did not end with the numbers of an unbroken run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=50, help="trials over all jobs")
    parser.add_argument("--fault", choices=["kill", "full"], default="kill")
    parser.add_argument("--jobs", default=",".join(JOBS), help="names of jobs, by commas")
    given = parser.parse_args(arguments)
    jobs = {name: (JOBS | WORKERS)[name] for name in given.jobs.split(",")}
    total: Counter[str] = Counter()
    before = Path.cwd()
    preload()
    with tempfile.TemporaryDirectory() as folder:
        for name, command in jobs.items():
            each = max(1, given.trials // len(jobs))
            total += campaign(name, command, each, given.fault, Path(folder).resolve())
        os.chdir(before)
    print(f"{sum(total.values())} trials: {dict(total)}")
    return int(set(total) != {"equal"})


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
