"""Kill jobs, or fill the disk, at every file operation; resume; compare every number.

A trial runs a command in a forked process that meets a fault at its k-th file operation (see
``fault_injection.py``): SIGKILL, within a write after half of its bytes, or a full disk from there
on. Every second kill is followed by one in the resume. What is left is then resumed without a fault
and must end with the bits of an unbroken run, without temporary files. Charts are not drawn, which
touches no file. Trials come in rounds; with a file of figures, a campaign runs in slices. Prints
figures; the exit code is 1 if a trial fails.

    python tools/fault_campaign.py                                # 50 kills
    python tools/fault_campaign.py --trials 1000 --fault kill     # a full campaign
    python tools/fault_campaign.py --trials 1000 --figures k.json --minutes 20    # a slice of it
    python tools/fault_campaign.py --trials 300 --fault full      # full disks
"""

import argparse
import hashlib
import json
import math
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file

from campaign_figures import Figures
from fault_injection import Plan, count_operations, inject
from foveate.charts import render
from foveate.cli import main as foveate
from foveate.data.features import encoding

TRAINING = ["--paradigms", "soft,hard", "--seeds", "1", "--epochs", "2", "--save-seconds", "0"]
RACE = ["race", "error-mode-1", *TRAINING, "--n", "40", "--n-test", "12", "--batch", "20"]
RESUME = ["resume", "run"]
ROUND = 100  # faults
LONGEST = 180  # seconds of a process; more is a hang
CPU_TIMES = {"seconds", "cpu_seconds", "created", "manifest", "spent", "step_seconds"}


@dataclass(frozen=True)
class Job:
    """A command to break.

    Args:
        command: Its words.
        again: The command that goes on after it was broken; the same one unless given.
        before: A command that runs unbroken first.
        options: Words added to both.
        share: Of the faults, relative to other jobs; worker processes start slowly.
    """

    command: list[str]
    again: list[str] | None = None
    before: list[str] | None = None
    options: tuple[str, ...] = ()
    share: float = 1.0


WORKERS = ("--workers", "2")
JOBS = {
    "race": Job([*RACE, "--out", "run"], RESUME),
    "fit": Job(["fit", "t.csv", *TRAINING, "--folds", "1", "--out", "run"], RESUME),
    "fit in folds": Job(
        ["fit", "t.csv", *TRAINING, "--folds", "2", "--repeats", "1", "--out", "run"], RESUME
    ),
    "run": Job(["run", "word-counts", "--scale", "smoke", "--out", "run"], RESUME),
    "reproduce": Job(
        ["reproduce", "mil-assumptions", "--scale", "smoke", "--results", "r", "--out", "p.html"]
    ),
    "encode": Job(
        ["encode", "images.npz", "--encoder", "fault_campaign:encoder", "--out", "x.npz"]
    ),
    "report": Job(["report", "run"], before=[*RACE, "--out", "run"]),
}
JOBS |= {
    f"{name}, 2 workers": Job(JOBS[name].command, RESUME, options=WORKERS, share=0.1)
    for name in ("race", "fit", "run")
}


def encoder() -> torch.nn.Module:
    """A small encoder of images."""
    return torch.nn.Sequential(torch.nn.AvgPool2d(32), torch.nn.Flatten())


def run_in_child(work: Callable[[], object], log: Path) -> int:
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


def digest(folder: Path) -> str:
    """A hash of every array, tensor, split, score and stored result below a folder."""
    result = hashlib.sha256()

    def add(path: Path, name: str, content: bytes) -> None:
        result.update(f"{path.relative_to(folder)} {name}".encode() + content)

    for path in sorted(folder.rglob("*.npz")):
        with np.load(path) as file:
            for name in sorted(n for n in file.files if n != "meta"):
                add(path, name, np.ascontiguousarray(file[name]).tobytes())
    for path in sorted(folder.rglob("*.safetensors")):
        for name, value in sorted(load_file(path).items()):
            add(path, name, value.tobytes())
    for path in sorted(folder.rglob("*.json")):
        add(path, "", json.dumps(without_times(json.loads(path.read_text()))).encode())
    for path in sorted(folder.rglob("*.html")):
        add(path, "page", b"")
    return result.hexdigest()


