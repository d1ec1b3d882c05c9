"""Image tiles through a frozen encoder, named by its weights so that no other is used later."""

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from foveate.bags.segments import shared_bank
from foveate.data.features.encoders import BUILT_IN, find_encoder
from foveate.data.features.encoding import BATCH, SIDE, squared
from foveate.errors import FoveateError
from foveate.io.collection import Collection
from foveate.models.efficientnet import weights_file
from foveate.types import PartProgress

__all__ = ["Encoding", "encode_tiles"]


@dataclass(frozen=True)
class Encoding:
    """A frozen encoder of tiles.

    Args:
        name: As in ``foveate encode``.
        weights: SHA-256 of its weights.
        width: Numbers it makes of a tile.
        side: Pixels a side that tiles are squeezed to.
    """

    name: str
    weights: str
    width: int
    side: int = SIDE

    @classmethod
    def find(cls, name: str) -> "Encoding | None":
        """The encoder called ``name``; "none" is none, "auto" the built-in one if it is found."""
        if name == "none" or (name == "auto" and weights_file() is None):
            return None
        encoder = find_encoder(BUILT_IN if name == "auto" else name)
        with torch.no_grad():
            width = encoder.build()(torch.zeros(1, 3, SIDE, SIDE)).flatten(1).shape[1]
        return cls(encoder.name, encoder.weights, int(width))

    @torch.no_grad()
    def apply(self, tiles: Tensor, report: PartProgress | None = None) -> Tensor:
        """Features of tiles, from bytes (N, C, h, w) to (N, width)."""
        encoder = find_encoder(self.name)
        if encoder.weights != self.weights:
            raise FoveateError(f"encoder '{self.name}' has other weights here than in training")
        network, features = encoder.build(), []
        for part in tiles.split(BATCH):
            features.append(network(squared(list(part), self.side)).flatten(1))
            if report is not None:
                report("encoding", sum(map(len, features)), len(tiles))
        return torch.cat(features)

    def as_json(self) -> dict[str, Any]:
        """The entry of the manifest."""
        return asdict(self)

    @classmethod
    def of_json(cls, stored: dict[str, Any]) -> "Encoding":
        """From what :meth:`as_json` gave."""
        return cls(**stored)


def encode_tiles(
    collection: Collection, name: str, report: PartProgress | None = None
) -> tuple[Encoding, Tensor] | None:
    """An encoder and its features of the tiles of a collection; None if nothing is encoded.

    Args:
        collection: Bags; only tiles of images are encoded.
        name: See :meth:`Encoding.find`.
        report: Called as ``report("encoding", tiles done, tiles)``.
    """
    shared = shared_bank(collection.bag.x)
    if collection.kind != "image" or shared is None:
        return None
    encoding = Encoding.find(name)
    return None if encoding is None else (encoding, encoding.apply(shared.bank, report))
