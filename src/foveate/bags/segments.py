"""Segments of bags, dense or shared, and the operations of models and paradigms on them.

Segments are a tensor ``(B, m, *)`` or :class:`Mosaics`: an index into a bank of unique segments, of
which each is stored, and sent through a network, once, however many bags contain it. Bags too large
to be expanded are Mosaics with a ``chunk``: segments are then read from the bank in chunks and
recomputed in the backward pass, so that memory does not grow with the bag. Code outside this
package uses the functions below and does not distinguish the two forms.

A dense tensor may have any memory layout; with the bags contiguous (the first stride is the
smallest) segments of a few numbers are processed fastest.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

__all__ = [
    "Mosaics",
    "Network",
    "Segments",
    "as_input",
    "as_matrix",
    "as_mosaics",
    "dense",
    "gather_column",
    "group_by_length",
    "leading_shape",
    "map_stored",
    "mix",
    "on_device",
    "recompute_in_backward",
    "replace_first",
    "rows_at",
    "segment_shape",
    "select",
    "shared_bank",
    "stored",
    "take",
    "tensors_of",
]

Network = Callable[[Tensor], Tensor]


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
    index: Tensor  # type: ignore[assignment]  # hides tuple.index, which is not needed here
    chunk: int | None = None


Segments = Tensor | Mosaics


def as_input(x: Tensor) -> Tensor:
    """Bytes become floats in [-1, 1], the papers' (x − .5)/.5; floats stay. [vr23], [pvr22]"""
    return x.float().div_(127.5).sub_(1.0) if x.dtype == torch.uint8 else x


def shared_bank(x: Segments) -> Mosaics | None:
    """The segments as Mosaics if they refer to a bank; None if they are dense."""
    return x if isinstance(x, Mosaics) else None


def leading_shape(x: Segments) -> tuple[int, ...]:
    """Number of bags and of segments per bag, (B, m)."""
    return tuple(x.index.shape if isinstance(x, Mosaics) else x.shape[:2])


def segment_shape(x: Segments) -> tuple[int, ...]:
    """Shape of one segment."""
    return tuple(x.bank.shape[1:] if isinstance(x, Mosaics) else x.shape[2:])


def tensors_of(x: Segments) -> tuple[Tensor, ...]:
    """The tensors that hold the segments: bank and index, or the dense segments."""
    return (x.bank, x.index) if isinstance(x, Mosaics) else (x,)


def as_mosaics(x: Segments) -> Mosaics:
    """The same segments as Mosaics; of dense segments each is one row of the bank, without a copy.

    Example:
        >>> as_mosaics(torch.zeros(2, 3, 5)).index.tolist()
        [[0, 1, 2], [3, 4, 5]]
    """
    if isinstance(x, Mosaics):
        return x
    return Mosaics(x.flatten(0, 1), torch.arange(x.shape[0] * x.shape[1]).view(x.shape[:2]))


def stored(x: Segments) -> Tensor:
    """The segments as one tensor in their stored number type, shape (B, m, *)."""
    return x.bank[x.index] if isinstance(x, Mosaics) else x


def dense(x: Segments) -> Tensor:
    """The segments as one tensor of network inputs, shape (B, m, *)."""
    return as_input(stored(x))


def as_matrix(x: Segments) -> Tensor:
    """Segments of one number each as a matrix, shape (B, m)."""
    if isinstance(x, Mosaics):
        return x.bank.flatten().gather(0, x.index.flatten()).view_as(x.index)
    return x.squeeze(-1)


def gather_column(x: Segments, column: Tensor) -> Tensor:
    """Entry ``column[i]`` of every segment of bag ``i``, shape (B, m).

    Args:
        x: Segments that are vectors, shape (B, m, C).
        column: One index per bag, shape (B,).
    """
    if isinstance(x, Mosaics):
        cell = x.index * x.bank.shape[1] + column[:, None]
        return x.bank.flatten().gather(0, cell.flatten()).view_as(x.index)
    return x.gather(2, column[:, None, None].expand(-1, x.shape[1], 1)).squeeze(2)


