"""Bags of images seen through a frozen encoder: CIFAR-10 mosaics and photographs of one person."""

import torch
from torch import Tensor

from foveate.bags.bag import Bag
from foveate.bags.segments import as_mosaics
from foveate.data import DATASETS, Split
from foveate.studies.beyond.trust.real import TrainTestBags, split_in_half

__all__ = ["cifar_features", "people", "photographs"]

BATCH = 64


def cifar_features(split: Split, n: int, m: int, seed: int) -> Bag:
    """Mosaics of CIFAR-10 as features of the built-in encoder.

    Only the images that the bags hold are encoded, not the whole data set.
    """
    from foveate.data.features.encoding import SIDE, squared
    from foveate.models.efficientnet import efficientnet_lite0

    bag = DATASETS.get("cifar10")().load(split, n=n, m=m, seed=seed)
    mosaics = as_mosaics(bag.x)
    used, index = mosaics.index.unique(return_inverse=True)
    network = efficientnet_lite0().eval()
    parts: list[Tensor] = []
    with torch.no_grad():
        for rows in used.split(BATCH):
            parts.append(network(squared(list(mosaics.bank[rows]), SIDE)).flatten(1))
    return Bag(torch.cat(parts)[index], bag.y, bag.z)


def photographs(seed: int) -> TrainTestBags:
    """Photographs of one person as 7 × 7 cells: a woman or a man? Cells in the box are relevant."""
    from foveate.studies.beyond.real_bags import sources

    return _standardised(sources.photographs().bag, "photographs", seed)


def people(seed: int) -> TrainTestBags:
    """Photographs of several objects as 7 × 7 cells: is a person in it? Cells in a person's box."""
    from foveate.studies.beyond.real_bags import sources

    return _standardised(sources.people().bag, "people", seed)


def _standardised(bag: Bag, name: str, seed: int) -> TrainTestBags:
    x = bag.dense()
    x = (x - x.mean((0, 1))) / (x.std((0, 1)) + 1e-6)
    whole = Bag(x, bag.y, bag.z, bag.mask)
    first, second = (torch.from_numpy(rows) for rows in split_in_half(len(bag), name, seed))
    return whole.take(first), whole.take(second), None, None
