"""Gaussian clusters in the plane: three of them foreground, seven background. [pvr22] appendix"""

import torch
from torch import Tensor

from foveate.data import DATASETS, Dataset, Recipe
from foveate.data.sdc import BACKGROUND, sdc_dataset

__all__ = ["BACKGROUND_MEANS", "FOREGROUND_MEANS", "VARIANCE", "gaussians", "points"]

FOREGROUND_MEANS = ((4.0, 6.5), (5.5, 6.0), (4.5, 4.5))
BACKGROUND_MEANS = (
    (3.0, 3.5),
    (2.5, 5.5),
    (3.5, 8.0),
    (5.5, 8.0),
    (7.0, 6.5),
    (6.5, 4.5),
    (5.0, 3.0),
)
VARIANCE = 0.01  # every covariance is VARIANCE · I


def points(kind: Tensor, generator: torch.Generator) -> Tensor:
    """Base points, one per kind; the background is the even mixture of its clusters.

    Args:
        kind: −1 for background or a foreground class, shape (N,).
        generator: Source of random numbers.

    Returns:
        Points of the plane, shape (N, 2). [pvr22] appendix
    """
    k = len(FOREGROUND_MEANS)
    other = torch.randint(len(BACKGROUND_MEANS), kind.shape, generator=generator)
    means = torch.tensor(FOREGROUND_MEANS + BACKGROUND_MEANS)
    mean = means[torch.where(kind == BACKGROUND, k + other, kind)]
    return mean + VARIANCE**0.5 * torch.randn(mean.shape, generator=generator)


@DATASETS.register("gaussians")
def gaussians() -> Dataset:
    """The synthetic set of the sparsity comparison. [pvr22] appendix"""
    return sdc_dataset(
        "gaussians",
        points,
        about="ten Gaussian clusters in the plane, three of them foreground",
        classes=tuple(f"class {k}" for k in range(len(FOREGROUND_MEANS))),
        recipe=Recipe(
            m=9,
            n=3000,
            n_test=3000,
            net="gaussians",
            epochs=2500,  # [pvr22] released scripts, as the next three
            batch=250,
            lr=1e-3,
            stop_below=0.01,
        ),
    )
