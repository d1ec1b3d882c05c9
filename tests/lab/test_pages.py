"""The sources of the pages: readable lines, relative imports that exist."""

import re
from pathlib import Path

import pytest

from foveate.lab.server.app import PAGES

LONGEST = 110
SOURCES = sorted(path for path in PAGES.rglob("*") if path.suffix in (".js", ".css"))
names = [path.relative_to(PAGES).as_posix() for path in SOURCES]


@pytest.mark.parametrize("path", SOURCES, ids=names)
def test_lines_are_short_enough_to_read(path):
    long = [k for k, line in enumerate(path.read_text("utf-8").splitlines(), 1)
            if len(line) > LONGEST]  # fmt: skip
    assert long == []


@pytest.mark.parametrize("path", [p for p in SOURCES if p.suffix == ".js"])
def test_imports_are_relative_and_exist(path):
    """Relative, so that exported pages work under any address."""
    pattern = r'^(?:import .*|\} )from "([^"]+)";$'
    for target in re.findall(pattern, path.read_text("utf-8"), re.MULTILINE):
        assert target.startswith("."), target
        assert (path.parent / target).resolve().is_file(), target


def test_every_style_rule_is_in_a_layer():
    for path in (p for p in SOURCES if p.suffix == ".css"):
        depth = 0
        for line in path.read_text("utf-8").splitlines():
            if depth == 0 and line.strip() and not line.startswith(("/*", "@layer", "}", " *")):
                raise AssertionError(f"{Path(path).name}: {line}")
            depth += line.count("{") - line.count("}")
