"""NPZ files: what goes in comes out, or an error says where it went wrong."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from foveate.data.files.npz import read_npz
from foveate.errors import FoveateError

Draw = Callable[..., np.ndarray]


@pytest.mark.parametrize(
    ("shape", "order"),
    [
        ((6, 4, 5, 1), None),  # grey without an axis of channels
        ((6, 4, 5, 3), (0, 3, 1, 2)),
        ((6, 3, 4, 5), (0, 1, 2, 3)),
        ((6, 7), (0, 1)),
    ],
)
def test_bytes_are_images(
    tmp_path: Path, pictures: Draw, shape: tuple[int, ...], order: tuple[int, ...] | None
) -> None:
    x = pictures(*shape)
    want = x.transpose(order or (0, 3, 1, 2)).copy()
    np.savez(tmp_path / "a.npz", X=x if order else x[..., 0], y=np.arange(6, dtype=np.uint8))
    bank = read_npz(tmp_path / "a.npz")
    assert bank.x.dtype == torch.uint8
    assert torch.equal(bank.x, torch.from_numpy(want))
    assert bank.y.tolist() == [0, 1, 2, 3, 4, 5]


def test_other_numbers_are_features(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(4, 2, 3))
    np.savez_compressed(tmp_path / "a.npz", X=x, y=np.array([0.0, 1.0, 2.0, 1.0]))
    bank = read_npz(tmp_path / "a.npz")
    assert torch.equal(bank.x, torch.from_numpy(x.astype(np.float32)))
    assert bank.y.tolist() == [0, 1, 2, 1]
    np.savez(tmp_path / "b.npz", X=np.arange(4), kind=[3, 2, 1, 0])
    bank = read_npz(tmp_path / "b.npz", "kind")
    assert (bank.x.tolist(), bank.y.tolist()) == ([[0.0], [1.0], [2.0], [3.0]], [3, 2, 1, 0])


def test_an_npz_is_read_once(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", X=np.arange(4.0), y=range(4))
    assert read_npz(tmp_path / "a.npz").x is read_npz(tmp_path / "a.npz").x


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        (
            {"X": np.zeros((3, 2)), "y": np.zeros(2, int)},
            r"one row per image, got .*\(3, 2\).*\(2,\)",
        ),
        ({"X": np.array([[0.0], [np.nan]]), "y": [0, 1]}, "array 'X', row 1: must be finite"),
        ({"X": np.array([[1e300], [0.0]]), "y": [0, 1]}, "array 'X', row 0: must be finite"),
        ({"X": np.array(["a", "b"]), "y": [0, 1]}, "X must hold numbers, got <U1"),
        ({"X": np.zeros((2, 2)), "y": [0.5, 1]}, "array 'y', row 0: .* got 0.5"),
        ({"X": np.zeros((2, 2)), "y": ["a", "b"]}, "array 'y', row 0: .* got 'a'"),
        ({"X": np.zeros((2, 2)), "z": [0, 1]}, "no array 'y': it holds X, z; --label chooses"),
        ({"x": np.zeros((2, 2)), "y": [0, 1]}, "no array 'X': it holds x, y"),
        ({"X": np.zeros((0, 2)), "y": np.zeros(0, int)}, "holds no images"),
        ({"X": np.array([{}, {}]), "y": [0, 1]}, "nor a whole NPZ file of plain numbers"),
    ],
)
def test_an_npz_must_make_sense(
    tmp_path: Path, arrays: dict[str, np.ndarray], sentence: str
) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(FoveateError, match=sentence):
        read_npz(tmp_path / "a.npz")


def test_junk_is_no_npz(tmp_path: Path) -> None:
    np.savez(tmp_path / "whole.npz", X=np.zeros((50, 50)), y=np.zeros(50, int))
    whole = (tmp_path / "whole.npz").read_bytes()
    np.save(tmp_path / "lone.npy", np.zeros(3))
    lone = (tmp_path / "lone.npy").read_bytes()
    flipped = bytearray(whole)
    flipped[500] ^= 1
    for content in (b"", b"junk", whole[:-40], lone, bytes(flipped)):
        (tmp_path / "a.npz").write_bytes(content)
        with pytest.raises(FoveateError, match="neither a folder of Parquet files nor a whole NPZ"):
            read_npz(tmp_path / "a.npz")
