"""Where tasks run: in this process, in several, on a cluster with a worker that is killed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from foveate.errors import FoveateError
from foveate.jobs.engine import Engine, Task, execute
from foveate.jobs.experiment import start_experiment
from foveate.jobs.race import resume_race, start_race
from foveate.records.record import Record
from foveate.records.runs import Run, open_run
from foveate.training.plan import Race

HERE = Path(__file__).parent
SLOW = Race(data="error-mode-1", paradigms=("soft", "hard"), seeds=2, n=40, n_test=20, epochs=400)


def count_to(folder, name, *, progress, until, fail=False):
    """A task for tests: counts, and records its process."""
    part_folder = folder / name
    part_folder.mkdir(exist_ok=True)
    if fail:
        raise FoveateError(f"{name} cannot count")
    for k in range(1, until + 1):
        progress(k, until)
    before = sorted(p.name for p in folder.iterdir() if p.is_dir())
    stored = os.environ.get("MALLOC_TRIM_THRESHOLD_")
    Record(
        np.arange(until), {}, {"pid": np.array([os.getpid()])}, {"saw": before, "kept": stored}
    ).save(part_folder / "record.npz")


def task(name, after=(), **arguments):
    return Task(name, count_to, {"until": 3, **arguments}, after)


def same(one: Run, two: Run) -> None:
    assert one.manifest["parts"] == two.manifest["parts"]
    for name in one.manifest["parts"]:
        a, b = one.record(name), two.record(name)
        for key in a.values:
            if "seconds" not in key:
                np.testing.assert_array_equal(a.values[key], b.values[key], err_msg=key)


def test_here_jobs_run_in_order_and_report(tmp_path):
    messages = []
    execute([task("a"), task("b", ("a",))], tmp_path, Engine(), lambda *now: messages.append(now))
    assert messages == [(name, k, 3) for name in "ab" for k in (1, 2, 3)]
    assert Record.load(tmp_path / "b" / "record.npz").meta["saw"] == ["a", "b"]
    assert Record.load(tmp_path / "a" / "record.npz").final["pid"] == [os.getpid()]


def test_processes_of_this_machine_keep_the_memory_that_a_step_frees(tmp_path):
    execute([task("a"), task("b")], tmp_path, Engine(workers=2), None)
    records = [Record.load(tmp_path / name / "record.npz") for name in "ab"]
    assert all(record.final["pid"] != [os.getpid()] for record in records)
    assert {record.meta["kept"] for record in records} == {str(2**26)}


def test_an_engine_needs_a_worker():
    with pytest.raises(FoveateError, match="workers must be at least 1, got 0"):
        Engine(workers=0)


def test_a_scheduler_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FoveateError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        execute([task("a")], tmp_path, Engine(cluster="tcp://127.0.0.1:9"), None)


@pytest.fixture
def cluster(tmp_path):
    """A scheduler and two workers as processes of their own on loopback."""
    env = os.environ | {
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]),
        "DASK_DISTRIBUTED__WORKER__DAEMON": "False",
        "DASK_TEMPORARY_DIRECTORY": str(tmp_path / "dask"),
    }
    file = tmp_path / "scheduler.json"
    started = []

    def start(*words):
        command = [sys.executable, "-m", "distributed.cli." + words[0], *words[1:]]
        started.append(
            subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        )
        return started[-1]

    loopback = ("--host", "127.0.0.1")
    start(
        "dask_scheduler", *loopback, "--port", "0", "--no-dashboard", "--scheduler-file", str(file)
    )
    rest = ("--scheduler-file", str(file), "--nthreads", "1", "--no-nanny", "--no-dashboard")
    workers = [start("dask_worker", *loopback, *rest, "--name", f"w{k}") for k in range(2)]
    for _ in range(300):
        if file.exists() and file.stat().st_size:
            break
        time.sleep(0.1)
    yield json.loads(file.read_text())["address"], workers
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.timeout(240)
def test_a_killed_worker_does_not_change_the_result(cluster, tmp_path):
    address, workers = cluster
    alone = start_race(SLOW, out=tmp_path / "alone")
    killed = []

    def report(_part, done, total):
        if not killed and done > total // 10:
            workers[0].send_signal(signal.SIGKILL)
            killed.append(True)

    shared = start_race(
        SLOW, out=tmp_path / "shared", report=report, engine=Engine(cluster=address)
    )
    assert killed
    assert workers[0].wait(10) == -signal.SIGKILL
    same(alone, shared)
    assert open_run(shared.path).done
    # A coordinator that comes again finds everything done.
    again = resume_race(shared, engine=Engine(cluster=address))
    assert again.manifest["resolved"] == shared.manifest["resolved"]
    _files_travel_where_the_folder_is_not_shared(address, tmp_path)
    _mistakes_are_told(address, tmp_path)


def _files_travel_where_the_folder_is_not_shared(address, tmp_path):
    """A worker that does not see the folder works in one of its own and sends files back."""
    from foveate.jobs import engine

    hidden = tmp_path / "hidden"
    hidden.mkdir()
    seen = []
    with engine._client(Engine(cluster=address)) as client:
        tasks = [task("a"), task("b", ("a",))]
        nowhere = tmp_path / "not on the worker"
        engine._mark(hidden)
        futures = client.submit(
            engine._perform, tasks[0], str(nowhere), "another mark", "topic", {}
        ).result()
        engine._write(hidden / "a", futures)
        later = client.submit(
            engine._perform, tasks[1], str(nowhere), "x", "topic", {"a": futures}
        ).result()
        seen.append(sorted(later))
        # A job done in the run's own folder hands its files on, if others need them.
        mark = engine._mark(hidden)
        stored, handed = (
            client.submit(
                engine._perform, task(name), str(hidden), mark, "topic", {}, send_files=on
            ).result()
            for name, on in (("c", False), ("d", True))
        )
    assert (stored, sorted(handed)) == ({}, ["record.npz"])
    assert (hidden / "c" / "record.npz").exists()
    assert Record.load(hidden / "a" / "record.npz").final["pid"] != [os.getpid()]
    assert seen == [["record.npz"]]


def _mistakes_are_told(address, tmp_path):
    folder = tmp_path / "mistake"
    folder.mkdir()
    with pytest.raises(FoveateError, match="a cannot count"):
        execute([task("a", fail=True)], folder, Engine(cluster=address), None)


@pytest.mark.timeout(240)
def test_workers_of_this_machine_give_the_same_numbers(tmp_path):
    one = start_experiment("heads", "smoke", out=tmp_path / "one")
    two = start_experiment("heads", "smoke", out=tmp_path / "two", engine=Engine(workers=2))
    same(one, two)  # its scenarios need the record of its search
    assert (one.path / "findings.json").read_text() == (two.path / "findings.json").read_text()
