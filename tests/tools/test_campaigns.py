"""Small sizes of the campaigns."""

import tomllib
from pathlib import Path

from fuzz_campaign import main as fuzz
from lowest_versions import lowest_versions

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def test_damaged_files_are_read_or_refused(capsys):
    assert fuzz(["--files", "140", "--seed", "1"]) == 0
    assert "140 files: " in capsys.readouterr().out


def test_lower_bounds_are_pinned():
    pins = lowest_versions(tomllib.loads(PROJECT.read_text())["project"])
    assert any(pin.startswith("torch==") for pin in pins)
    assert any(pin.startswith("h5py==") for pin in pins)
