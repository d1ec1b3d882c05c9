import re
from pathlib import Path

from foveate.cli import COMMANDS

README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text()


def block(language):
    return re.search(rf"```{language}\n(.*?)```", TEXT, re.S)[1]


def test_python_example_prints_the_lines_below_it(tmp_path, monkeypatch, capsys):
    code = block("python")
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out == block("text")


def test_commands_exist():
    assert set(re.findall(r"`foveate (\w+)", TEXT)) <= set(COMMANDS)


def test_linked_pages_exist():
    links = re.findall(r"\]\((?!http)([^)]+)\)", TEXT)
    assert links
    assert [link for link in links if not (README.parent / link).exists()] == []


def test_tables_have_at_most_five_columns():
    rows = [line for line in TEXT.splitlines() if line.startswith("|")]
    assert rows
    assert max(row.count("|") - 1 for row in rows) <= 5
