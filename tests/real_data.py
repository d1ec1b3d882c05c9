"""Real data sets in the folder FOVEATE_DATA; tests of them are skipped without it."""

import os
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("FOVEATE_DATA", "/nowhere"))


def data_folder(name: str) -> Path:
    """The folder of a data set."""
    if not (ROOT / name).is_dir():
        pytest.skip(f"FOVEATE_DATA has no {name}")
    return ROOT / name