def map_stored(function: Network, x: Segments) -> Segments:
    """Apply a function of the trailing axes to the stored rows; the form of the segments stays.

    Args:
        function: From (…, *) to (…, *'), for any number of leading axes.
        x: The segments.
    """
    if isinstance(x, Mosaics):
        return x._replace(bank=function(x.bank))
    return function(x)


def on_device(x: Segments, device: torch.device) -> Segments:
    """The segments on a device; the same where they are there already."""
    if isinstance(x, Mosaics):
        return x._replace(bank=x.bank.to(device), index=x.index.to(device))
    return x.to(device)


def replace_first(x: Segments, row: Tensor) -> Segments:
    """Replace segment 0 of every bag, which in a bank must be row 0 for all bags.

    Args:
        x: The segments.
        row: The new segment, shape (*).
    """
    if isinstance(x, Mosaics):
        return x._replace(bank=torch.cat([row[None], as_input(x.bank)[1:]]))
    others = as_input(x)[:, 1:]
    return torch.cat([row.expand(len(others), 1, *row.shape), others], 1)


def rows_at(bank: Tensor, index: Tensor) -> Tensor:
    """Rows of a bank at an index of any shape; a view where they are consecutive."""
    flat = index.flatten()
    first, count = int(flat[0]), flat.numel()
    if int(flat[-1]) == first + count - 1 and bool((flat.diff() == 1).all()):
        return bank[first : first + count].unflatten(0, index.shape)
    return bank[index]


def recompute_in_backward(function: Callable[..., Tensor], *inputs: Tensor) -> Tensor:
    """``function(*inputs)``, recomputed in the backward pass instead of stored for it."""
    if not torch.is_grad_enabled():
        return function(*inputs)
    output: Tensor = checkpoint(function, *inputs, use_reentrant=False, preserve_rng_state=False)
    return output


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
        return _mix_contiguous_bags(alpha, flat).unflatten(1, shape)
    # A product of rows, not of columns: its gradient with respect to alpha takes half the time.
    return (alpha.unsqueeze(1) @ flat).squeeze(1).unflatten(1, shape)


def _mix_in_chunks(alpha: Tensor, x: Mosaics, chunk: int) -> Tensor:
    def mixed(weight: Tensor, index: Tensor) -> Tensor:
        return torch.einsum("bm,bmd->bd", weight, as_input(rows_at(x.bank, index)).flatten(2))

    columns = max(1, chunk // x.index.shape[0])
    parts = zip(alpha.split(columns, 1), x.index.split(columns, 1), strict=True)
    total = torch.stack([recompute_in_backward(mixed, *part) for part in parts]).sum(0)
    return total.unflatten(1, x.bank.shape[1:] or (1,))


def _mix_contiguous_bags(alpha: Tensor, rows: Tensor) -> Tensor:
    mixed = (alpha.mT * rows.transpose(0, 2)).sum(1)
    # Flattening and unflattening changes no value, but gives the gradient the same memory layout
    # whatever network follows.
    return mixed.flatten().unflatten(0, mixed.shape).mT


def select(x: Segments, j: Tensor) -> Tensor:
    """Segment ``j[i]`` of every bag ``i``, shape (B, *), or several, shape (B, k, *).

    Args:
        x: The segments of B bags.
        j: Positions within each bag, shape (B,) or (B, k).
    """
    index = j.unsqueeze(1) if j.dim() == 1 else j
    if isinstance(x, Mosaics):
        rows = x.index.gather(1, index).flatten()
        chosen = x.bank.index_select(0, rows).unflatten(0, index.shape)
    else:
        flat = x.flatten(2)
        chosen = flat.gather(1, index[:, :, None].expand(-1, -1, flat.shape[2]))
        chosen = chosen.unflatten(2, x.shape[2:] or (1,))
    return as_input(chosen.squeeze(1) if j.dim() == 1 else chosen)


def group_by_length(lengths: Tensor, most: int) -> Iterator[Tensor]:
    """Indices of bags in groups of similar length, shorter ones first.

    Args:
        lengths: Number of segments of each bag, shape (B,).
        most: Largest number of segments in a group, padded to its longest bag; a single bag may
            have more.

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
