"""The guide, followed to the letter: from a CSV to a verdict, and how to add things."""

import csv
import json
import re
import shlex
from pathlib import Path

import pytest
import torch

from foveate.attention.paradigms import PARADIGMS
from foveate.cli import COMMANDS, main
from foveate.data import DATASETS
from small_training import trained

GUIDE = Path(__file__).parents[1] / "docs" / "guide" / "five-commands.md"
TEXT = GUIDE.read_text()


def commands():
    block = re.search(r"```sh\n(.*?)```", TEXT, re.S)[1]
    return [shlex.split(line) for line in block.splitlines()]


def snippet(page):
    """The first piece of Python on a page of the guide, run; what it has defined."""
    text = (GUIDE.parent / page).read_text()
    defined: dict = {"__name__": "foveate_guide"}
    exec(compile(re.search(r"```python\n(.*?)```", text, re.S)[1], page, "exec"), defined)
    return defined


def test_the_paradigm_of_the_guide_can_be_raced(monkeypatch):
    monkeypatch.setattr(PARADIGMS, "_items", dict(PARADIGMS._items))
    rule = snippet("paradigm.md")["TopTwo"]()
    record = trained([0, 1], "top2")
    assert record.meta["classifier_calls"] == trained([0, 1], "hard").meta["classifier_calls"]
    alpha, logits = (
        torch.tensor([[0.2, 0.5, 0.3]]),
        torch.tensor([[[0.0, 1.0], [2.0, 0.0], [1.0, 1.0]]]),
    )
    log_p = torch.log_softmax(logits, -1)[0, :, 0]
    loss = rule.loss(alpha, logits, lambda rows: rows, torch.tensor([0]))
    torch.testing.assert_close(loss[0], -(0.625 * log_p[1] + 0.375 * log_p[2]))


def test_the_data_set_of_the_guide_can_be_loaded(monkeypatch):
    monkeypatch.setattr(DATASETS, "_items", dict(DATASETS._items))
    snippet("dataset.md")
    bag = DATASETS.get("rings")().load("train", n=40, m=9, seed=0)
    relevant = bag.dense()[bag.z]
    torch.testing.assert_close(relevant.norm(dim=1), 1.0 + bag.y)


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """A folder in which the script and all five commands have been run; exit codes by command."""
    folder, codes = tmp_path_factory.mktemp("guide"), {}
    script = re.search(r"```python make_recordings.py\n(.*?)```", TEXT, re.S)[1]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        exec(compile(script, "make_recordings.py", "exec"), {})
        for program, *words in commands():
            assert program == "foveate"
            try:
                main(words)
                codes[words[0]] = 0
            except SystemExit as stop:
                codes[words[0]] = stop.code or 0
    return folder, codes


def test_five_commands_end_well(followed):
    _, codes = followed
    assert codes == dict.fromkeys(["check", "fit", "trust", "explain", "predict"], 0)


def test_every_file_that_the_guide_promises_is_there(followed):
    folder, _ = followed
    table = TEXT.partition("| file |")[2].partition("\n\n")[0]
    promised = re.findall(r"`([^`]+)`", table)
    assert len(promised) == 8
    for name in promised:
        assert (folder / name).stat().st_size > 0, name
        if name.endswith(".html"):
            page = (folder / name).read_text()
            assert page.rstrip().endswith("</html>")
            assert not re.search(r'(?:src|href)="https?:', page)


def test_the_tables_hold_what_the_guide_says(followed):
    folder, _ = followed
    answers = list(csv.DictReader((folder / "answers.csv").read_text().splitlines()))
    assert [row["bag"] for row in answers] == [f"n{i}" for i in range(40)]
    for row in answers:
        p = {name: float(row[f"p_{name}"]) for name in ("bearing", "leak", "healthy")}
        assert sum(p.values()) == pytest.approx(1, abs=1e-5)
        assert max(p, key=p.get) == row["predicted"]
    inputs = list(csv.DictReader((folder / "new.csv").read_text().splitlines()))
    windows = list(csv.DictReader((folder / "windows.csv").read_text().splitlines()))
    assert [(w["bag"], float(w["start"])) for w in windows] == [
        (row["recording"], float(row["start"])) for row in inputs
    ]


def test_the_verdict_is_one_that_can_be_acted_upon(followed):
    """Faults of three standard deviations are looked at, and never called untrustworthy."""
    folder, _ = followed
    stored = json.loads((folder / "pumps" / "trust.json").read_text())
    first = stored["found"][0]
    assert first["paradigm"] == stored["chosen"]
    grades = {entry["name"]: entry["verdict"]["grade"] for entry in first["by_class"]}
    assert grades["healthy"] == "cannot tell"
    faults = {grades["bearing"], grades["leak"]}
    assert faults & {"trust", "trust with care"}
    assert "do not trust" not in faults
    assert len(stored["found"]) == 4


def test_other_commands_that_the_guide_names_exist():
    named = set(re.findall(r"`foveate (\w+)", TEXT))
    assert named
    assert named <= set(COMMANDS)
    links = re.findall(r"\]\(([^)]+)\)", TEXT)
    assert [link for link in links if not (GUIDE.parent / link).exists()] == []
