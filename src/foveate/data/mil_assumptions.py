"""Unit tests of the multiple-instance assumption: bags with a misleading segment.

Raff and Holt, Reproducibility in Multiple Instance Learning: A Case For Algorithmic Unit Tests,
NeurIPS 2023, Algorithms 1 to 3. Segments are vectors of D numbers. A bag is positive because of the
concepts in it; the training bags contain a simpler clue for the *negative* class, which the
assumption does not permit a model to use, and which is reversed in the test bags. A model that uses
it has an AUC below one half there.
"""

from typing import Literal, NamedTuple

import torch
from torch import Tensor

from foveate.bags.bag import Bag
from foveate.data import DATASETS, Dataset, Recipe, Split, check_sizes
from foveate.randomness import generator

__all__ = ["KINDS", "Kind", "mil_bags", "mil_frequency", "mil_multi_concept", "mil_single_concept"]

Kind = Literal["single-concept", "multi-concept", "frequency"]
KINDS: tuple[Kind, ...] = ("single-concept", "multi-concept", "frequency")
WIDTH = 16  # numbers of a segment, D
BACKGROUND, FIRST, SECOND, POISON, PADDING = range(5)
REPEATED = (35, 44)  # segments of one concept in a negative test bag of the frequency test


class _Concepts(NamedTuple):
    """Mean and standard deviation of the two concepts."""

    mean: tuple[float, float]
    scale: tuple[float, float]


CONCEPTS = {
    "single-concept": _Concepts((0.0, 1.0), (3.0, 1.0)),
    "multi-concept": _Concepts((2.0, 3.0), (0.1, 0.1)),
    "frequency": _Concepts((2.0, 3.0), (0.1, 0.1)),
}


def mil_bags(kind: Kind, *, n: int, m: int, reversed: bool, generator: torch.Generator) -> Bag:
    """Bags of one of the three tests; z marks the segments of the concepts.

    - *single-concept* (Alg. 1): positive bags have 1 to 3 segments of either concept, negative bags
      none; all have m background segments. The clue is a poison segment.
    - *multi-concept* (Alg. 2): positive bags have 1 to 3 segments of each concept, negative bags
      one segment of one concept; 1 to m background segments. The clue is a poison segment.
    - *frequency* (Alg. 3): positive bags have one segment of each concept, negative bags of one
      concept only; 1 to m background segments. The clue is how often a concept occurs: in reversed
      sets 35 to 44 times in the negative bags.

    Poison is in the negative bags, or in reversed sets in the positive ones.

    Args:
        kind: Which of the tests.
        n: Number of bags; if odd, one more is negative.
        m: Most background segments of a bag.
        reversed: Whether the clue is reversed, as in test bags.
        generator: The source of all randomness.

    Example:
        >>> bag = mil_bags("single-concept", n=4, m=3, reversed=False, generator=torch.Generator())
        >>> bag.shape, bag.segment_shape
        ((4, 7), (16,))
    """
    check_sizes(m, n)
    y = torch.randperm(n, generator=generator) % 2
    counts = _counts(kind, y, m, reversed, generator)
    width = m + _most(kind, reversed)
    concepts = _shuffled_kinds(counts, width, generator)
    mean, scale = _moments(kind)
    noise = torch.randn(n, width, WIDTH, generator=generator)
    x = mean[concepts][..., None] + scale[concepts][..., None] * noise
    concept = (concepts == FIRST) | (concepts == SECOND)
    return Bag(x, y, concept, concepts != PADDING)


def _counts(kind: Kind, y: Tensor, m: int, reversed: bool, generator: torch.Generator) -> Tensor:
    """How many segments of background, both concepts and poison each bag has, shape (n, 4)."""
    n, positive = len(y), y == 1

    def draw(low: int, high: int) -> Tensor:
        return torch.randint(low, high + 1, (n,), generator=generator)

    background, either = draw(1, m), draw(0, 1)  # the same draws for every kind
    reveals_label = (positive == reversed).long()
    if kind == "single-concept":
        total = draw(1, 3)
        share = torch.stack([draw(0, 1) for _ in range(3)], 1)
        first = (share * (torch.arange(3) < total[:, None])).sum(1)
        concepts = torch.stack([first, total - first], 1) * positive[:, None]
        return torch.cat([torch.full((n, 1), m), concepts, reveals_label[:, None]], 1)
    if kind == "multi-concept":
        several, one, poison = draw(1, 3), torch.ones_like(y), reveals_label
    else:
        several, poison = torch.ones_like(y), torch.zeros_like(y)
        one = draw(*REPEATED) if reversed else torch.ones_like(y)
    only = torch.stack([one * (1 - either), one * either], 1)
    concepts = torch.where(positive[:, None], several[:, None].expand(-1, 2), only)
    return torch.cat([background[:, None], concepts, poison[:, None]], 1)


def _most(kind: Kind, reversed: bool) -> int:
    """The largest number of segments of concepts and poison in a bag."""
    if kind == "frequency":
        return REPEATED[1] if reversed else 2
    return 4 if kind == "single-concept" else 7


def _shuffled_kinds(counts: Tensor, width: int, generator: torch.Generator) -> Tensor:
    """The kind of every segment in random order, padding last, shape (n, width)."""
    ends = counts.cumsum(1)
    columns = torch.arange(width)
    kinds = (columns[None, :, None] >= ends[:, None, :]).sum(2)  # PADDING after the last
    key = torch.rand(kinds.shape, generator=generator) + (kinds == PADDING)
    return kinds.gather(1, key.argsort(1))


def _moments(kind: Kind) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of every kind of segment, in the order of the constants."""
    concepts = CONCEPTS[kind]
    mean = torch.tensor([0.0, *concepts.mean, -10.0, 0.0])
    return mean, torch.tensor([1.0, *concepts.scale, 0.1, 1.0])


def _dataset(kind: Kind, about: str) -> Dataset:
    name = f"mil-{kind}"

    def load(split: Split, *, n: int, m: int, seed: int) -> Bag:
        stream = generator(name, split, seed)
        return mil_bags(kind, n=n, m=m, reversed=split == "test", generator=stream)

    recipe = Recipe(m=9, n=500, n_test=500, net="mlp", epochs=40, batch=50, lr=3e-3)
    return Dataset(name, about, ("negative", "positive"), load, recipe)


@DATASETS.register("mil-single-concept")
def mil_single_concept() -> Dataset:
    """Positive if a concept is present; a poison segment is reversed in test bags."""
    return _dataset("single-concept", "MIL unit test: a concept is present (Raff & Holt 2023, 1)")


@DATASETS.register("mil-multi-concept")
def mil_multi_concept() -> Dataset:
    """Positive if both concepts are present; a poison segment is reversed in test bags."""
    return _dataset("multi-concept", "MIL unit test: both concepts present (Raff & Holt 2023, 2)")


@DATASETS.register("mil-frequency")
def mil_frequency() -> Dataset:
    """Positive if both concepts are present; in test bags one concept is frequent in negatives."""
    return _dataset("frequency", "MIL unit test: presence, not frequency (Raff & Holt 2023, 3)")
