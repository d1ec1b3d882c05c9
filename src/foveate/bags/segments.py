"""Segments, dense or shared: what models and paradigms do with the contents of bags.

Segments come as a tensor ``(B, m, *)`` or as :class:`Mosaics`, where many bags are cut from one
bank and a row of the bank is stored, and sent through a network, once however many bags hold it.
Bags too large to be written out are Mosaics that name a chunk: segments are taken from the bank a
chunk at a time, and taken again on the way back, so that memory does not grow with the bag.
The tensor may lie in memory in any order; with the bags side by side (the first stride is the
smallest) segments of a few numbers are read fastest.
"""

from collections.abc import Callable, Iterator
from math import prod
from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

__all__ = [
    "Mosaics",
    "Network",
    "Segments",
    "as_input",
    "dense",
    "group_by_length",
    "map_segments",
    "mix",
    "recompute_in_backward",
    "rows_at",
    "select",
    "take",
]

Network = Callable[[Tensor], Tensor]

ROWS = 4096  # segments sent through a network at a time where no gradient is wanted, at most,
NUMBERS = 2**19  # and as many numbers: what convolutions make of them then stays in the cache


class Mosaics(NamedTuple):
    """Bags cut from a bank: segment ``j`` of bag ``i`` is ``bank[index[i, j]]``.

    Args:
        bank: Unique segments, shape (N, *). Bytes are images and become floats when used.
        index: Rows of the bank, shape (B, m).
        chunk: How many segments are read at a time; None for all.

    Example:
        >>> bank = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])
        >>> dense(Mosaics(bank, torch.tensor([[0, 2], [1, 1]]))).shape
        torch.Size([2, 2, 2])
    """

    bank: Tensor
    index: Tensor  # type: ignore[assignment]  # hides tuple.index, which no one wants here
    chunk: int | None = None


Segments = Tensor | Mosaics


def as_input(x: Tensor) -> Tensor:
    """Bytes become floats in [-1, 1], the papers' (x − .5)/.5; floats stay. [vr23], [pvr22]"""
    return x.float().div_(127.5).sub_(1.0) if x.dtype == torch.uint8 else x


def dense(x: Segments) -> Tensor:
    """The segments as one tensor, shape (B, m, *)."""
    if isinstance(x, Mosaics):
        return as_input(x.bank[x.index])
    return as_input(x)


def map_segments(network: Network, x: Segments) -> Segments:
    """Send every segment through ``network``; a shared segment once, if that is less work.

    Returns:
        The outputs, shape (B, m, *), or a bank of outputs with the same index.
    """
    if isinstance(x, Mosaics) and len(x.bank) < x.index.numel():
        return Mosaics(_through(network, x.bank, x.chunk), x.index)
    if isinstance(x, Mosaics) and x.chunk is not None:
        return _from_bank(network, x, x.chunk)
    rows = x.bank[x.index] if isinstance(x, Mosaics) else x
    if rows.stride(0) < rows.stride(1):  # as they lie, without a copy
        return _written_out(network, rows.transpose(0, 1)).transpose(0, 1)
    return _written_out(network, rows)


def _written_out(network: Network, rows: Tensor) -> Tensor:
    return _through(network, rows.flatten(0, 1)).unflatten(0, rows.shape[:2])


