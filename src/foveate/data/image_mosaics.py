"""Mosaics cut from banks of images: some labels are foreground, the others background.

Base images are split before mosaics are cut, so that no image is in both train and test. (The
papers' released code cuts both from the training images.)
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from foveate.bags.bag import Bag
from foveate.bags.segments import Mosaics, shared_bank
from foveate.data import Dataset, Recipe, Split
from foveate.data.files.bank import Bank, split_rows
from foveate.data.files.feature_files import read_features, read_manifest
from foveate.data.files.npz import read_npz
from foveate.data.files.parquet import read_parquet, split_files
from foveate.data.sdc import BACKGROUND, sdc
from foveate.errors import FoveateError
from foveate.randomness import generator

__all__ = [
    "Source",
    "from_path",
    "image_dataset",
    "mosaics",
    "read_banks",
    "read_split",
    "relevant_seen",
]

NO_SPLIT = -2

Source = Callable[[Split, int], Bank]
"""From a split and a seed to the base images of that split."""


def mosaics(
    bank: Bank,
    foreground: Sequence[int],
    background: Sequence[int] | None,
    *,
    n: int,
    m: int,
    generator: torch.Generator,
    shares: Sequence[float] | None = None,
) -> Bag:
    """Mosaics of images by Algorithm 1; the base distributions are uniform on the bank.

    Args:
        bank: The base images of one split; the bags share its tensor.
        foreground: The labels that become classes 0 … k−1.
        background: The labels of the background; None for all others.
        n: Number of mosaics.
        m: Images per mosaic.
        generator: Source of random numbers. [pvr22] Sec. 3.1 and 6.1
        shares: Class probabilities; uniform if None.
    """
    kind = _kinds(bank, foreground, background)
    kinds = np.arange(BACKGROUND, len(foreground))
    rows = np.argsort(kind, kind="stable")
    edges = [np.searchsorted(kind[rows], kinds, side) for side in ("left", "right")]
    order, start, stop = (torch.from_numpy(part) for part in (rows, *edges))
    count = stop - start

    def draw(kind: Tensor, generator: torch.Generator) -> Tensor:
        rng = torch.rand(len(kind), dtype=torch.float64, generator=generator)
        row = kind - BACKGROUND
        return order[start[row] + (rng * count[row]).long()]

    index, y, z = sdc(draw, classes=len(foreground), n=n, m=m, generator=generator, shares=shares)
    return Bag(Mosaics(bank.x, index), y, z)


def image_dataset(
    name: str,
    source: Source,
    *,
    foreground: Sequence[int],
    background: Sequence[int] | None = None,
    classes: tuple[str, ...],
    about: str,
    recipe: Recipe,
    banks: Callable[[], Mapping[str, Bank]] | None = None,
    shares: Sequence[float] | None = None,
) -> Dataset:
    """A data set of mosaics; nothing is read before its loader is called.

    Args:
        name: Its name, which also enters the seed.
        source: Gives the base images of a split.
        foreground: The labels that become classes 0 … k−1.
        background: The labels of the background; None for all others.
        classes: Names of the k classes.
        about: One line for lists.
        recipe: Usual sizes and training.
        banks: Reads all base images, by official split or together.
        shares: Of the classes among training mosaics, where these are not even as for the test.
    """

    def cut(bank: Bank, split: Split, n: int, m: int, seed: int) -> Bag:
        rng = generator(name, split, seed)
        class_shares = shares if split == "train" else None
        return mosaics(bank, foreground, background, n=n, m=m, generator=rng, shares=class_shares)

    def load(split: Split, *, n: int, m: int, seed: int) -> Bag:
        return cut(source(split, seed), split, n, m, seed)

    def released(split: Split, *, n: int, m: int, seed: int) -> Bag:
        return cut(source("train", seed), split, n, m, seed)

    return Dataset(name, about, classes, load, recipe, banks, released)


def relevant_seen(train: Bag, test: Bag) -> Tensor:
    """Whether the relevant image of each test mosaic is in a training mosaic, shape (n,).

    Args:
        train: Training mosaics.
        test: Test mosaics that are cut from the same bank of images, with known relevance.

    Example:
        >>> bank = torch.arange(4.0)[:, None]
        >>> z = torch.tensor([[True, False]])
        >>> train = Bag(Mosaics(bank, torch.tensor([[0, 2]])), torch.tensor([0]), z)
        >>> test = Bag(Mosaics(bank, torch.tensor([[0, 3], [1, 2]])), torch.tensor([0, 1]),
        ...            z.expand(2, -1))
        >>> relevant_seen(train, test).tolist()
        [True, False]
    """
    if shared_bank(train.x) is None or shared_bank(test.x) is None or test.z is None:
        raise FoveateError("only mosaics with known relevance tell which images were seen")
    one, other = train.bank, test.bank
    if one is not other and not torch.equal(one, other):
        return torch.zeros(len(test), dtype=torch.bool)  # other images
    used = torch.zeros(len(train.bank), dtype=torch.bool)
    used[train.index.flatten()] = True
    return (used[test.index] & test.z).any(1)


def read_split(path: Path, split: Split, seed: int, label: str | None = None) -> Bank:
    """The base images of a split: the official one, else 70 to 30 as the seed decides.

    Args:
        path: A folder of Parquet files, one such file, an NPZ file, or one of encoded images.
        split: Which side.
        seed: Decides the sides where the files do not; the official bank is one object for all.
        label: Name of the labels, if it is not the default.
    """
    if not path.exists():
        raise FoveateError(f"there is nothing at {path}")
    if path.is_dir() or path.suffix == ".parquet":
        files = split_files(path)
        if split in files:
            return read_parquet(files[split], label)
        bank = read_parquet(files["all"], label)
    elif read_manifest(path) is not None:
        if label is not None:
            raise FoveateError(f"{path} has its labels already, got --label {label}")
        return read_features(path, split, seed)
    else:
        bank = read_npz(path, label)
    rng = generator(path.resolve().name, "base images", seed)
    return bank.take(split_rows(bank, split, rng))


def read_banks(path: Path, label: str | None = None) -> dict[str, Bank]:
    """All base images: "train" and "test" by an official split, else "all".

    Args:
        path: A folder of Parquet files, or one such file.
        label: Name of the labels, if it is not the default.
    """
    return {split: read_parquet(files, label) for split, files in split_files(path).items()}


def from_path(
    path: Path | str,
    label: str | None = None,
    foreground: Sequence[int] = (0, 1, 2),
    background: Sequence[int] | None = None,
) -> Dataset:
    """A data set of mosaics made of a user's images, read and checked immediately.

    Args:
        path: A folder of Parquet files in the hub's layout, an NPZ file with X and y, or what
            ``foveate encode`` made of either, from which the same mosaics are cut.
        label: Name of the column or array of labels, where it is not ``label`` or ``y``.
        foreground: The labels that become classes 0 … k−1.
        background: The labels of the background; None for all others.
    """
    path = Path(path)
    train, test = (read_split(path, split, 0, label) for split in ("train", "test"))
    if train.x.shape[1:] != test.x.shape[1:]:
        shapes = f"{tuple(train.x.shape[1:])} and {tuple(test.x.shape[1:])}"
        raise FoveateError(f"{path}: train and test images must have one shape, got {shapes}")
    for split, bank in (("train", train), ("test", test)):
        _kinds(bank, foreground, background, f"the {split} split of {path}")
    return image_dataset(
        _name(path),
        lambda split, seed: read_split(path, split, seed, label),
        foreground=foreground,
        background=background,
        classes=tuple(train.name(k) for k in foreground),
        about=f"mosaics cut from {path.name}",
        recipe=_recipe(tuple(train.x.shape[1:])),
    )


def _name(path: Path) -> str:
    """What a path's data set is called; encoded images are called as the images were."""
    if path.is_file() and (manifest := read_manifest(path)) is not None:
        return str(manifest["images"]["name"]).removesuffix(".npz").removesuffix(".parquet")
    return path.resolve().stem if path.is_file() else path.resolve().name


