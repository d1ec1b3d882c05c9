"""Files of encoded images: NPZ with features ``X``, labels, the split, and what made them.

::

    X         features as an encoder gave them, (N, …), half or single precision
    y         labels (N,), where the images have some
    names     names of the labels, where they are known
    test      True for images of the official test split (N,), where there is one
    image     a digest of every image (N, 16): equal images stay on one side of a split
    mean, std of every feature over the training images
    manifest  JSON: which images, which encoder, which weights, which size
"""

import hashlib
import json
import zipfile
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from foveate.data import Split
from foveate.data.files.bank import Bank, split_rows
from foveate.data.files.cache import fingerprint
from foveate.errors import FoveateError
from foveate.randomness import generator
from foveate.records.record import load_arrays

__all__ = [
    "Encoded",
    "Moments",
    "image_digest",
    "read_encoded",
    "read_features",
    "read_manifest",
]

ARRAYS = ("X", "y", "test", "image", "mean", "std")
ROWS = 4096  # features in double precision at a time


class Encoded(NamedTuple):
    """What a file of encoded images holds; see the top of this module.

    ``y`` and ``test`` are None where they are not known.
    """

    x: Tensor
    y: Tensor | None
    names: tuple[str, ...]
    test: Tensor | None
    image: Tensor
    mean: Tensor
    std: Tensor
    manifest: dict[str, Any]


def image_digest(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A 16-byte digest of an image's pixels, shape (16,)."""
    total = hashlib.blake2b(np.ascontiguousarray(pixels).tobytes(), digest_size=16)
    return np.frombuffer(total.digest(), np.uint8)


def read_manifest(path: Path) -> dict[str, Any] | None:
    """What made a file of encoded images, without reading them; None if it is no such file."""
    try:
        with zipfile.ZipFile(path) as archive, archive.open("manifest.npy") as member:
            manifest = json.loads(np.lib.format.read_array(member, allow_pickle=False).tobytes())
        return dict(manifest) if manifest["images"]["name"] else None
    except (OSError, zipfile.BadZipFile, KeyError, ValueError, TypeError):
        return None


def read_encoded(path: Path) -> Encoded:
    """A file of encoded images, read once in a process."""
    return _read(path, fingerprint([path]))


def read_features(path: Path, split: Split, seed: int) -> Bank:
    r"""The features of a split, each standardised: :math:`(x - \mu)/\sigma` of training images.

    Splits are those of the images: the official one, else 70 to 30 as the seed decides.

    Args:
        path: A file of encoded images.
        split: Which side.
        seed: Decides the sides where the file does not; the official bank is one object for all.
    """
    x, y, names, test, image, mean, std, manifest = read_encoded(path)
    if y is None:
        raise FoveateError(f"{path} has no labels, which mosaics need")
    if test is not None:
        return Bank(*_official(x, y, test, mean, std, split == "test"), names)
    train, rows_of_split = (
        split_rows(Bank(image, y), side, generator(manifest["images"]["name"], "base images", seed))
        for side in ("train", split)
    )
    moments = Moments()
    for rows in train.split(ROWS):
        moments.add(x[rows].double().numpy())
    mean, std = (torch.from_numpy(part) for part in moments.mean_and_std())
    return Bank(_standardised(x[rows_of_split], mean, std), y[rows_of_split], names)


class Moments:
    """Mean and standard deviation of every feature, gathered part by part.

    Rows (d,) have d of each; grids (C, h, w) have C, one for all places of a channel.

    Example:
        >>> seen = Moments()
        >>> for part in ([[1.0], [2.0]], [[6.0]]):
        ...     seen.add(np.array(part))
        >>> seen.mean_and_std()[0].tolist()
        [3.0]
    """

    def __init__(self) -> None:
        self.count, self.mean, self.squares = 0, np.zeros(()), np.zeros(())

    def add(self, part: NDArray[np.float64]) -> None:
        """Add rows, shape (n, d) or (n, C, …); exact for any cut into parts."""
        axes = (0, *range(2, part.ndim))
        count = part.size // part.shape[1]
        mean = part.mean(axes, keepdims=True)[0]
        shift = mean - self.mean
        total = self.count + count
        self.squares = (
            self.squares
            + ((part - mean) ** 2).sum(axes, keepdims=True)[0]
            + shift**2 * (self.count * count / total)
        )
        self.mean, self.count = self.mean + shift * (count / total), total

    def mean_and_std(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Mean and standard deviation in single precision, broadcastable against features."""
        std = np.sqrt(self.squares / max(1, self.count))
        return self.mean.astype(np.float32), std.astype(np.float32)


@lru_cache(maxsize=4)  # of the tensors themselves, of which a process has one set a file
def _official(
    x: Tensor, y: Tensor, test: Tensor, mean: Tensor, std: Tensor, side: bool
) -> tuple[Tensor, Tensor]:
    rows_of_split = (test == side).nonzero()[:, 0]
    return _standardised(x[rows_of_split], mean, std), y[rows_of_split]


def _standardised(x: Tensor, mean: Tensor, std: Tensor) -> Tensor:
    return x.float().sub_(mean).div_(std.where(std > 0, 1.0))


@lru_cache(maxsize=2)
def _read(path: Path, stamp: object) -> Encoded:
    manifest, arrays = read_manifest(path), load_arrays(path)
    names = tuple(str(name) for name in arrays.get("names", ()))
    tensors = {name: torch.from_numpy(arrays[name]) for name in ARRAYS if name in arrays}
    lengths = {len(tensors[name]) for name in ("X", "y", "test", "image") if name in tensors}
    if manifest is None or len(lengths) != 1 or not tensors.keys() >= {"X", "image", "mean", "std"}:
        raise FoveateError(f"{path} is not a whole file of encoded images")
    image, mean, std = (tensors[name] for name in ("image", "mean", "std"))
    return Encoded(
        tensors["X"], tensors.get("y"), names, tensors.get("test"), image, mean, std, manifest
    )
