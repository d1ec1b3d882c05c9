"""The job contract: one class makes a kind of run that starts, resumes, reports and is listed."""

import json

import numpy as np
import pytest

from foveate.cli import main
from foveate.errors import FoveateError, RunInterrupted
from foveate.jobs.engine import Engine
from foveate.jobs.job import JOBS, Job, open_job, open_trained
from foveate.jobs.lifecycle import resume_job, start_job
from foveate.records.record import Record
from foveate.records.runs import open_run
from foveate.registry import Registry


class SquareJob(Job):
    """Squares numbers; the part "sum" needs all others."""

    kind = "squares"

    def __init__(self, numbers, stop=None):
        self.numbers, self.stop = numbers, stop

    @classmethod
    def reopen(cls, run):
        return cls(run.manifest["config"]["numbers"])

    @property
    def label(self):
        return "numbers"

    def describe(self):
        return {"config": {"numbers": self.numbers}}

    def parts(self):
        squares = [str(n) for n in self.numbers]
        return {**dict.fromkeys(squares, ()), "sum": tuple(squares)}

    def run_part(self, name, folder, progress):
        if name == self.stop:
            raise KeyboardInterrupt
        progress(1, 1)
        if name == "sum":
            parts = [Record.load(folder / str(n) / "record.npz") for n in self.numbers]
            value = sum(float(part.final["value"][0]) for part in parts)
        else:
            value = float(name) ** 2
        return Record(np.zeros(1), {}, {"value": np.array([value])}, {})

    def finish(self, run):
        return {"total": float(run.record("sum").final["value"][0])}

    def results(self, run):
        return {"total": run.manifest["total"]}

    def write_report(self, run, path):
        path.write_text(f"<html>{run.manifest['total']}</html>")
        return path


@pytest.fixture
def squares(monkeypatch):
    """The kind "squares", registered for one test."""
    kinds = Registry("kind of run")
    for name, job in JOBS.items():
        kinds.register(name)(job)
    kinds.register("squares")(SquareJob)
    monkeypatch.setattr("foveate.jobs.job.JOBS", kinds)


def test_a_new_kind_starts_resumes_reports_and_is_listed(squares, tmp_path, capsys):
    messages = []
    with pytest.raises(RunInterrupted) as interrupt:
        start_job(SquareJob([1, 2, 3], stop="3"), out=tmp_path / "run", command="squares")
    assert interrupt.value.run == tmp_path / "run"
    run = open_run(tmp_path / "run")
    assert (run.done, run.has("2"), run.has("3")) == (False, True, False)
    run = resume_job(run, lambda *now: messages.append(now))
    assert messages == [("3", 1, 1), ("sum", 1, 1)]
    assert run.manifest["total"] == 14.0
    assert run.manifest["cpu_seconds"] >= 0.0
    main(["resume", str(run.path), "--json"])
    assert json.loads(capsys.readouterr().out) == {"total": 14.0}
    main(["report", str(run.path)])
    assert (run.path / "report.html").read_text() == "<html>14.0</html>"
    main(["runs", str(tmp_path)])
    assert "squares" in capsys.readouterr().out
    with pytest.raises(FoveateError, match="trust is for a race or a fit"):
        open_trained(run)


def test_an_unknown_kind_is_reported(tmp_path):
    run = start_job(SquareJob([1]), out=tmp_path / "run")
    with pytest.raises(FoveateError, match="unknown kind of run 'squares'"):
        open_job(run)


@pytest.mark.timeout(240)
def test_two_workers_compute_the_same_parts(tmp_path):
    here = start_job(SquareJob([2, 5]), out=tmp_path / "here")
    workers = start_job(SquareJob([2, 5]), out=tmp_path / "workers", engine=Engine(workers=2))
    assert workers.manifest["total"] == here.manifest["total"] == 29.0


def test_no_module_outside_the_contract_branches_on_the_kind_of_a_run():
    from pathlib import Path

    import foveate

    root = Path(foveate.__file__).parent
    readers = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if 'manifest["kind"]' in path.read_text()
    }
    # The lists of runs print it; the contract looks the class up; Run.must_be names it.
    assert readers == {"jobs/job.py", "records/runs.py", "cli/tables.py", "lab/server/runs.py"}
