"""The bags that trust is validated on: some were used to design it, the others were not."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from foveate.data import DATASETS, Dataset, Split
from foveate.data.files.bank import Bank, split_rows
from foveate.data.image_mosaics import Source, image_dataset
from foveate.data.orthogonal import linear_orthogonal
from foveate.errors import FoveateError
from foveate.randomness import generator

__all__ = ["CONDITIONS", "SETS", "Condition", "TrustSet"]

Role = Literal["design", "validation"]


@dataclass(frozen=True)
class TrustSet:
    """Bags, networks and a training that suits them.

    Args:
        role: Whether thresholds and weights were chosen on it.
        data: Makes the data set.
        m: Segments per bag.
        net: Networks for f and g.
        n: Training bags.
        epochs: Passes over them.
        batch: Bags per step.
        lr: Learning rate.
        optimizer: Optimiser.
    """

    role: Role
    data: Callable[[], Dataset]
    m: int
    net: str
    n: int
    epochs: int
    batch: int
    lr: float
    optimizer: str = "adam"


@dataclass(frozen=True)
class Condition:
    """One way to train on one set.

    Args:
        data: A name in :data:`SETS`.
        paradigm: How to train.
        map: How scores become attention.
    """

    data: str
    paradigm: str
    map: str

    @property
    def name(self) -> str:
        """What its part is called."""
        return f"{self.data}-{self.paradigm}-{self.map}"


CONDITIONS = (
    ("soft", "softmax"),
    ("hard", "softmax"),
    ("lvml", "softmax"),
    ("hybrid", "softmax"),
    ("logit", "softmax"),
    ("soft", "sparsemax"),
    ("soft", "spherical"),
)


def _registered(name: str) -> Callable[[], Dataset]:
    """A data set of the registry, looked up when it is wanted."""

    def make() -> Dataset:
        return DATASETS.get(name)()

    return make


def _others(name: str, foreground: tuple[int, ...]) -> Callable[[], Dataset]:
    """A data set of images with other labels as its foreground, all others as background."""

    def make() -> Dataset:
        usual = DATASETS.get(name)()
        return image_dataset(
            f"{name}-{''.join(map(str, foreground))}",
            _source(usual),
            foreground=foreground,
            classes=tuple(map(str, foreground)),
            about=usual.about,
            recipe=usual.recipe,
        )

    return make


def _source(usual: Dataset) -> Source:
    """The base images of a data set by its official split, else 70 to 30 as the seed decides."""

    def read(split: Split, seed: int) -> Bank:
        if usual.banks is None:
            raise FoveateError(f"'{usual.name}' is not cut from images")
        banks = usual.banks()
        if split in banks:
            return banks[split]
        chance = generator("trust", usual.name, "base images", seed)
        return banks["all"].take(split_rows(banks["all"], split, chance))

    return read


def _boxes(number: int, net: str, lr: float, optimizer: str) -> TrustSet:
    data = _registered(f"error-mode-{number}")
    return TrustSet("design", data, 9, net, 1500, 100, 250, lr, optimizer)


SETS: dict[str, TrustSet] = {
    "digits-m20": TrustSet("design", _registered("digits"), 20, "mlp", 2000, 40, 200, 1e-3),
    "digits-m5": TrustSet("design", _registered("digits"), 5, "mlp", 2000, 20, 200, 1e-3),
    "error-mode-1": _boxes(1, "linear", 0.01, "sgd"),  # [pvr22], with half the bags
    "error-mode-2": _boxes(2, "linear", 0.01, "sgd"),
    "error-mode-3": _boxes(3, "mode3", 0.01, "adam"),
    "gaussians": TrustSet("design", _registered("gaussians"), 9, "gaussians", 1500, 80, 250, 3e-3),
    "digits-358": TrustSet(
        "validation", _others("digits", (3, 5, 8)), 10, "mlp", 2000, 30, 200, 1e-3
    ),
    "orthogonal": TrustSet(
        "validation", lambda: linear_orthogonal(6), 10, "linear", 2000, 60, 250, 0.05, "sgd"
    ),
    "mnist-m10": TrustSet("validation", _registered("mnist"), 10, "mlp", 1000, 20, 100, 1e-3),
    "mnist-479": TrustSet("validation", _others("mnist", (4, 7, 9)), 6, "mlp", 1000, 20, 100, 1e-3),
}
