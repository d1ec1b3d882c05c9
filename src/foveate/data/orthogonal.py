"""The linear-orthogonal setting, whose learning dynamics have closed forms. [vr23] Sec. 4"""

from functools import partial

import torch
from torch import Tensor

from foveate.data import DATASETS, Dataset, Recipe
from foveate.data.sdc import BACKGROUND, sdc_dataset
from foveate.errors import FoveateError

__all__ = ["BACKGROUND_VARIANCE", "linear_orthogonal", "orthogonal", "points"]

# The text writes N(0, .01) and does not say of what; the released code passes .01 as the variance.
BACKGROUND_VARIANCE = 0.01


def points(classes: int, kind: Tensor, generator: torch.Generator) -> Tensor:
    r"""Base points: :math:`e_y` for class y, :math:`\epsilon e_{C+1}` for background.

    Args:
        classes: Number of classes C.
        kind: −1 for background or a foreground class, shape (N,).
        generator: Source of random numbers; ε ~ N(0, .01).

    Returns:
        Points, shape (N, C + 1). The released code blurs the foreground by a variance of 1e-10;
        here it is exact, as Assumption 1 has it. [vr23] Sec. 4
    """
    noise = BACKGROUND_VARIANCE**0.5 * torch.randn(len(kind), generator=generator)
    axes = torch.eye(classes + 1)[kind]  # a kind of −1 reads the last axis
    return torch.where(kind == BACKGROUND, noise, 1.0)[:, None] * axes


def linear_orthogonal(classes: int = 20, m: int = 20) -> Dataset:
    """The setting with C classes and m segments; d = C + 1. [vr23] Sec. 4

    Args:
        classes: Number of classes C.
        m: Segments per bag by default.

    Example:
        >>> bag = linear_orthogonal(classes=3).load("train", n=5, m=2, seed=0)
        >>> bag.segment_shape
        (4,)
    """
    if classes < 2:
        raise FoveateError(f"the linear-orthogonal setting needs 2 classes or more, got {classes}")
    return sdc_dataset(
        "orthogonal",
        partial(points, classes),
        about=f"{classes} orthogonal unit vectors against noise on a separate axis",
        classes=tuple(f"axis {k}" for k in range(classes)),
        recipe=Recipe(
            m=m,
            n=5000,  # [vr23] released code
            n_test=1000,  # the released code has no test bags
            net="linear",
            epochs=100,
            batch=256,
            lr=0.05,  # [vr23] released code for soft and marginal likelihood; hard .01
            optimizer="sgd",
        ),
    )


@DATASETS.register("orthogonal")
def orthogonal() -> Dataset:
    """The published sizes, C = m = 20. [vr23] Fig. 2"""
    return linear_orthogonal()
