"""Mosaics of scikit-learn's handwritten digits, which need no files and no network."""

from functools import cache

import torch

from foveate.data import DATASETS, Dataset, Recipe, Split
from foveate.data.files.bank import Bank, split_rows
from foveate.data.image_mosaics import image_dataset
from foveate.randomness import generator

__all__ = ["digits", "digits_unbalanced", "read_digits"]


@cache
def _bank() -> Bank:
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)  # pixels 0 … 16
    pixels = torch.from_numpy(images).mul(255 / 16).round().byte()
    return Bank(pixels.view(-1, 1, 8, 8), torch.from_numpy(labels).long())


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
