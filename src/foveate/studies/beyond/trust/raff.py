"""Three unit tests of multiple-instance models (Raff & Holt, NeurIPS 2023), as their text has them.

Positive bags hold segments of the concepts. In the first two, negative training bags hold a poison
that no positive one has, and the test swaps it; in the third, one concept alone is repeated. Models
are examined on bags like the training bags; the swapped bags show whether they broke.
"""

import torch
from torch import Tensor

from foveate.bags.bag import Bag, pad
from foveate.randomness import generator

__all__ = ["KINDS", "unit_test"]

KINDS = ("single", "multi", "frequency")
WIDTH = 8


def unit_test(kind: str, n: int, seed: int, *, swapped: bool = False, more: int = 0) -> Bag:
    """Bags of one unit test; half of them are positive.

    Args:
        kind: A name in :data:`KINDS`.
        n: Number of bags.
        seed: Decides the bags.
        swapped: Whether they are drawn as in the test that breaks models.
        more: Further background segments of each bag, which the original does not have.
    """
    rng = generator("unit test", kind, swapped, seed, *([more] if more else []))
    y = torch.arange(n) % 2
    bags = [_bag(kind, bool(label), swapped, more, rng) for label in y]
    return pad([x for x, _ in bags], y, [z for _, z in bags])


def _bag(
    kind: str, positive: bool, swapped: bool, more: int, rng: torch.Generator
) -> tuple[Tensor, Tensor]:
    count = 1 + int(torch.randint(3, (1,), generator=rng))
    parts: list[Tensor] = []
    evidence = 0
    if kind == "single":
        if positive:
            wide = torch.rand(count, 1, generator=rng) < 0.5
            drawn = torch.randn(count, WIDTH, generator=rng)
            parts, evidence = [torch.where(wide, 3 * drawn, 1 + drawn)], count
    elif positive:
        pairs = count if kind == "multi" else 1
        parts = [_near(2.0, pairs, rng), _near(3.0, pairs, rng)]
        evidence = 2 * pairs
    else:
        many = 35 + int(torch.randint(10, (1,), generator=rng)) if swapped else 1
        centre = 2.0 + float(kind == "multi") * float(torch.randint(2, (1,), generator=rng))
        parts = [_near(centre, many if kind == "frequency" else 1, rng)]
    if kind != "frequency" and positive == swapped:
        parts.append(_near(-10.0, 1, rng))
    background = 10 if kind == "single" else 1 + int(torch.randint(9, (1,), generator=rng))
    parts.append(torch.randn(background + more, WIDTH, generator=rng))
    x = torch.cat(parts)
    return x, (torch.arange(len(x)) < evidence) & positive


def _near(centre: float, count: int, rng: torch.Generator) -> Tensor:
    return centre + 0.1 * torch.randn(count, WIDTH, generator=rng)