def without_times(content: object) -> object:
    """JSON without times, paths, and the checksums of files that hold them."""
    if isinstance(content, dict):
        left_out = CPU_TIMES | {"checksum", "run"}
        return {k: without_times(v) for k, v in sorted(content.items()) if k not in left_out}
    return [without_times(value) for value in content] if isinstance(content, list) else content


def prepare(folder: Path, job: Job) -> None:
    """A new folder with the inputs of a job; the working directory from now on."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    os.chdir(folder)
    os.environ["FOVEATE_RUNS"] = str(folder / "runs")
    generator = np.random.default_rng(0)
    rows = [f"b{i // 3},{'uv'[i // 3 % 2]},{a:.4f},{b:.4f}" for i, (a, b) in
            enumerate(generator.normal(size=(72, 2)))]  # fmt: skip
    (folder / "t.csv").write_text("\n".join(["bag,label,a,b", *rows]))
    images = generator.integers(0, 255, (12, 8, 8, 3)).astype(np.uint8)
    np.savez(folder / "images.npz", X=images, y=np.arange(12) % 2)
    if job.before:
        done = folder.with_name("before")
        if not done.exists():
            _run(job.before)
            shutil.copytree(folder / "run", done)
        else:
            shutil.copytree(done, folder / "run")


def _call(command: list[str]) -> None:
    """Run a command as if this process had been started with it."""
    sys.argv = ["foveate", *command]  # stored as the command of a run
    foveate(command)


def _run(command: list[str]) -> None:
    """Run a command in this process; an exit code other than 0 is an error."""
    try:
        _call(command)
    except SystemExit as stop:
        if stop.code:
            raise RuntimeError(f"{command} ended with {stop.code}") from None


def trial(job: Job, folder: Path, plans: list[Plan], expected: str) -> str:
    """Break a job once per plan, resume it unbroken; the kind of outcome."""
    log = folder.with_name("log.txt")
    for plan in [*plans, None]:
        started = job.again and (folder / "run" / "manifest.json").exists()
        command = [*(job.again if started and job.again else job.command), *job.options]

        def work(plan: Plan | None = plan, command: list[str] = command) -> None:
            if plan is not None:
                inject(plan)
            _call(command)

        code = run_in_child(work, log)
        text = log.read_text(errors="replace")
        if code in (70, 999) or "Traceback" in text or (plan is None and code):
            _save_failure(folder, log)
            return {999: "hang"}.get(code, "traceback" if code == 70 or "Traceback" in text else
                                     f"resume ended with {code}")  # fmt: skip
    if [path for path in folder.rglob(".*") if path.name not in (".lock", ".mark")]:
        _save_failure(folder, log)
        return "leftovers"
    if digest(folder) == expected:
        return "equal"
    _save_failure(folder, log)
    return "silent difference"


def _save_failure(folder: Path, log: Path) -> None:
    """Copy what failed, for debugging."""
    copy = Path(tempfile.mkdtemp(prefix="fault-"))
    shutil.copytree(folder, copy / "folder", dirs_exist_ok=True)
    shutil.copy(log, copy / "log.txt")
    print(f"failed: {copy}", flush=True)


def campaign(
    name: str, job: Job, trials: int, kind: str, root: Path, earlier: int = 0
) -> Counter[str]:
    """Trials of one job, spread over its file operations.

    Args:
        name: Of the job.
        job: What is broken.
        trials: Faults to cause.
        kind: "kill" or "full".
        root: A folder for everything.
        earlier: Faults of earlier rounds: these meet other operations.

    Returns:
        Outcomes, faults in all ("faults"), and faults by kind of operation ("at a write", …).
    """
    folder, counter = root / "work", root / "operations"
    _load(name, job, folder, root)
    counter.unlink(missing_ok=True)
    no_fault = Plan(folder, counter)
    work = [*job.command, *job.options]
    code = run_in_child(lambda: count_operations(no_fault, lambda: _run(work)), root / "log.txt")
    if code:
        raise SystemExit(f"{name} ended with {code}: {(root / 'log.txt').read_text()[-400:]}")
    operations, expected = counter.stat().st_size, digest(folder)
    outcomes: Counter[str] = Counter()
    order = np.random.default_rng(earlier)
    while outcomes["faults"] < trials:
        number = earlier + outcomes["faults"]
        at = [spread(number, operations)]
        if kind == "kill" and number % 3:  # a kill in the resume as well
            at.append(int(order.integers(1, operations + 1)))
        prepare(folder, job)
        plans = [
            Plan(folder, root / f"operations-{i}", k, kind)
            for i, k in enumerate(at[: trials - outcomes["faults"]])
        ]
        for plan in plans:
            plan.counter.unlink(missing_ok=True)
        outcomes[trial(job, folder, plans, expected)] += 1
        outcomes["faults"] += len(plans)
        outcomes.update(f"at a {met}" for met in (plan.met() for plan in plans) if met)
    print(f"{name}, {kind}: {operations} file operations, {dict(outcomes)}", flush=True)
    return outcomes


def _load(name: str, job: Job, folder: Path, root: Path) -> None:
    """Prepare a job, and load in this process what every forked one needs."""
    shutil.rmtree(root / "before", ignore_errors=True)
    prepare(folder, job)
    if not job.options and name not in _loaded:
        _loaded.add(name)
        _run(job.command)
        prepare(folder, job)


_loaded: set[str] = set()


def spread(number: int, operations: int) -> int:
    """The operation, from 1, that a trial breaks: each once in as many trials, evenly spread."""
    step = max(1, round(operations * 0.618))
    while math.gcd(step, operations) > 1:
        step += 1
    return 1 + number * step % operations


def round_of(jobs: Mapping[str, Job], trials: int, kind: str, figures: Figures, root: Path) -> None:
    """Break every job some times, by its share, and add the outcomes to the figures."""
    shares = sum(job.share for job in jobs.values())
    done = {}
    for name, job in jobs.items():
        earlier = figures.counts.get(name, Counter())["faults"]
        faults = max(1, round(trials * job.share / shares))
        done[name] = campaign(name, job, faults, kind, root, earlier)
    figures.add(done)


def main(arguments: list[str] | None = None) -> int:
    """Run the campaign; 1 if any trial did not end with the numbers of an unbroken run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=50, help="faults over all jobs")
    parser.add_argument("--fault", choices=["kill", "full"], default="kill")
    parser.add_argument(
        "--jobs", default=";".join(JOBS), help="names of jobs, separated by semicolons"
    )
    parser.add_argument("--figures", type=Path, help="JSON file to go on from and to renew")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="longest slice")
    chosen = parser.parse_args(arguments)
    jobs = {name: JOBS[name] for name in chosen.jobs.split(";")}
    figures = Figures.load(chosen.figures and chosen.figures.resolve())
    end = time.monotonic() + 60 * chosen.minutes
    before = Path.cwd(), render.vl_convert.vegalite_to_svg, encoding.PART
    render.vl_convert.vegalite_to_svg = lambda _spec: '<svg width="1" height="1"></svg>'
    encoding.PART = 4
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            root = Path(folder).resolve()
            while (left := chosen.trials - figures.total["faults"]) > 0 and time.monotonic() < end:
                round_of(jobs, min(left, ROUND), chosen.fault, figures, root)
            os.chdir(before[0])
    finally:
        _, render.vl_convert.vegalite_to_svg, encoding.PART = before
    return _report(figures)


def _report(figures: Figures) -> int:
    """Print the figures of all rounds; the exit code."""
    for name, counts in figures.counts.items():
        print(f"{name}: {dict(counts)}")
    total = figures.total
    faults, places = total.pop("faults"), {k: n for k, n in total.items() if k.startswith("at a ")}
    outcomes = {name: count for name, count in total.items() if name not in places}
    print(", ".join(f"{count} {point}" for point, count in sorted(places.items())))
    print(f"{faults} faults in {sum(outcomes.values())} trials: {outcomes}")
    return int(set(outcomes) != {"equal"})


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
