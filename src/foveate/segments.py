"""Segments, dense or shared: what models and paradigms do with the contents of bags.

Segments come as a tensor ``(B, m, *)`` or as :class:`Mosaics`, where many bags are cut from one
bank and a row of the bank is stored, and sent through a network, once however many bags hold it.
The tensor may lie in memory in any order; with the bags side by side (the first stride is the
smallest) segments of a few numbers are read fastest.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["Mosaics", "Network", "Segments", "as_input", "dense", "each", "mix", "select", "take"]

Network = Callable[[Tensor], Tensor]

ROWS = 4096  # segments sent through a network at a time where no gradient is wanted


class Mosaics(NamedTuple):
    """Bags cut from a bank: segment ``j`` of bag ``i`` is ``bank[index[i, j]]``.

    Args:
        bank: Unique segments, shape (N, *). Bytes are images and become floats when used.
        index: Rows of the bank, shape (B, m).
    """

    bank: Tensor
    index: Tensor  # type: ignore[assignment]  # hides tuple.index, which no one wants here


Segments = Tensor | Mosaics


def as_input(x: Tensor) -> Tensor:
    """Bytes become floats in [-1, 1], the papers' (x − .5)/.5; floats stay. [vr23], [pvr22]"""
    return x.float().div_(127.5).sub_(1.0) if x.dtype == torch.uint8 else x


def dense(x: Segments) -> Tensor:
    """The segments as one tensor, shape (B, m, *)."""
    if isinstance(x, Mosaics):
        return as_input(x.bank[x.index])
    return as_input(x)


def each(network: Network, x: Segments) -> Segments:
    """Send every segment through ``network``; a shared segment once, if that is less work.

    Returns:
        The outputs, shape (B, m, *), or a bank of outputs with the same index.
    """
    if isinstance(x, Mosaics) and len(x.bank) < x.index.numel():
        return Mosaics(_through(network, x.bank), x.index)
    rows = x.bank[x.index] if isinstance(x, Mosaics) else x
    if rows.stride(0) < rows.stride(1):  # as they lie, without a copy
        return _written_out(network, rows.transpose(0, 1)).transpose(0, 1)
    return _written_out(network, rows)


def _written_out(network: Network, rows: Tensor) -> Tensor:
    return _through(network, rows.flatten(0, 1)).unflatten(0, rows.shape[:2])


def _through(network: Network, rows: Tensor) -> Tensor:
    if torch.is_grad_enabled() or len(rows) <= ROWS:
        return network(as_input(rows))
    return torch.cat([network(as_input(part)) for part in rows.split(ROWS)])


def take(x: Segments, rows: Tensor | slice) -> Segments:
    """The segments of the bags at ``rows``."""
    return Mosaics(x.bank, x.index[rows]) if isinstance(x, Mosaics) else x[rows]


def mix(alpha: Tensor, x: Segments) -> Tensor:
    r"""The attended segment :math:`\tilde x = \sum_j \alpha_j x_j`, shape (B, *). [pvr22] 3.2"""
    rows = dense(x)
    flat, shape = rows.flatten(2), rows.shape[2:] or (1,)
    if flat.stride(0) == 1:
        return _mix_side_by_side(alpha, flat).unflatten(1, shape)
    return torch.einsum("bm,bmd->bd", alpha, flat).unflatten(1, shape)


def _mix_side_by_side(alpha: Tensor, rows: Tensor) -> Tensor:
    mixed = (alpha.mT * rows.transpose(0, 2)).sum(1)
    # Made one row and two-dimensional again, it is the same, but its gradient is brought into the
    # same order in memory, whatever network is behind it.
    return mixed.flatten().unflatten(0, mixed.shape).mT


def select(x: Segments, j: Tensor) -> Tensor:
    """Segment ``j[i]`` of every bag ``i``, shape (B, *).

    Args:
        x: The segments of B bags.
        j: Positions within each bag, shape (B,).
    """
    if isinstance(x, Mosaics):
        return as_input(x.bank.index_select(0, x.index.gather(1, j[:, None]).squeeze(1)))
    rows = x.flatten(2)
    chosen = rows.gather(1, j[:, None, None].expand(-1, 1, rows.shape[2])).squeeze(1)
    return as_input(chosen.unflatten(1, x.shape[2:] or (1,)))
