"""MNIST-bags: is there a nine among these digits? The standard task of multiple-instance learning.

Ilse, Tomczak and Welling, Attention-based Deep Multiple Instance Learning, ICML 2018, Sec. 4.2.
"""

import torch
from torch import Tensor

from foveate.bags.bag import Bag
from foveate.bags.segments import Mosaics
from foveate.data import DATASETS, Dataset, Recipe, Split, check_sizes
from foveate.data.digits import read_digits
from foveate.data.files.bank import Bank
from foveate.data.files.hub import locate
from foveate.data.image_mosaics import Source, read_split
from foveate.errors import FoveateError
from foveate.randomness import generator

__all__ = ["bags_with", "digits_bags", "mnist_bags"]

NINE = 9
SPREAD = 0.2  # of the mean size: the paper's pairs are 10 and 2, 50 and 10, 100 and 20


def bags_with(bank: Bank, target: int, *, n: int, m: int, generator: torch.Generator) -> Bag:
    """Bags of images, half of them with a target among them; z marks the targets.

    Sizes are drawn from a normal distribution, to the nearest integer, at least 1 and at most
    2m (five standard deviations), so that all sets are equally wide. A positive bag is one of
    images drawn evenly, drawn again until it has a target; a negative one is drawn evenly from the
    other images. The authors' balanced loader does the same, except that it draws the size again
    too, which makes positive bags longer, so that the size tells something of the label; and that
    it cuts off the decimals, where the paper rounds.

    Args:
        bank: The base images of one split; the bags share its tensor.
        target: The label that makes a bag positive.
        n: Number of bags; if odd, one more is negative.
        m: Mean size of a bag.
        generator: Source of random numbers.
    """
    check_sizes(m, n)
    is_target = bank.y == target
    other_rows = (~is_target).nonzero().squeeze(1)
    if not len(other_rows) or len(other_rows) == len(bank.y):
        raise FoveateError(f"bags need images of the label {target} and others, got one kind only")
    size = (torch.randn(n, generator=generator) * SPREAD * m + m).round().clamp(1, 2 * m)
    mask = torch.arange(2 * m) < size[:, None]
    y = torch.randperm(n, generator=generator) % 2
    index = other_rows[_rows(len(other_rows), mask.shape, generator)]
    without = y.nonzero().squeeze(1)  # positive bags that have no target yet
    while len(without):
        index[without] = _rows(len(bank.y), (len(without), mask.shape[1]), generator)
        has_target = (is_target[index[without]] & mask[without]).any(1)
        without = without[~has_target]
    index = torch.where(mask, index, 0)
    return Bag(Mosaics(bank.x, index), y, is_target[index] & mask, mask)


def _rows(count: int, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    return torch.randint(count, shape, generator=generator)


def _dataset(name: str, source: Source, about: str) -> Dataset:
    def load(split: Split, *, n: int, m: int, seed: int) -> Bag:
        stream = generator(name, split, seed)
        return bags_with(source(split, seed), NINE, n=n, m=m, generator=stream)

    return Dataset(
        name,
        about,
        ("no nine", "a nine"),
        load,
        Recipe(m=10, n=500, n_test=1000, net="mlp", epochs=60, batch=32, lr=1e-3),
    )


@DATASETS.register("mnist-bags")
def mnist_bags() -> Dataset:
    """Bags of about ten MNIST digits, positive if one is a nine, on MNIST's split."""
    return _dataset(
        "mnist-bags",
        lambda split, seed: read_split(locate("mnist", "ylecun/mnist"), split, seed),
        "bags of about 10 MNIST digits; positive if a nine is among them (Ilse et al. 2018)",
    )


@DATASETS.register("digits-bags")
def digits_bags() -> Dataset:
    """The same task on scikit-learn's 8×8 digits, which need no files and no network."""
    return _dataset(
        "digits-bags",
        read_digits,
        "bags of about 10 8×8 digits; positive if a nine is among them (no files needed)",
    )
