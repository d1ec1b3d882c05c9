"""Mosaics of scikit-learn's handwritten digits, which need no files and no network."""

import gzip
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch

from foveate.data import DATASETS, Dataset, Recipe, Split
from foveate.data.files.bank import Bank, split_rows
from foveate.data.image_mosaics import image_dataset
from foveate.randomness import generator
from foveate.types import FloatArray

__all__ = ["digits", "digits_unbalanced", "read_digits"]


@cache
def _bank() -> Bank:
    table = torch.from_numpy(_table())
    pixels = table[:, :-1].mul(255 / 16).round().byte()
    return Bank(pixels.view(-1, 1, 8, 8), table[:, -1].long())


def _table() -> FloatArray:
    """Pixels 0 … 16 and the label of every image, shape (1797, 65).

    The file inside the scikit-learn package is read directly, because importing scikit-learn takes
    more than a second; with a version that stores it elsewhere, scikit-learn loads the data.
    """
    spec = find_spec("sklearn")
    if spec is not None and spec.origin is not None:
        path = Path(spec.origin).parent / "datasets" / "data" / "digits.csv.gz"
        if path.exists():
            with gzip.open(path, "rt") as file:
                return np.loadtxt(file, delimiter=",")
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    return np.column_stack([images, labels])


def read_digits(split: Split, seed: int) -> Bank:
    """The base images of a split, 70 to 30 as the seed decides."""
    return _bank().take(split_rows(_bank(), split, generator("digits", "base images", seed)))


@DATASETS.register("digits")
def digits() -> Dataset:
    """Digits 0, 1, 2 among the digits 3 to 9; base images are split 70 to 30 by the seed."""
    about = "8×8 handwritten digits; 0, 1, 2 are foreground, 3 to 9 background (no files needed)"
    return _mosaics("digits", about)


@DATASETS.register("digits-unbalanced")
def digits_unbalanced() -> Dataset:
    """The same digits; seven, two and one in ten training mosaics are of the three classes."""
    about = "the same; 70, 20 and 10 % of the training mosaics are of 0, 1, 2, a third when tested"
    return _mosaics("digits-unbalanced", about, shares=(0.7, 0.2, 0.1))


def _mosaics(name: str, about: str, shares: tuple[float, ...] | None = None) -> Dataset:
    return image_dataset(
        name,
        read_digits,
        banks=lambda: {"all": _bank()},
        foreground=(0, 1, 2),
        classes=("0", "1", "2"),
        about=about,
        recipe=Recipe(m=20, n=2000, n_test=1000, net="mlp", epochs=40, batch=200, lr=1e-3),
        shares=shares,
    )
