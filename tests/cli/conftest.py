"""A folder of its own for every command, and small races to look at and to damage."""

import shutil
from pathlib import Path

import pytest

from .typed import SOFT, call


@pytest.fixture(autouse=True)
def workdir(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FOVEATE_RUNS", raising=False)
    monkeypatch.setenv("FOVEATE_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small") / "race"
    assert call("race", "error-mode-1", *SOFT, "--out", folder)[0] == 0
    return folder


@pytest.fixture
def quick(small, tmp_path):
    """A copy of a race of soft attention alone, whose report is made sooner."""
    return Path(shutil.copytree(small, tmp_path / "copy"))
