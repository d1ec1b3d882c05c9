"""Selective dependence classification: one segment decides the label. [pvr22] Algorithm 1"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from foveate.bags.bag import Bag
from foveate.data import Dataset, Recipe, Split, check_sizes
from foveate.randomness import generator

__all__ = ["BACKGROUND", "Draw", "sdc", "sdc_dataset"]

BACKGROUND = -1

Draw = Callable[[Tensor, torch.Generator], Tensor]
"""From kinds (N,), −1 background or 0 … k−1 a foreground class, to one base row each, (N, *)."""


def sdc(
    draw: Draw,
    *,
    classes: int,
    n: int,
    m: int,
    generator: torch.Generator,
    shares: Sequence[float] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Mosaics by Algorithm 1: i* ~ U(m), y ~ U(k), x_{i*} ~ D_y, every other x_i ~ D_0.

    Args:
        draw: The base distributions: kinds (N,) to points (N, *), or to indices of a bank (N,).
        classes: Number of foreground classes k.
        n: Number of mosaics.
        m: Segments per mosaic.
        generator: Source of random numbers.
        shares: Class probabilities; uniform if None.

    Returns:
        Rows of ``draw``, shape (n, m, *); labels y (n,); relevance z (n, m). [pvr22] Sec. 3.1

    Example:
        >>> kinds, y, z = sdc(lambda kind, _: kind, classes=3, n=2, m=4, generator=generator(0))
        >>> bool((kinds[z] == y).all() and (kinds[~z] == BACKGROUND).all())
        True
    """
    check_sizes(m, n)
    position = torch.randint(m, (n,), generator=generator)
    if shares is None:
        y = torch.randint(classes, (n,), generator=generator)
    else:
        y = torch.multinomial(torch.tensor(shares), n, replacement=True, generator=generator)
    z = torch.arange(m) == position[:, None]
    kind = torch.where(z, y[:, None], BACKGROUND)
    return draw(kind.flatten(), generator).unflatten(0, (n, m)), y, z


def sdc_dataset(
    name: str, draw: Draw, *, about: str, classes: tuple[str, ...], recipe: Recipe
) -> Dataset:
    """A data set whose segments are points of ``draw``, fresh ones for every split and seed."""

    def load(split: Split, *, n: int, m: int, seed: int) -> Bag:
        stream = generator(name, split, seed)
        return Bag(*sdc(draw, classes=len(classes), n=n, m=m, generator=stream))

    return Dataset(name, about, classes, load, recipe)
