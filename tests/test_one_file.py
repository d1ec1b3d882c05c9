"""One file adds one thing: the code of the guides, installed as a package of plug-ins."""

import json
import os
import re
import subprocess
import sys
from math import hypot
from pathlib import Path

import pytest

import foveate

ROOT = Path(foveate.__file__).parents[2]
GUIDE = ROOT / "docs" / "guide"
PAGES = {
    "paradigm.md": ("paradigms", "top2 = plugin_paradigm"),
    "dataset.md": ("datasets", "rings = plugin_dataset"),
    "metric.md": ("metrics", "top_weight = plugin_metric"),
    "experiment.md": ("studies", "digit-saif = plugin_experiment"),
    "command.md": ("commands", "sizes = plugin_command:sizes_command"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with one file for each page of the guide, registered by entry points."""
    path = tmp_path_factory.mktemp("plugins")
    entries = []
    for page, (group, entry) in PAGES.items():
        code = re.search(r"```python\n(.*?)```", (GUIDE / page).read_text("utf-8"), re.S)
        (path / f"plugin_{page.removesuffix('.md')}.py").write_text(code[1], "utf-8")
        entries.append(f"[foveate.{group}]\n{entry}\n")
    info = path / "plugins-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugins\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("\n".join(entries))
    return path


@pytest.fixture(scope="module")
def run(folder):
    """Runs Python code in a process that sees the plug-ins; gives what it printed."""

    def run(code, *arguments):
        search = [str(folder), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(search), "OMP_NUM_THREADS": "1"}
        answer = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            capture_output=True,
            text=True,
            env=environment,
            cwd=folder,
            check=False,
        )
        assert answer.returncode == 0, answer.stderr
        assert "could not be loaded" not in answer.stderr
        return answer.stdout

    return run


@pytest.fixture(scope="module")
def cli(run):
    return lambda *arguments: run("from foveate.cli import main; main()", *arguments)


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("paradigms", "top2 .*Hard attention over the two best segments"),
        ("datasets", "rings .*two rings in the plane"),
        ("metrics", "top_weight .*attention of the most attended segment"),
        ("experiments", "digit-saif .*SAIF of LVML and of hard attention on mosaics"),
    ],
)
def test_each_is_listed(cli, kind, line):
    assert re.search(line, cli("list", kind))


def test_the_command_is_in_the_help_and_runs(cli):
    assert re.search(r"sizes\s+Print the usual sizes of a data set", cli("--help"))
    assert cli("sizes", "rings") == "rings: 2000 training bags of 9 segments\n"


@pytest.fixture(scope="module")
def race(cli, folder):
    """A race of the new paradigm on the new data set; its numbers as JSON."""
    sizes = ("--seeds=2", "--epochs=2", "--n=60", "--n-test=40")
    text = cli("race", "rings", "--paradigms=soft,top2", *sizes, "--out=race", "--json")
    return json.loads(text)


def test_paradigm_data_set_and_metric_are_in_the_numbers_of_a_race(race):
    assert race["data"] == "rings"
    weight = race["paradigms"]["top2"]["top_weight"]
    assert 100 / 9 <= weight["mean"] <= 100
    assert weight["low"] <= weight["mean"] <= weight["high"]


def test_paradigm_and_metric_are_in_the_table_of_the_terminal(cli, race):
    table = cli("resume", "race")  # a finished run: its table, without training
    assert re.search(r"┃ +Largest weight ┃", table)
    assert re.search(r"│ top2 +│", table)
    assert "…" not in table  # no digit is cut off
    assert "rings, m = 9, 2 seeds" in table


def test_paradigm_data_set_and_metric_are_in_the_report(race, folder):
    page = (folder / "race" / "report.html").read_text("utf-8")
    assert "Top two" in page
    assert "Largest weight, %" in page  # the column and the axis
    assert "The attention of the most attended segment, mean over held-out bags." in page
    assert "rings" in page


def test_the_study_runs_and_its_claim_is_judged(cli, folder):
    numbers = json.loads(cli("run", "digit-saif", "--scale=smoke", "--out=study", "--json"))
    (finding,) = numbers["findings"]
    assert finding["claim"] == "mine:C1"
    assert "LVML ends with a higher SAIF" in (folder / "study" / "report.html").read_text("utf-8")
    assert "mine:C1" in cli("claims", "--paper", "mine", "--json")


LAB = """
import json, os
os.environ["FOVEATE_RUNS"] = os.getcwd()
from fastapi.testclient import TestClient
from foveate.lab.server.app import create_app
client = TestClient(create_app(), base_url="http://127.0.0.1")
get = lambda path: client.get(f"/api/{path}").json()
from foveate.lab.requests import lab_paradigms
print(json.dumps({path: get(path) for path in PATHS} | {"choices": lab_paradigms()}))
"""


@pytest.fixture(scope="module")
def lab(run, race):
    """Answers of the lab, with the race among its runs."""
    paths = ["theme", "claims", "runs", "run?run=race", "run/bag?run=race&bag=0"]
    return json.loads(run(LAB.replace("PATHS", repr(paths))).splitlines()[-1])


def test_paradigm_and_metric_are_in_the_lab(lab):
    assert lab["theme"]["metrics"]["top_weight"]["heading"] == "Largest weight, %"
    assert lab["theme"]["paradigms"]["top2"]["label"] == "Top two"
    assert "top2" in lab["choices"]  # of live trainings


def test_claim_is_in_the_lab(lab):
    assert "mine:C1" in [row["claim"] for row in lab["claims"]["claims"]]
    assert lab["claims"]["papers"]["mine"]["title"] == "Two paradigms on digits"


def test_data_set_is_in_the_lab(lab, race):
    entry = next(entry for entry in lab["runs"]["runs"] if entry["name"] == "race")
    assert (entry["data"], entry["status"]) == ("rings", "done")
    page = lab["run?run=race"]
    assert page["classes"] == ["inner", "outer"]
    weights = {row["paradigm"]: row["top_weight"]["mean"] for row in page["outcomes"]}
    numbers = {name: row["top_weight"]["mean"] for name, row in race["paradigms"].items()}
    assert weights == pytest.approx(numbers)
    bag = lab["run/bag?run=race&bag=0"]
    assert bag["segments"]["kind"] == "point"
    assert len(bag["segments"]["values"]) == 9
    relevant = bag["segments"]["values"][bag["z"].index(True)]
    ring = page["classes"].index(bag["views"]["top2"]["truth"])
    assert hypot(*relevant) == pytest.approx(1 + ring, rel=1e-4)


def test_the_code_of_the_guides_passes_the_type_check(folder):
    mypy = pytest.importorskip("mypy.api")
    files = [str(path) for path in sorted(folder.glob("plugin_*.py"))]
    report, errors, status = mypy.run(
        [*files, "--config-file", str(ROOT / "pyproject.toml"), "--follow-imports=silent"]
    )
    assert status == 0, report + errors
