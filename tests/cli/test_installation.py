"""Versions agree, and the package can be run as a module."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import foveate
from foveate.cli.app import COMMANDS, app

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


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shell_completion_knows_every_command(shell):
    script = app.generate_completion(shell=shell)
    assert [name for name in COMMANDS if name not in script] == []


def test_completion_is_installed_for_a_shell(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    target = tmp_path / "foveate.fish"
    app.install_completion(shell="fish", output=target)
    assert "foveate" in target.read_text("utf-8")


def test_package_is_typed():
    assert (Path(foveate.__file__).parent / "py.typed").exists()
