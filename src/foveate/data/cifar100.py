"""CIFAR100-SDC: fifty classes of animals and people among fifty of things. [vr23] Sec. 2.4"""

from pathlib import Path

import numpy as np

from foveate.bags.bag import Bag
from foveate.data import DATASETS, Dataset, Recipe, Split
from foveate.data.files.hub import locate
from foveate.data.files.parquet import read_column, split_files
from foveate.data.image_mosaics import mosaics, read_banks, read_split
from foveate.errors import FoveateError
from foveate.randomness import generator

__all__ = ["CLASSES", "GROUPS", "cifar100", "foreground_labels"]

# Coarse label and name of the ten foreground groups, each with its five fine classes. [vr23]
GROUPS: dict[int, tuple[str, tuple[str, ...]]] = {
    0: ("aquatic_mammals", ("beaver", "dolphin", "otter", "seal", "whale")),
    1: ("fish", ("aquarium_fish", "flatfish", "ray", "shark", "trout")),
    7: ("insects", ("bee", "beetle", "butterfly", "caterpillar", "cockroach")),
    8: ("large_carnivores", ("bear", "leopard", "lion", "tiger", "wolf")),
    11: (
        "large_omnivores_and_herbivores",
        ("camel", "cattle", "chimpanzee", "elephant", "kangaroo"),
    ),
    12: ("medium_mammals", ("fox", "porcupine", "possum", "raccoon", "skunk")),
    13: ("non-insect_invertebrates", ("crab", "lobster", "snail", "spider", "worm")),
    14: ("people", ("baby", "boy", "girl", "man", "woman")),
    15: ("reptiles", ("crocodile", "dinosaur", "lizard", "snake", "turtle")),
    16: ("small_mammals", ("hamster", "mouse", "rabbit", "shrew", "squirrel")),
}
# Fine labels are numbered by name, so this is the order of increasing fine label.
CLASSES = tuple(sorted(name for _, names in GROUPS.values() for name in names))


def foreground_labels(folder: Path) -> list[int]:
    """The fine labels of the foreground groups, in increasing order, as the files pair them.

    Args:
        folder: Parquet files with columns ``fine_label`` and ``coarse_label``.
    """
    files = split_files(folder)
    train = files.get("train") or files["all"]
    fine, coarse = read_column(train, "fine_label"), read_column(train, "coarse_label")
    labels = np.unique(fine[np.isin(coarse, list(GROUPS))])
    if len(labels) != len(CLASSES):
        raise FoveateError(
            f"{folder}: the foreground groups have {len(CLASSES)} fine labels, got {len(labels)}"
        )
    return [int(label) for label in labels]


def _load(split: Split, *, n: int, m: int, seed: int) -> Bag:
    return _draw_mosaics(split, split, n, m, seed)


def _released(split: Split, *, n: int, m: int, seed: int) -> Bag:
    return _draw_mosaics("train", split, n, m, seed)


def _draw_mosaics(images: Split, split: Split, n: int, m: int, seed: int) -> Bag:
    """Mosaics of a split, cut from the images of that split or of another one."""
    folder = locate("cifar100", "uoft-cs/cifar100")
    bank = read_split(folder, images, seed, "fine_label")
    stream = generator("cifar100", split, seed)
    return mosaics(bank, foreground_labels(folder), None, n=n, m=m, generator=stream)


@DATASETS.register("cifar100")
def cifar100() -> Dataset:
    """Fifty foreground and fifty background classes; test mosaics are cut from test images.

    [vr23] Sec. 2.4. The released code cuts both from training images.
    """
    return Dataset(
        name="cifar100",
        about="32×32 photographs; 50 classes of animals and people are foreground, 50 background",
        classes=CLASSES,
        load=_load,
        released=_released,
        banks=lambda: read_banks(locate("cifar100", "uoft-cs/cifar100"), "fine_label"),
        recipe=Recipe(
            m=5,  # [vr23] Table 1, which also has 20
            n=30_000,  # [vr23] Table 1
            n_test=10_000,  # not specified in [vr23]
            net="vr23",
            epochs=150,  # [vr23] released code, as the next three
            batch=256,
            lr=0.05,
            optimizer="sgd",
        ),
    )
