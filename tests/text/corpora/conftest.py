"""A folder of small data sets, and a cache of their own for all tests here."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FOVEATE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Write columns as a part of a data set in FOVEATE_DATA."""
    root = tmp_path / "data"
    monkeypatch.setenv("FOVEATE_DATA", str(root))

    def write(name: str, part: str, **columns: list) -> Path:
        (root / name).mkdir(parents=True, exist_ok=True)
        file = root / name / f"{part}-00000-of-00001.parquet"
        pq.write_table(pa.table(columns), file)
        return file

    return write
