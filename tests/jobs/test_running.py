"""Running experiments: what parts took is counted through kills."""

import time
from functools import partial
from typing import ClassVar

import numpy as np
import pytest

from foveate.jobs import experiment, lifecycle
from foveate.jobs.experiment import EXPERIMENTS, Experiment, start_experiment
from foveate.records.record import Record
from foveate.records.runs import open_run
from foveate.registry import Registry
from foveate.settings import Settings


def busy(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def work(kill, _checkpoint, tell):
    """Takes .2 s twice; dies after the first half, the first time."""
    busy(0.2)
    tell(1, 2)
    if kill.exists():
        kill.unlink()
        raise KeyboardInterrupt
    busy(0.2)
    return Record(np.zeros(1), {}, {}, {})


def test_cpu_seconds_are_counted_through_a_kill(tmp_path, monkeypatch):
    kill = tmp_path / "kill"
    kill.touch()

    class Busy(Experiment):
        about = "keeps a core busy"
        criteria: ClassVar = {}
        scales: ClassVar = dict.fromkeys(("smoke", "small", "paper"), Settings())

        def parts(self, settings):
            return {"a": partial(work, kill), "b": partial(work, kill)}

    registry = Registry("experiment")
    registry.register("busy")(Busy)
    for name, kind in EXPERIMENTS.items():
        registry.register(name)(kind)
    monkeypatch.setattr(experiment, "EXPERIMENTS", registry)
    monkeypatch.setattr(lifecycle, "SAVE_EVERY", 0.0)
    with pytest.raises(KeyboardInterrupt):
        start_experiment("busy", "smoke", out=tmp_path / "run")
    (tmp_path / "damaged.txt").write_bytes(b"0.\xff")
    assert lifecycle._stored_seconds(tmp_path / "damaged.txt") == 0
    run = lifecycle.resume_job(open_run(tmp_path / "run"))
    # .2 s before the kill, then .4 s of either part.
    assert run.record("a").meta["spent"] == pytest.approx(0.6, abs=0.1)
    assert run.record("b").meta["spent"] == pytest.approx(0.4, abs=0.1)
    assert run.manifest["cpu_seconds"] == pytest.approx(1.0, abs=0.2)
    assert not list((tmp_path / "run").glob("*/spent.txt"))


def test_resuming_a_finished_run_changes_no_file(tmp_path):
    folder = tmp_path / "run"
    start_experiment("word-counts", "smoke", out=folder)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    lifecycle.resume_job(open_run(folder))
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_resume_reads_the_manifest_after_it_has_the_lock(tmp_path):
    stale = start_experiment("word-counts", "smoke", out=tmp_path / "run")
    stale.update(note="written by the process that held the lock")
    lifecycle.resume_job(stale)
    assert open_run(stale.path).manifest["note"] == "written by the process that held the lock"
