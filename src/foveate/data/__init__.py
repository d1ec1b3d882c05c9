"""Data sets: one file each, dropped into this folder, found by name.

A data set is a function ``load(split, n, m, seed) -> Bag``. The seed decides the bags; train
and test never share a base image.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Protocol

from foveate.bags.bag import Bag
from foveate.errors import FoveateError
from foveate.registry import Registry

if TYPE_CHECKING:
    from foveate.data.files.bank import Bank

__all__ = ["DATASETS", "IMAGE_SPLITS", "Dataset", "ImageSplit", "Loader", "Recipe", "Split", "load"]

Split = Literal["train", "test"]
ImageSplit = Literal["clean", "released"]
IMAGE_SPLITS: tuple[ImageSplit, ...] = ("clean", "released")


class Loader(Protocol):
    """Makes ``n`` bags of ``m`` segments for a split; equal arguments give equal bags."""

    def __call__(self, split: Split, *, n: int, m: int, seed: int) -> Bag: ...


@dataclass(frozen=True)
class Recipe:
    """How a data set is usually trained on: the defaults of ``foveate race``."""

    m: int
    n: int
    n_test: int
    net: str
    epochs: int
    batch: int
    lr: float
    optimizer: str = "adam"
    stop_below: float | None = None


@dataclass(frozen=True)
class Dataset:
    """A named source of bags.

    Args:
        name: Its name.
        about: One line for ``foveate list datasets``.
        classes: Names of the C classes.
        load: The loader.
        recipe: Usual sizes and training.
        banks: Reads the base images that bags are cut from, where they are images: "train" and
            "test" by an official split, else "all".
        released: A loader that cuts test mosaics from the training images, as the papers' released
            code does, where the data set is of mosaics.
    """

    name: str
    about: str
    classes: tuple[str, ...]
    load: Loader
    recipe: Recipe
    banks: "Callable[[], Mapping[str, Bank]] | None" = None
    released: Loader | None = None

    def with_split(self, image_split: ImageSplit) -> "Dataset":
        """The data set with test mosaics cut from test images, or from the training images.

        Args:
            image_split: "clean", where no image is in both splits, or "released", where the test
                mosaics are new mosaics of the training images, as in the papers' released code.
        """
        if image_split not in IMAGE_SPLITS:
            names = ", ".join(IMAGE_SPLITS)
            raise FoveateError(f"the split of images must be one of {names}, got '{image_split}'")
        if image_split == "clean":
            return self
        if self.released is None:
            raise FoveateError(f"'{self.name}' is not cut from images, so it has no released split")
        return replace(self, load=self.released)


def _check_usable(make: Callable[[], Dataset]) -> None:
    if not isinstance(make(), Dataset):
        raise FoveateError("a data set must be a function that returns a foveate.data.Dataset")


DATASETS: Registry[Callable[[], Dataset]] = Registry(
    "data set",
    package=("foveate.data", "foveate.data.features"),
    group="foveate.datasets",
    check=_check_usable,
)
"""Data sets by name: ``DATASETS.get("digits")()``; ``@DATASETS.register("name")`` adds one."""


def load(
    name: str, *, n: int | None = None, m: int | None = None, seed: int = 0
) -> tuple[Bag, Bag]:
    """Training and test bags of a registered data set, in its default sizes unless given.

    Args:
        name: A name in ``foveate list datasets``.
        n: Number of training bags.
        m: Segments per bag.
        seed: Decides which bags are drawn.

    Example:
        >>> train, test = load("error-mode-1", n=10, seed=0)
        >>> len(train), train.m
        (10, 9)
    """
    data = DATASETS.get(name)()
    check_sizes(m := m or data.recipe.m, n := n or data.recipe.n)
    return (
        data.load("train", n=n, m=m, seed=seed),
        data.load("test", n=data.recipe.n_test, m=m, seed=seed),
    )


def check_sizes(m: int, *counts: int) -> None:
    """Bags need two segments at least, and sets one bag."""
    if m < 2:
        raise FoveateError(f"m must be at least 2 segments per bag, got {m}")
    if any(count < 1 for count in counts):
        raise FoveateError(f"the number of bags must be at least 1, got {min(counts)}")