def _through(network: Network, rows: Tensor, chunk: int | None = None) -> Tensor:
    some = chunk or min(ROWS, max(1, NUMBERS // max(1, prod(rows.shape[1:]))))
    if chunk is None and (torch.is_grad_enabled() or len(rows) <= some):
        return network(as_input(rows))
    return torch.cat(
        [
            recompute_in_backward(lambda own: network(as_input(own)), part)
            for part in rows.split(some)
        ]
    )


def _from_bank(network: Network, x: Mosaics, chunk: int) -> Tensor:
    """Outputs (B, m, *) of segments that are taken from the bank a chunk at a time."""
    parts = [
        recompute_in_backward(lambda at: network(as_input(rows_at(x.bank, at))), part)
        for part in x.index.flatten().split(chunk)
    ]
    return torch.cat(parts).unflatten(0, x.index.shape)


def rows_at(bank: Tensor, at: Tensor) -> Tensor:
    """Rows of a bank at places of any shape; without a copy where they lie in order."""
    first, count = int(at.flatten()[0]), at.numel()
    if int(at.flatten()[-1]) == first + count - 1 and bool((at.flatten().diff() == 1).all()):
        return bank[first : first + count].unflatten(0, at.shape)
    return bank[at]


def recompute_in_backward(function: Callable[..., Tensor], *inputs: Tensor) -> Tensor:
    """``function(*inputs)``, made again on the way back instead of kept until then."""
    if not torch.is_grad_enabled():
        return function(*inputs)
    made: Tensor = checkpoint(function, *inputs, use_reentrant=False, preserve_rng_state=False)
    return made


def take(x: Segments, rows: Tensor | slice) -> Segments:
    """The segments of the bags at ``rows``."""
    return x._replace(index=x.index[rows]) if isinstance(x, Mosaics) else x[rows]


def mix(alpha: Tensor, x: Segments) -> Tensor:
    r"""The attended segment :math:`\tilde x = \sum_j \alpha_j x_j`, shape (B, *). [pvr22] 3.2"""
    if isinstance(x, Mosaics) and x.chunk is not None:
        return _mix_in_chunks(alpha, x, x.chunk)
    rows = dense(x)
    flat, shape = rows.flatten(2), rows.shape[2:] or (1,)
    if flat.stride(0) == 1:
        return _mix_side_by_side(alpha, flat).unflatten(1, shape)
    # As a product of rows, not of columns: its gradient with respect to alpha takes half the time.
    return (alpha.unsqueeze(1) @ flat).squeeze(1).unflatten(1, shape)


def _mix_in_chunks(alpha: Tensor, x: Mosaics, chunk: int) -> Tensor:
    def mixed(weight: Tensor, at: Tensor) -> Tensor:
        return torch.einsum("bm,bmd->bd", weight, as_input(rows_at(x.bank, at)).flatten(2))

    columns = max(1, chunk // x.index.shape[0])
    parts = zip(alpha.split(columns, 1), x.index.split(columns, 1), strict=True)
    total = torch.stack([recompute_in_backward(mixed, weight, at) for weight, at in parts]).sum(0)
    return total.unflatten(1, x.bank.shape[1:] or (1,))


def _mix_side_by_side(alpha: Tensor, rows: Tensor) -> Tensor:
    mixed = (alpha.mT * rows.transpose(0, 2)).sum(1)
    # Made one row and two-dimensional again, it is the same, but its gradient is brought into the
    # same order in memory, whatever network is behind it.
    return mixed.flatten().unflatten(0, mixed.shape).mT


def select(x: Segments, j: Tensor) -> Tensor:
    """Segment ``j[i]`` of every bag ``i``, shape (B, *), or several, shape (B, k, *).

    Args:
        x: The segments of B bags.
        j: Positions within each bag, shape (B,) or (B, k).
    """
    at = j.unsqueeze(1) if j.dim() == 1 else j
    if isinstance(x, Mosaics):
        chosen = x.bank.index_select(0, x.index.gather(1, at).flatten()).unflatten(0, at.shape)
    else:
        rows = x.flatten(2)
        chosen = rows.gather(1, at[:, :, None].expand(-1, -1, rows.shape[2]))
        chosen = chosen.unflatten(2, x.shape[2:] or (1,))
    return as_input(chosen.squeeze(1) if j.dim() == 1 else chosen)


def group_by_length(lengths: Tensor, most: int) -> Iterator[Tensor]:
    """Places of bags in groups of like length, shorter ones first.

    Args:
        lengths: Number of segments of each bag, shape (B,).
        most: Segments of a group, padded to its longest bag, at most; one bag may have more.

    Example:
        >>> [group.tolist() for group in group_by_length(torch.tensor([3, 9, 2, 4, 3]), 8)]
        [[2, 0], [4, 3], [1]]
    """
    order = lengths.argsort(stable=True)
    longest = lengths[order].tolist()
    start = 0
    for stop in range(1, len(order) + 1):
        if stop == len(order) or longest[stop] * (stop + 1 - start) > most:
            yield order[start:stop]
            start = stop
