"""Smoke sizes of the fuzz and fault campaigns, each in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.timeout(900)  # many small processes: slow on a machine with other load


def run(tool, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(ROOT / "tools" / tool), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_fuzzed_inputs_are_accepted_or_refused():
    done = run("fuzz_campaign.py", "--inputs", "2000")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    assert "inputs: {" in done.stdout


IN_PROCESS = "race;fit;fit in folds;run;reproduce;encode;report"


@pytest.mark.parametrize(
    ("fault", "trials", "jobs"),
    [("kill", 50, f"{IN_PROCESS};race, 2 workers"), ("full", 14, IN_PROCESS)],
)
def test_a_broken_job_is_resumed_to_the_same_numbers(fault, trials, jobs):
    arguments = ["--fault", fault, "--trials", str(trials), "--jobs", jobs]
    done = run("fault_campaign.py", *arguments)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    assert "trials: {'equal': " in done.stdout
