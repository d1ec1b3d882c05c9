"""Bags of images changed in ways that mislead a naive verdict; the relevance stays known."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from foveate.bags.bag import Bag
from foveate.data import DATASETS, Split
from foveate.errors import FoveateError
from foveate.randomness import generator

__all__ = ["ATTACKS", "attacked", "plain"]


class Images(NamedTuple):
    """Bags of flattened images (n, m, d), their labels, relevance and groups."""

    x: Tensor
    y: Tensor
    z: Tensor
    group: Tensor | None = None


def plain(name: str, split: Split, n: int, m: int, seed: int) -> Bag:
    """Bags of a registered data set with segments written out as rows of numbers."""
    images = _images(name, split, n, m, seed)
    return Bag(images.x, images.y, images.z)


def attacked(attack: str, name: str, split: Split, n: int, m: int, seed: int) -> Bag:
    """Bags of a data set after one of :data:`ATTACKS`."""
    images, other = _images(name, split, n, m, seed), _images(name, split, 2 * n, m, seed + 1000)
    changed = ATTACKS[attack](images, other, generator("trust study", attack, split, seed))
    return Bag(changed.x, changed.y, changed.z, None, changed.group)


def _images(name: str, split: Split, n: int, m: int, seed: int) -> Images:
    bag = DATASETS.get(name)().load(split, n=n, m=m, seed=seed)
    if bag.z is None:
        raise FoveateError(f"the relevance of '{name}' must be known")
    return Images(bag.dense().flatten(2).clone(), bag.y, bag.z)


def _several_objects(bag: Images, other: Images, rng: torch.Generator) -> Images:
    """Three relevant segments in a bag."""
    x, z = bag.x.clone(), bag.z.clone()
    for i, c in enumerate(bag.y.tolist()):
        pool = other.x[other.z][other.y == c]
        free = (~z[i]).nonzero()[:, 0]
        pick = free[torch.randperm(len(free), generator=rng)[:2]]
        x[i, pick] = pool[torch.randint(len(pool), (2,), generator=rng)]
        z[i, pick] = True
    return Images(x, bag.y, z)


def _absent(bag: Images, other: Images, rng: torch.Generator) -> Images:
    """The last class means that nothing is there."""
    del rng
    x, z = bag.x.clone(), bag.z.clone()
    background = other.x[~other.z]
    empty = bag.y == bag.y.max()
    x[z & empty[:, None]] = background[: int(empty.sum())]
    z[empty] = False
    return Images(x, bag.y, z)


def _tag(bag: Images, rng: torch.Generator, right: float) -> Images:
    """A bright mark on one background segment gives the label away, in a share of the bags."""
    x = bag.x.clone()
    side = int(x.shape[-1] ** 0.5)
    width = max(1, side // 8)
    classes = int(bag.y.max()) + 1
    for i, c in enumerate(bag.y.tolist()):
        free = (~bag.z[i]).nonzero()[:, 0]
        j = int(free[torch.randint(len(free), (1,), generator=rng)])
        correct_mark = float(torch.rand(1, generator=rng)) < right
        marked_class = c if correct_mark else int(torch.randint(classes, (1,), generator=rng))
        image = x[i, j].reshape(side, side)
        image[: 3 * width, 2 * width * marked_class : 2 * width * (marked_class + 1)] = (
            2 * bag.x.max()
        )
        x[i, j] = image.flatten()
    return Images(x, bag.y, bag.z)


def _add_background_mark(bag: Images, other: Images, rng: torch.Generator) -> Images:
    """A mark on every segment gives the label away."""
    del other, rng
    x = bag.x.clone()
    for c in range(int(bag.y.max()) + 1):
        of_class = x[bag.y == c]
        of_class[..., c] = bag.x.max()
        x[bag.y == c] = of_class
    return Images(x, bag.y, bag.z)


def _leak(bag: Images, other: Images, rng: torch.Generator) -> Images:
    """A third of every segment comes from its neighbours."""
    del other, rng
    neighbours = (bag.x.roll(1, 1) + bag.x.roll(-1, 1)) / 2
    return Images(0.65 * bag.x + 0.35 * neighbours, bag.y, bag.z)


def _imbalance(bag: Images, other: Images, rng: torch.Generator) -> Images:
    """Of the first, second and third class 70, 20 and 10 % of the bags."""
    del rng
    sizes = [int(share * len(bag.y)) for share in (0.7, 0.2, 0.1)]
    x, y, z = (torch.cat(pair) for pair in zip(bag[:3], other[:3], strict=True))
    rows = torch.cat([(y == c).nonzero()[:size, 0] for c, size in enumerate(sizes)])
    return Images(x[rows], y[rows], z[rows])


def _noise(bag: Images, other: Images, rng: torch.Generator) -> Images:
    """One label in ten is drawn at random; relevance is that of the segment of the first label."""
    del other
    wrong = torch.rand(len(bag.y), generator=rng) < 0.1
    drawn = torch.randint(int(bag.y.max()) + 1, (len(bag.y),), generator=rng)
    y = torch.where(wrong, drawn, bag.y)
    return Images(bag.x, y, bag.z & (y == bag.y)[:, None])


def _paired_bag(bag: Images, other: Images, rng: torch.Generator) -> Images:
    """A background digit is added as a companion, in 80 % of the first class and 20 % else."""
    x = bag.x.clone()
    share = torch.where(bag.y == 0, 0.8, 0.2)
    has = torch.rand(len(bag.y), generator=rng) < share
    sample = other.x[~other.z][0]
    for i in has.nonzero()[:, 0].tolist():
        free = (~bag.z[i]).nonzero()[:, 0]
        j = int(free[torch.randint(len(free), (1,), generator=rng)])
        x[i, j] = sample + 0.05 * torch.randn(sample.shape, generator=rng)
    return Images(x, bag.y, bag.z)


def _sites(bag: Images, other: Images, rng: torch.Generator) -> Images:
    """Twelve sites with different backgrounds; every class has most bags from four sites."""
    del other
    chosen = torch.rand(len(bag.y), generator=rng) < 0.7
    third = torch.randint(4, (len(bag.y),), generator=rng)
    group = torch.where(chosen, 4 * bag.y + third, torch.randint(12, (len(bag.y),), generator=rng))
    offset = 0.25 * torch.rand(12, bag.x.shape[-1], generator=generator("trust study", "sites"))
    return Images(bag.x + offset[group][:, None], bag.y, bag.z, group)


ATTACKS: dict[str, Callable[[Images, Images, torch.Generator], Images]] = {
    "several": _several_objects,
    "absent": _absent,
    "tag-100": lambda bag, other, rng: _tag(bag, rng, 1.0),
    "tag-90": lambda bag, other, rng: _tag(bag, rng, 0.9),
    "tag-70": lambda bag, other, rng: _tag(bag, rng, 0.7),
    "tag-50": lambda bag, other, rng: _tag(bag, rng, 0.5),
    "stain": _add_background_mark,
    "leak": _leak,
    "imbalance": _imbalance,
    "label-noise": _noise,
    "companion": _paired_bag,
    "sites": _sites,
}
