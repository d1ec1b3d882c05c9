"""Segments of a bag as numbers, pooled to one row: what classifiers without attention read."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from foveate.bags.bag import Bag
from foveate.bags.mapped import note_read
from foveate.bags.segments import as_input
from foveate.text.tokens import MARKS
from foveate.types import Array
from foveate.userdata.prepare import Preparation

__all__ = ["pool_rows", "pooled", "segment_features", "segment_shares", "word_shares"]


def pooled(bag: Bag, preparation: Preparation, kinds: Sequence[str]) -> Array:
    """Mean, maximum or minimum of the segments of each bag, side by side, shape (n, K d).

    Of texts, the mean is the share of each known word and the maximum its presence.

    Args:
        bag: Prepared bags.
        preparation: How they were prepared.
        kinds: K of "mean", "max" and "min".
    """
    result = []
    for row in range(len(bag)):
        rows = torch.from_numpy(segment_features(bag, row, preparation))
        result.append(pool_rows(rows, kinds).numpy())
        note_read(bag.bank, len(rows))
    return np.stack(result) if result else np.zeros((0, 0))


def pool_rows(rows: Tensor, kinds: Sequence[str]) -> Tensor:
    """Mean, maximum or minimum of rows (m, d), side by side, shape (K d,).

    Example:
        >>> pool_rows(torch.tensor([[1.0, 5.0], [3.0, 1.0]]), ("mean", "max")).tolist()
        [2.0, 3.0, 3.0, 5.0]
    """
    pool: dict[str, Callable[[int], Tensor]] = {
        "mean": rows.mean,
        "max": rows.amax,
        "min": rows.amin,
    }
    return torch.cat([pool[kind](0) for kind in kinds])


def segment_shares(rows: Tensor, kinds: Sequence[str]) -> Tensor:
    """The share of every segment in each pooled number, shape (m, K d); their sum is the number.

    A mean has equal parts of all segments; a maximum or minimum is that of the segment that has it,
    in equal parts where several have.

    Args:
        rows: Segments, shape (m, d).
        kinds: K of "mean", "max" and "min".

    Example:
        >>> segment_shares(torch.tensor([[1.0], [3.0]]), ("mean", "max")).tolist()
        [[0.5, 0.0], [1.5, 3.0]]
    """
    parts = []
    for kind in kinds:
        if kind == "mean":
            parts.append(rows / rows.shape[0])
            continue
        extreme = (rows == pool_rows(rows, (kind,))).to(rows.dtype)
        parts.append(rows * extreme / extreme.sum(0))
    return torch.cat(parts, 1)


def segment_features(bag: Bag, row: int, preparation: Preparation) -> Array:
    """Segments of one bag as rows of numbers (m, d), without the null segment.

    Of texts, the numbers are the shares of all known words.
    """
    rows = bag.bank[bag.index[row]]
    if bag.mask is not None:
        rows = rows[bag.mask[row]]
    rows = rows[int(preparation.null) :]
    if preparation.vocabulary is None:
        values: Array = as_input(rows).flatten(1).double().numpy()
        return values
    shares: Array = word_shares(rows.flatten(1), len(preparation.vocabulary)).numpy()
    return shares


def word_shares(ids: Tensor, words: int) -> Tensor:
    """The share of each word in texts of word ids (m, length), without marks, shape (m, words)."""
    counts = torch.zeros(ids.shape[0], words, dtype=torch.float64)
    counts = counts.scatter_add(1, ids, torch.ones_like(ids, dtype=torch.float64))
    known = (torch.arange(words) >= len(MARKS)).double()
    counts = counts * known
    return counts / counts.sum(1, keepdim=True).clamp_min(1)
