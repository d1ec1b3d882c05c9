"""Run directories written by version 0.1.0 (commit 6ac87ed) can be read, reported and resumed.

``fixtures/runs`` has one finished run of each kind and one of each kind that was interrupted; both
were started by the same command, so a resumed run must end with the numbers of the finished one.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from foveate.cli import main

RUNS = Path(__file__).parents[1] / "fixtures" / "runs"
KINDS = ("race", "fit", "experiment")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A copy of the fixture, with absolute paths where a run names its source file."""
    shutil.copytree(RUNS, tmp_path, dirs_exist_ok=True)
    for path in tmp_path.glob("fit*/manifest.json"):
        manifest = json.loads(path.read_text())
        manifest["data"]["origin"]["path"] = str(tmp_path / "recordings.csv")
        path.write_text(json.dumps(manifest))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def arrays(run: Path) -> dict[str, np.ndarray]:
    """Every array of every record in a run directory, metadata left out."""
    result = {}
    for path in sorted(run.glob("*/record.npz")):
        with np.load(path) as file:
            names = [name for name in file.files if name != "meta"]
            result |= {f"{path.parent.name}/{name}": file[name] for name in names}
    return result


@pytest.mark.parametrize("kind", KINDS)
def test_a_finished_run_is_reported(folder, kind):
    main(["report", kind])
    page = (folder / kind / "report.html").read_text()
    assert page.rstrip().endswith("</html>")
    assert "<svg" in page


@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupted_run_is_resumed_to_the_same_numbers(folder, kind):
    expected, run = arrays(folder / kind), folder / f"{kind}-interrupted"
    assert arrays(run).keys() < expected.keys()
    main(["resume", run.name, "--json"])
    assert json.loads((run / "manifest.json").read_text())["status"] == "done"
    assert not list(run.glob("*/checkpoint.safetensors"))
    resumed = arrays(run)
    assert resumed.keys() >= expected.keys()  # newer versions measure more
    for name, value in expected.items():  # another machine may round differently
        pair = resumed[name], value
        if name.endswith("/final/s"):  # the bias of all scores, which changes nothing, may differ
            pair = tuple(s - s.mean((1, 2), keepdims=True) for s in pair)
        np.testing.assert_allclose(*pair, rtol=1e-3, atol=1e-3, err_msg=name)


def test_runs_are_listed_with_their_kinds(folder, capsys):
    main(["runs", "."])
    printed = capsys.readouterr().out
    for kind in KINDS:
        assert f" {kind}-interrupted " in printed


def test_an_old_fit_still_predicts_and_is_examined(folder, capsys):
    main(["predict", "fit", "recordings.csv", "--out", "answers.csv"])
    assert len((folder / "answers.csv").read_text().splitlines()) == 121
    capsys.readouterr()
    main(["trust", "fit", "--json"])
    result = json.loads(capsys.readouterr().out)
    assert {trust["paradigm"] for trust in result} == {"soft", "lvml"}
