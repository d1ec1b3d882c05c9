"""Structure and links of the documentation site, checked without building it."""

import re
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from doc_pages import DOCS, PAGES, ROOT, text_of
from foveate.cli import COMMANDS

EVERYWHERE = ["README", *PAGES]
FENCED = re.compile(r"^(`{3,}).*?^\1[ ]*$", re.S | re.M)
LINK = re.compile(r"\]\((<[^>]*>|[^()\s]*(?:\([^()\s]*\))?[^()\s]*)(?:\s+\"[^\"]*\")?\)")


def prose(page):
    """The text of a page without fenced blocks and code spans."""
    return re.sub(r"`[^`\n]+`", "", FENCED.sub("", text_of(page)))


def toctree(page):
    """The pages in the tables of contents of a page."""
    result = re.findall(r"```\{toctree\}\n(.*?)```", text_of(page), re.S)
    lines = [line for block in result for line in block.splitlines()]
    folder = Path(page).parent
    return [(folder / line).as_posix() for line in lines if line and not line.startswith(":")]


def anchor(heading):
    """The anchor that Sphinx and GitHub make of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors(path):
    headings = re.findall(r"^#{1,3} (.+)$", FENCED.sub("", path.read_text("utf-8")), re.M)
    return {anchor(re.sub(r"[`*]", "", heading)) for heading in headings}


def test_every_page_is_in_one_table_of_contents():
    entries = [entry for page in PAGES for entry in toctree(page)]
    assert sorted(entries) == sorted(set(PAGES) - {"index"})


def test_four_sections():
    assert toctree("index") == ["start", "howto", "explanation", "reference"]


@pytest.mark.parametrize("page", EVERYWHERE)
def test_links_resolve(page):
    """Files exist, anchors are headings, and external addresses are well formed."""
    folder = ROOT if page == "README" else (DOCS / page).parent
    broken = []
    for target in LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", target):
            address = urlsplit(target)
            if address.scheme not in ("https", "mailto") or (
                address.scheme == "https" and "." not in address.netloc
            ):
                broken.append(target)
            continue
        name, _, part = target.partition("#")
        path = folder / name if name else folder / f"{Path(page).name}.md"
        if not path.exists() or (part and part not in anchors(path)):
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize("page", EVERYWHERE)
def test_commands_exist(page):
    """Names after ``foveate`` in code are commands."""
    named = re.findall(r"`foveate ([a-z]+)", text_of(page))
    assert set(named) <= set(COMMANDS)


@pytest.mark.parametrize("page", EVERYWHERE)
def test_every_language_of_a_block_is_known(page):
    """A misspelt language would hide code from the tests."""
    known = {"", "sh", "console", "python", "text", "csv", "jsonl", "toml", "json", "bibtex"}
    for language in re.findall(r"^```([^\n`]*)\n(?:.*?)^```", text_of(page), re.S | re.M):
        word = language.partition(" ")[0].strip()
        assert word in known or word in ("{code-cell}", "{toctree}", "{eval-rst}", "{include}")


def test_reference_lists_every_command():
    """``python tools/docs_tables.py`` updates the page."""
    assert re.findall(r"^\| `foveate ([\w-]+)` \|", text_of("commands"), re.M) == sorted(COMMANDS)


def test_every_extra_is_explained():
    """The page start says what each optional dependency is for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    explained = re.findall(r"^\| `(\w+)` \|", text_of("start"), re.M)
    assert sorted(explained) == sorted(project["optional-dependencies"])