def _recipe(shape: tuple[int, ...]) -> Recipe:
    """Small segments in bags of twenty, large ones in bags of five; convolutions where they fit."""
    return Recipe(
        m=20 if prod(shape) <= 1024 else 5,
        n=2000,
        n_test=1000,
        net="vr23" if shape == (3, 32, 32) else "mlp",
        epochs=60,
        batch=200,
        lr=1e-3,
    )


def _kinds(
    bank: Bank,
    foreground: Sequence[int],
    background: Sequence[int] | None,
    where: str = "the base images",
) -> NDArray[np.int64]:
    """What each base image is, −1 for background or its class; all of these must occur."""
    if len(foreground) < 2 or len(set(foreground)) < len(foreground):
        raise FoveateError(f"foreground must be two or more labels, each once: {_list(foreground)}")
    if shared := set(foreground) & set(background or ()):
        raise FoveateError(f"labels cannot be foreground and background at once: {_list(shared)}")
    labels, inverse = np.unique(bank.y.numpy(), return_inverse=True)
    for side, labels_of_side in (("foreground", foreground), ("background", background or ())):
        if empty := set(labels_of_side) - set(labels.tolist()):
            raise FoveateError(
                f"empty classes: no image in {where} has the {side} label {_list(empty)}; "
                f"the labels there are {_list(labels.tolist())}"
            )
    kinds = {label: row for row, label in enumerate(foreground)}
    other_labels = set(labels.tolist() if background is None else background) - set(foreground)
    if not other_labels:
        raise FoveateError(f"no background is left in {where}: every label is a foreground class")
    kinds |= dict.fromkeys(other_labels, BACKGROUND)
    return np.array([kinds.get(label, NO_SPLIT) for label in labels.tolist()])[inverse]


def _list(labels: Iterable[int]) -> str:
    return ", ".join(str(label) for label in sorted(labels))
