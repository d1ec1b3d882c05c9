"""Small image sets written to disk, and a cache of their own for all tests here."""

import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from foveate.data.files import npz, parquet


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FOVEATE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def new_process() -> Callable[[], None]:
    """Forget what this process has read, as a new one would."""

    def forget() -> None:
        parquet._read.cache_clear()
        npz._read.cache_clear()

    return forget


def png(pixels: np.ndarray) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


@pytest.fixture
def write_parquet() -> Callable[..., Path]:
    def write(
        path: Path,
        images: Sequence[np.ndarray | bytes | None],
        labels: Sequence[object],
        *,
        image: str = "image",
        label: str = "label",
        names: Sequence[str] = (),
    ) -> Path:
        raw = [png(one) if isinstance(one, np.ndarray) else one for one in images]
        cells = pa.array([{"bytes": one, "path": None} for one in raw])
        table = pa.table({image: cells, label: pa.array(labels)})
        if names:
            features = {label: {"names": list(names), "_type": "ClassLabel"}}
            table = table.replace_schema_metadata(
                {"huggingface": json.dumps({"info": {"features": features}})}
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path)
        return path

    return write


@pytest.fixture
def pictures() -> Callable[..., np.ndarray]:
    """Different images: random bytes of a shape (N, H, W) or (N, H, W, 3)."""

    def draw(*shape: int, seed: int = 0) -> np.ndarray:
        return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)

    return draw
