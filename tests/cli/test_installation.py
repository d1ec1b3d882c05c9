"""Versions agree, and the package can be run as a module."""

import subprocess
import sys
import tomllib
from pathlib import Path

import foveate

ROOT = Path(__file__).parents[2]


def test_versions_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == foveate.__version__
    assert f"version: {foveate.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## [{foveate.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_module_is_the_command():
    command = [sys.executable, "-m", "foveate", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"foveate {foveate.__version__}"
