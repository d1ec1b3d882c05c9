"""Ranks of segments within their bags, with ties averaged and padding excluded."""

import numpy as np

from foveate.types import Array

__all__ = ["from_the_top", "ranks", "spearman"]


def ranks(values: Array, mask: Array | None = None) -> Array:
    """Ranks 1 (lowest) … m_i of each row; equal values share their average rank, padding has 0.

    Args:
        values: Shape (…, m).
        mask: True where a segment exists, shape (…, m).

    Example:
        >>> ranks(np.array([3.0, 1.0, 3.0]))
        array([2.5, 1. , 2.5])
    """
    valid = np.ones(values.shape, bool) if mask is None else np.broadcast_to(mask, values.shape)
    masked = np.where(valid, values, np.inf)
    order = np.argsort(masked, -1)
    ordered = np.take_along_axis(masked, order, -1)
    position = np.arange(values.shape[-1])
    new = np.ones(values.shape, bool)
    new[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    last = np.roll(new, -1, -1)
    last[..., -1] = True
    first = np.maximum.accumulate(np.where(new, position, 0), -1)
    end = np.minimum.accumulate(np.where(last, position, position[-1])[..., ::-1], -1)[..., ::-1]
    result = np.empty(values.shape)
    np.put_along_axis(result, order, (first + end) / 2 + 1, -1)
    return np.where(valid, result, 0.0)


def spearman(u: Array, v: Array, mask: Array | None = None) -> Array:
    """Spearman's rank correlation of each row, nan where u or v is constant, (…, m) → (…).

    Example:
        >>> float(spearman(np.array([1.0, 2.0, 3.0]), np.array([5.0, 6.0, 9.0])).round(6))
        1.0
    """
    valid = np.ones(u.shape, bool) if mask is None else np.broadcast_to(mask, u.shape)
    middle = (valid.sum(-1, keepdims=True) + 1) / 2
    a, b = (np.where(valid, ranks(x, valid) - middle, 0.0) for x in (u, v))
    spread = np.sqrt((a * a).sum(-1) * (b * b).sum(-1))
    return np.divide((a * b).sum(-1), spread, out=np.full(spread.shape, np.nan), where=spread > 0)


def from_the_top(values: Array, tie: Array, mask: Array | None = None) -> Array:
    """Positions from the highest value to the lowest, ties broken by ``tie``; padding last.

    Args:
        values: Shape (…, m).
        tie: Shape (…, m).
        mask: True where a segment exists, shape (…, m).

    Returns:
        Positions, shape (…, m).
    """
    valid = np.ones(values.shape, bool) if mask is None else np.broadcast_to(mask, values.shape)
    return np.lexsort((-tie, np.where(valid, -values, np.inf)), axis=-1)
