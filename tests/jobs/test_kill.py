"""A race killed with SIGKILL ends, once resumed, with the numbers of one that never was."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from foveate.records.runs import open_run

SIZES = ["--seeds=2", "--epochs=40", "--n=200", "--n-test=50", "--batch=20", "--save-seconds=0"]


def foveate(*arguments: str, folder: Path, **keywords):
    code = "from foveate.cli import main; main()"
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **keywords,
    )  # fmt: skip


def test_killed_and_resumed_equals_uninterrupted(tmp_path):
    race = ["race", "error-mode-1", *SIZES, "--paradigms", "soft,hybrid", "--json"]
    whole = foveate(*race, "--out", "whole", folder=tmp_path)
    out, err = whole.communicate(timeout=120)
    assert whole.returncode == 0, err.decode()
    doomed = foveate(*race, "--out", "killed", folder=tmp_path)
    checkpoint = tmp_path / "killed/hybrid/checkpoint.safetensors"
    start = time.monotonic()
    while not checkpoint.exists() and time.monotonic() - start < 100:
        assert doomed.poll() is None, "the race ended before it could be killed"
        time.sleep(0.01)
    doomed.send_signal(signal.SIGKILL)
    doomed.communicate()
    assert open_run(tmp_path / "killed").manifest["status"] == "running"
    again = foveate("resume", "killed", "--json", folder=tmp_path)
    resumed, err = again.communicate(timeout=120)
    assert again.returncode == 0, err.decode()
    first, second = (json.loads(text)["paradigms"] for text in (out, resumed))
    for name in first:
        for key in ("accuracy", "ft", "saif", "classifier_calls"):
            assert first[name][key] == second[name][key]
    for name in ("soft", "hybrid"):
        a, b = (open_run(tmp_path / run).record(name) for run in ("whole", "killed"))
        for part in ("values", "final"):
            for key, value in getattr(a, part).items():
                np.testing.assert_array_equal(value, getattr(b, part)[key])
        assert not (tmp_path / "killed" / name / "checkpoint.safetensors").exists()


@pytest.mark.parametrize("moment", [0.0, 0.3, 1.0])
def test_a_kill_at_any_moment_leaves_a_complete_run_or_none(tmp_path, moment):
    doomed = foveate("race", "error-mode-1", *SIZES, "--out", "run", folder=tmp_path)
    start = time.monotonic()
    while not (tmp_path / "run").exists() and time.monotonic() - start < 60 and moment:
        time.sleep(0.01)
    time.sleep(moment)
    doomed.kill()
    doomed.communicate()
    if (tmp_path / "run").exists():
        assert open_run(tmp_path / "run").manifest["kind"] == "race"
