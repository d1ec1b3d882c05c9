"""What the README promises in its first screen."""

import re

from doc_pages import ROOT, blocks

TEXT = (ROOT / "README.md").read_text("utf-8")
BLOCKS = blocks("README")


def test_python_example_prints_the_lines_below_it(tmp_path, monkeypatch, capsys):
    (code,) = [block.text for block in BLOCKS if block.language == "python"]
    (printed,) = [block.text for block in BLOCKS if block.language == "text"]
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})
    output = capsys.readouterr().out
    number = re.compile(r"\d+(?= %)")
    assert number.sub("#", output) == number.sub("#", printed)
    # Percentages vary by a point with the number of threads, which changes the order of sums.
    percentages = [[int(n) for n in number.findall(text)] for text in (output, printed)]
    assert all(abs(a - b) <= 2 for a, b in zip(*percentages, strict=True))


def test_make_commands_are_targets():
    targets = re.findall(r"^(\w[\w-]*):", (ROOT / "Makefile").read_text(), re.M)
    assert set(re.findall(r"\bmake (\w+)", TEXT)) <= set(targets)


def test_tables_have_at_most_five_columns_and_real_data_first():
    rows = [line for line in TEXT.splitlines() if line.startswith("|")]
    assert rows
    assert max(row.count("|") - 1 for row in rows) <= 5
    assert rows[2].startswith("| HateXplain posts")


def test_three_links_lead_on():
    section = TEXT.partition("## Where to go")[2].partition("\n\n")[0]
    assert len(re.findall(r"^- \*\*", section, re.M)) == 3
    assert re.findall(r"\]\((docs/[^)]+)\)", section)[0] == "docs/guide/five-commands.md"
