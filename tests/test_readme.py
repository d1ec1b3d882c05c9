import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_the_python_example_runs(tmp_path, monkeypatch, capsys):
    code = re.search(r"```python\n(.*?)```", README.read_text(), re.S)[1]
    assert len([line for line in code.splitlines() if line.strip()]) <= 12
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "soft {'accuracy': Interval(mean=" in printed
    assert "lvml" in printed
    assert (tmp_path / "race.svg").read_text().startswith("<svg")


def test_the_commands_it_names_exist():
    from foveate.cli import COMMANDS

    named = set(re.findall(r"`foveate (\w+)", README.read_text()))
    assert named <= set(COMMANDS)


def test_the_pages_it_links_exist():
    links = re.findall(r"\]\((?!http)([^)]+)\)", README.read_text())
    assert links
    assert [link for link in links if not (README.parent / link).exists()] == []
