"""The documentation site, checked without building it; ``make docs`` builds it."""

import re
from pathlib import Path

import pytest
import torch

import foveate
from foveate.cli import COMMANDS

DOCS = Path(__file__).parents[1] / "docs"
PAGES = [
    path.relative_to(DOCS).with_suffix("").as_posix()
    for path in sorted(DOCS.rglob("*.md"))
    if "_build" not in path.parts
]
TUTORIALS = [page for page in PAGES if page.startswith("tutorials/")]
API = "\n".join(path.read_text() for path in (DOCS / "api").glob("*.md"))


def text_of(page):
    return (DOCS / f"{page}.md").read_text()


def toctree(page):
    """The pages in the tables of contents of a page."""
    blocks = re.findall(r"```\{toctree\}\n(.*?)```", text_of(page), re.S)
    lines = [line for block in blocks for line in block.splitlines()]
    folder = Path(page).parent
    return [(folder / line).as_posix() for line in lines if line and not line.startswith(":")]


def test_every_page_is_in_one_table_of_contents():
    entries = [entry for page in PAGES for entry in toctree(page)]
    assert sorted(entries) == sorted(set(PAGES) - {"index"})


@pytest.mark.parametrize("page", PAGES)
def test_links_resolve(page):
    targets = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text_of(page))
    folder = (DOCS / page).parent
    assert [target for target in targets if not (folder / target).exists()] == []


@pytest.mark.parametrize("page", PAGES)
def test_commands_exist(page):
    """Names after ``foveate`` in code are commands."""
    code = "\n".join(re.findall(r"```(?:sh)?\n(.*?)```", text_of(page), re.S))
    named = re.findall(r"^(?:\$ )?foveate ([a-z]+)", code, re.M)
    named += re.findall(r"`foveate ([a-z]+)", text_of(page))
    assert set(named) <= set(COMMANDS)


def test_reference_lists_every_public_name():
    documented = set(re.findall(r"auto\w+:: foveate\.(\w+)$", API, re.M))
    assert documented == set(foveate.CONTENTS)


def test_reference_lists_every_command():
    """``python tools/docs_tables.py`` updates the page."""
    assert re.findall(r"^\| `foveate ([\w-]+)` \|", text_of("commands"), re.M) == sorted(COMMANDS)


@pytest.mark.parametrize("page", TUTORIALS)
def test_tutorials_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = re.findall(r"```\{code-cell\}\n(?::tags:[^\n]*\n\n)?(.*?)```", text_of(page), re.S)
    assert cells
    defined = {"__name__": "tutorial"}
    with torch.random.fork_rng(devices=[]):  # a user's own model may use the global generator
        for cell in cells:
            exec(compile(cell, page, "exec"), defined)
