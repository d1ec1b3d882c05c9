"""Three mosaics in the plane that attention solves while focusing on the wrong segment.

[pvr22] Sec. 4. The boxes and sizes are those of the released scripts, which draw 3,000 mosaics
from 2,100 or fewer base points; here every segment is a fresh draw. The text says 200 mosaics.
"""

from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from foveate.data import DATASETS, Dataset, Recipe
from foveate.data.sdc import sdc_dataset

__all__ = ["MODE_1", "MODE_2", "MODE_3", "Box", "Boxes", "mode_1", "mode_2", "mode_3", "points"]


class Box(NamedTuple):
    """A uniform distribution on [left, right] × [low, high]."""

    left: float
    right: float
    low: float
    high: float


class Boxes(NamedTuple):
    """Base distributions: one box per foreground class, and one of the background."""

    foreground: tuple[Box, ...]
    background: Box


MODE_1 = Boxes((Box(5, 6, 2, 4), Box(5, 6, -5, -3), Box(8, 9, -2, 0)), Box(1, 2, -1, 5))
MODE_2 = Boxes((Box(5, 6, 2, 4), Box(5, 6, -5, -3), Box(-3, -2, -2, 0)), Box(1, 2, -8, 5))
MODE_3 = Boxes(
    tuple(Box(1.5, 1.6, a, a + 0.1) for a in (7, 5, 3, 1, -1, -3)), Box(2.1, 2.2, 2.0, 2.1)
)


def points(boxes: Boxes, kind: Tensor, generator: torch.Generator) -> Tensor:
    """Uniform base points, one per kind.

    Args:
        boxes: The base distributions.
        kind: −1 for background or a foreground class, shape (N,).
        generator: Source of random numbers.

    Returns:
        Points of the plane, shape (N, 2). [pvr22] Sec. 4
    """
    # A kind of −1 reads the last row, the background.
    left, right, low, high = torch.tensor([*boxes.foreground, boxes.background])[kind].unbind(1)
    corner, size = torch.stack([left, low], 1), torch.stack([right - left, high - low], 1)
    return corner + size * torch.rand(len(kind), 2, generator=generator)


def _dataset(number: int, boxes: Boxes, about: str, recipe: Recipe) -> Dataset:
    classes = tuple(f"class {k}" for k in range(len(boxes.foreground)))
    name = f"error-mode-{number}"
    return sdc_dataset(name, partial(points, boxes), about=about, classes=classes, recipe=recipe)


LINEAR = Recipe(  # [pvr22] released scripts of modes 1 and 2
    m=9, n=3000, n_test=1000, net="linear", epochs=100, batch=250, lr=0.01, optimizer="sgd"
)
DEEP = Recipe(  # [pvr22] released script of mode 3
    m=9, n=3000, n_test=1000, net="mode3", epochs=150, batch=250, lr=0.01, optimizer="adam"
)


@DATASETS.register("error-mode-1")
def mode_1() -> Dataset:
    """A good linear focus exists, but training need not find it. [pvr22] Sec. 4.1"""
    return _dataset(1, MODE_1, "boxes in the plane; a wrong linear focus is as accurate", LINEAR)


@DATASETS.register("error-mode-2")
def mode_2() -> Dataset:
    """No linear focus is right, yet a linear pair is accurate. [pvr22] Sec. 4.2"""
    return _dataset(2, MODE_2, "boxes in the plane; no linear focus is right", LINEAR)


@DATASETS.register("error-mode-3")
def mode_3() -> Dataset:
    """The classifier reads the plain average, so the focus need not move. [pvr22] Sec. 4.3"""
    return _dataset(3, MODE_3, "small boxes in the plane; a flat focus is enough", DEEP)
