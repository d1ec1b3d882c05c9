"""The guide's examples, as a reader would try them."""

import re
from pathlib import Path

import pytest

from foveate.cli import main
from foveate.io import read_bags
from foveate.io.check import problems

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "own-data.md"
FILES = dict(re.findall(r"```\w+ (\S+)\n(.*?)```", GUIDE.read_text(), re.S))
CODE = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.S)


@pytest.fixture
def workdir(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)


@pytest.mark.usefixtures("workdir")
def test_the_files_are_read_as_documented():
    bags = read_bags("bags.csv", group="patient", places=("x", "y"))
    assert bags.columns == ("area", "depth")
    assert bags.known.tolist() == [True, True, False]
    listed = [f"{p.severity}  {p.where}: {p.what}" for p in problems(bags)]
    assert listed == re.findall(r"^(?:error|warning)  .*", GUIDE.read_text(), re.M)
    reviews = read_bags("reviews.csv")
    assert reviews.words[:4] == ("a", "good", "film", "!")
    assert reviews.bag.z[0].tolist() == [False, True, False, False]
    assert reviews.known.tolist() == [True, False, True]
    animals = read_bags("animals.csv", labels=("tags",))
    assert animals.label_names == ("cat", "dog")
    assert animals.labels.tolist() == [[True, True], [False, False]]
    annotated = read_bags("annotated.jsonl")
    assert annotated.bag.z.tolist() == [[False, True, False, False], [False] * 4]


@pytest.mark.usefixtures("workdir")
def test_check_prints_what_the_guide_shows(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    command, output = re.search(
        r"```\n\$ foveate (check .*)\n([^`]*)```", GUIDE.read_text()
    ).groups()
    with pytest.raises(SystemExit) as stop:
        main(command.split())
    assert stop.value.code == 2
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == output.splitlines()


@pytest.mark.usefixtures("workdir")
def test_the_code_runs():
    scope: dict = {}
    for block in CODE:
        exec(compile(block, "own-data.md", "exec"), scope)
    assert scope["collection"].known.tolist() == [True, False]
    assert read_bags("bags.npz").classes == ("sick", "well")
