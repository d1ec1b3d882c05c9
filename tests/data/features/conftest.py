"""Small sets of images, a cache of their own, and an encoder whose features are known."""

import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image

from foveate.data.files.bank import Bank

# Two means of each half of a colour image: six features that a test can compute by itself.
HALVES = """
import torch
from torch import nn


class Halves(nn.Module):
    seen = 0

    def forward(self, x):
        Halves.seen += len(x)
        return torch.cat([part.mean((2, 3)) for part in x.chunk(2, 2)], 1)


def halves(weights=None):
    return Halves()
"""


@pytest.fixture(autouse=True)
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of one's own to be in, with the encoder ``known_halves:halves`` and a cache."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FOVEATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("FOVEATE_DATA", raising=False)
    (tmp_path / "known_halves.py").write_text(HALVES)
    return tmp_path


@pytest.fixture
def draw() -> Callable[..., np.ndarray]:
    """Different images: random bytes of a shape (N, H, W) or (N, H, W, 3)."""

    def images(*shape: int, seed: int = 0) -> np.ndarray:
        return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)

    return images


@pytest.fixture
def few_digits(draw: Callable[..., np.ndarray], monkeypatch: pytest.MonkeyPatch) -> Bank:
    """Sixty images of labels 0 to 9, some of them copies, in place of the 1,797 digits."""
    x = draw(60, 8, 8)
    x[40:50] = x[:10]
    bank = Bank(torch.from_numpy(x)[:, None], torch.arange(60) % 10)
    monkeypatch.setattr("foveate.data.digits._bank", lambda: bank)
    return bank


def png(pixels: np.ndarray) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


@pytest.fixture
def write_table() -> Callable[..., Path]:
    """Write images (or what poses as such) to a Parquet file."""

    def write(
        path: Path,
        images: Sequence[np.ndarray | bytes],
        labels: Sequence[int] | None = None,
        names: Sequence[str] = (),
    ) -> Path:
        raw = [one if isinstance(one, bytes) else png(one) for one in images]
        columns = {"image": pa.array([{"bytes": one, "path": None} for one in raw])}
        if labels is not None:
            columns["label"] = pa.array(labels)
        features = {"label": {"names": list(names), "_type": "ClassLabel"}}
        note = {"huggingface": json.dumps({"info": {"features": features}})} if names else {}
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(columns).replace_schema_metadata(note), path)
        return path

    return write
