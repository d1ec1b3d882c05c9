"""Question (e): is attention stable, over seeds, folds and the last epochs?"""

from dataclasses import dataclass

import numpy as np

from foveate.types import Array

__all__ = ["Stability", "stability"]

BOTH = 0.5  # a from which on a top segment counts as evidence


@dataclass(frozen=True)
class Stability:
    """How alike models attend on the bags of one class.

    Args:
        seeds: Share of pairs of models and bags with the same top segment, or both tops evidence;
            nan with one model.
        same_top: Share with the same top segment.
        epochs: The same agreement between each model and its state some epochs before; nan where
            that is not known.
        spread: Largest minus smallest estimated FT of a model; nan with one model.
        models: Number of models.
    """

    seeds: float
    same_top: float
    epochs: float
    spread: float
    models: int


def stability(
    top: Array, a: Array, of: Array, members: Array, before: Array | None = None
) -> Stability:
    """How alike models attend on bags that they share.

    Args:
        top: The most attended segment of each bag, shape (S, k).
        a: Probability that it is evidence, shape (S, k).
        of: Which bags are of the class, boolean, shape (k,).
        members: Estimated FT of each model, shape (S,).
        before: Top segments some epochs before the end, shape (S, k).

    Example:
        >>> top, a = np.array([[0, 1], [0, 2]]), np.array([[1.0, 0.9], [1.0, 0.0]])
        >>> stability(top, a, np.array([True, True]), a.mean(1)).seeds
        0.5
    """
    nan = float("nan")
    top, a = top[:, of], a[:, of]
    size = len(top)
    if size < 2 or not of.any():
        alike = same = spread = nan
    else:
        pairs = [(i, j) for i in range(size) for j in range(i)]
        equal = np.array([(top[i] == top[j]).mean() for i, j in pairs])
        both = [((a[i] >= BOTH) & (a[j] >= BOTH)) | (top[i] == top[j]) for i, j in pairs]
        same, alike = float(equal.mean()), float(np.mean([part.mean() for part in both]))
        spread = float(np.nanmax(members) - np.nanmin(members))
    epochs = nan if before is None or not of.any() else float((top == before[:, of]).mean())
    return Stability(alike, same, epochs, spread, size)
