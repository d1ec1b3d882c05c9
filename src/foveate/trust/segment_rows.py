"""Segments of bags as rows of one table."""

from typing import NamedTuple

import numpy as np
import torch

from foveate.bags.bag import Bag
from foveate.types import Array

__all__ = ["Rows", "rows_of"]


class Rows(NamedTuple):
    """The segments of bags, one row each.

    Args:
        x: Features, shape (N, d); word ids, shape (N,), where segments are words.
        bag: Which bag each row belongs to, shape (N,).
        weight: One over the number of rows of its bag, shape (N,).
    """

    x: Array
    bag: Array
    weight: Array

    @property
    def words(self) -> bool:
        """Whether segments are word ids."""
        return self.x.ndim == 1


def rows_of(bag: Bag) -> Rows:
    """The segments of bags as rows.

    Example:
        >>> rows_of(Bag(torch.ones(2, 3, 4), torch.tensor([0, 1]))).bag.tolist()
        [0, 0, 0, 1, 1, 1]
    """
    n, m = bag.shape
    mask = np.ones((n, m), bool) if bag.mask is None else bag.mask.numpy()
    index = np.broadcast_to(np.arange(n)[:, None], (n, m))[mask]
    values = bag.dense()[torch.from_numpy(mask)]
    floating = values.is_floating_point()
    x = values.flatten(1).numpy().astype(np.float32) if floating or values.dim() > 1 else None
    weight = (1.0 / mask.sum(1))[index]
    return Rows(values.numpy() if x is None else x, index, weight)
