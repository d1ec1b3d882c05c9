"""Bags of unequal lengths, drawn at random."""

import torch

from foveate.bags.bag import pad
from foveate.randomness import generator

__all__ = ["random_bag"]


def random_bag(n=6, m=5, d=3, seed=0, classes=3):
    rng = generator("bags", seed)
    rows = [
        torch.randn(
            int(torch.randint(1, m + 1, (), generator=rng)),
            d,
            generator=rng,
            dtype=torch.float64,
        )
        for _ in range(n)
    ]
    return pad(rows, torch.arange(n) % classes)
