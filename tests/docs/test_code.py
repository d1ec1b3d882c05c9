"""Every code block of README and docs runs, in page order, in one folder and one namespace.

A block that cannot run here has a comment ``<!-- not run: REASON -->`` above its fence; its
commands are still parsed. ``pytest tests/docs/test_code.py -k not_run -v`` lists these blocks.
"""

import io
from contextlib import redirect_stdout
from pathlib import Path

import pytest
import torch

from doc_pages import PAGES, blocks
from foveate.attention.paradigms import PARADIGMS
from foveate.cli.app import app, main
from foveate.data import DATASETS
from foveate.data.files.hub import locate
from foveate.metrics.metric import METRICS

ELSEWHERE = {
    "README": "docs/test_readme.py",
    "guide/command": "test_one_file.py",
    "guide/dataset": "test_one_file.py",
    "guide/experiment": "test_one_file.py",
    "guide/five-commands": "test_guide.py",
    "guide/models": "docs/test_models_guide.py",
    "guide/metric": "test_one_file.py",
    "guide/own-data": "io/test_user_guide.py",
    "guide/paradigm": "test_one_file.py",
}
"""Pages whose code another test runs, and compares with what the page says."""

BLOCKS = [block for page in ["README", *PAGES] for block in blocks(page)]
NOT_RUN = [block for block in BLOCKS if block.reason]
RUN = sorted(
    {
        block.page
        for block in BLOCKS
        if block.page not in ELSEWHERE
        and not block.reason
        and (block.is_python or (block.language and block.commands))
    }
)


@pytest.fixture
def page_folder(tmp_path, monkeypatch):
    """An empty working folder; registered names, generator and streams are restored."""
    monkeypatch.chdir(tmp_path)
    for registry in (PARADIGMS, DATASETS, METRICS):
        registry.names()  # imports what registers itself
        monkeypatch.setattr(registry, "_items", dict(registry._items))
    monkeypatch.setenv("FOVEATE_RUNS", str(tmp_path / "runs"))
    with torch.random.fork_rng(devices=[]):
        yield tmp_path


def run_command(words):
    code = 0
    try:
        main(words)
    except SystemExit as stop:
        code = stop.code
    assert not code, f"foveate {' '.join(words)} ends with {code}"


def run_page(page):
    defined = {"__name__": "__page__", "display": lambda *values: None}
    for block in blocks(page):
        if block.reason:
            continue
        if block.file:
            Path(block.file).write_text(block.text, "utf-8")
        if block.is_python:
            exec(compile(block.text, f"{page}.md:{block.line}", "exec"), defined)
        for words in block.commands if block.language else ():
            run_command(words)


@pytest.mark.parametrize("page", sorted({block.page for block in BLOCKS}))
def test_blocks_of_commands_are_tagged(page):
    """Tag a block ``sh``, and the tests run it, or write above it why they cannot."""
    untagged = [b.line for b in blocks(page) if not b.language and b.commands and not b.reason]
    assert page in ELSEWHERE or untagged == []


@pytest.mark.parametrize("page", RUN)
@pytest.mark.usefixtures("page_folder")
def test_code_of_a_page_runs(page):
    with redirect_stdout(io.StringIO()):
        run_page(page)


@pytest.mark.parametrize("block", NOT_RUN, ids=lambda b: f"{b.page}:{b.line} {b.reason}")
def test_commands_of_blocks_that_are_not_run_are_valid(block):
    for words in block.commands:
        app.parse_args(words, exit_on_error=False, print_error=False)
    if block.is_python:
        compile(block.text, block.page, "exec")


def test_pages_that_others_run_exist():
    tests = Path(__file__).parents[1]
    for page, test in ELSEWHERE.items():
        assert Path(page).name in (tests / test).read_text("utf-8")


@pytest.mark.data
def test_tutorial_converts_the_real_recordings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = next(block.text for block in blocks("tutorials/real-recordings") if block.is_python)
    defined = {}
    exec(compile(code, "real-recordings.md", "exec"), defined)
    defined["convert"](locate("mil_hja_birds", "none"))
    rows = (tmp_path / "birds.csv").read_text("utf-8").splitlines()
    assert len(rows) == 1 + 10_232
    assert len({row.partition(",")[0] for row in rows[1:]}) == 548
    assert sum(row.endswith(",1") for row in rows) == 810  # labelled calls of the wren
