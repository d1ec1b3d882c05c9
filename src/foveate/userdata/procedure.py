"""How a fit uses its bags: one split, or cross-fitting over folds."""

from abc import ABC, abstractmethod
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from torch import Tensor

from foveate.bags.bag import Bag
from foveate.errors import FoveateError
from foveate.io.collection import Collection
from foveate.records.record import Record
from foveate.records.runs import Run
from foveate.types import PartProgress, StepProgress
from foveate.userdata.prepare import Preparation
from foveate.userdata.settings import FitSettings
from foveate.userdata.tile_encoding import encode_tiles

__all__ = ["CHECKPOINT", "Procedure", "collection_sizes", "prepare_bags"]

CHECKPOINT = "checkpoint.safetensors"


class Procedure(ABC):
    """Training, scoring and choosing, on bags that are divided in some way.

    Args:
        collection: Labelled bags.
        settings: How to fit.
        folder: A folder in which a division of the same bags is stored, if there is one.
        progress: Called as ``progress(part, done, total)``.
    """

    collection: Collection
    settings: FitSettings
    preparation: Preparation
    rule: ClassVar[str]

    @property
    @abstractmethod
    def parts(self) -> list[str]:
        """Names of the parts, each of which can be computed by itself."""

    @abstractmethod
    def save_division(self, folder: Path) -> None:
        """Write which bags are used for what."""

    @abstractmethod
    def sizes(self) -> dict[str, Any]:
        """Numbers of bags, segments and classes, for the manifest."""

    @abstractmethod
    def run_part(self, name: str, folder: Path, progress: StepProgress) -> Record:
        """Compute one part and write its weights to ``folder / name``."""

    @abstractmethod
    def finish(self, run: Run) -> dict[str, Any]:
        """Score, choose, write the gallery; returns entries of the manifest."""


def prepare_bags(
    collection: Collection,
    settings: FitSettings,
    rows: Tensor,
    progress: PartProgress | None,
) -> tuple[Preparation, Bag]:
    """Learn scales or a vocabulary from the bags at ``rows`` and apply them to all bags."""
    if settings.supervise_focus and (
        collection.known is None or not bool(collection.known[rows].any())
    ):
        raise FoveateError(
            f"{collection.source}: --supervise-focus needs training bags whose relevance is known"
        )
    encoded = encode_tiles(collection, settings.encoder, progress)
    preparation = Preparation.learn(collection, rows, settings, encoded)
    bag = preparation.apply(collection, progress, None if encoded is None else encoded[1])
    if bag.weight is not None:  # of mean 1, so that the learning rate keeps its meaning
        bag = replace(bag, weight=bag.weight / bag.weight[rows].mean())
    return preparation, bag


def collection_sizes(
    collection: Collection, preparation: Preparation, how: str, parts: dict[str, Bag]
) -> dict[str, Any]:
    """Sizes of a collection and of the parts it is divided into.

    Args:
        collection: The bags.
        preparation: How they are prepared.
        how: How they are divided, in words.
        parts: Bags of each part.
    """
    bag, classes = collection.bag, preparation.classes
    lengths = [bag.m] if bag.mask is None else bag.mask.sum(1).tolist()
    return {
        "bags": len(bag),
        "segments": int(sum(lengths)) if bag.mask is not None else len(bag) * bag.m,
        "shortest": min(lengths),
        "longest": max(lengths),
        "segment": list(preparation.width),
        "groups": None if bag.group is None else int(bag.group.unique().numel()),
        "split": how,
        "parts": {part: len(rows) for part, rows in parts.items()},
        "bags of class": {
            part: {name: int((rows.y == c).sum()) for c, name in enumerate(classes)}
            for part, rows in parts.items()
        },
        "classes": list(classes),
    }
