"""Sources of segments: the dense segments or the banks of all sets of bags, and their batches."""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import torch
from torch import Tensor

from foveate.bags.mapped import is_mapped, note_read, prefetch
from foveate.bags.segments import Mosaics, Segments, as_input, rows_at, shared_bank, stored
from foveate.errors import FoveateError

__all__ = ["Banks", "BatchRequest", "Buffer", "Dense", "gather_rows", "source"]

SMALL_BANK = 2**26  # numbers: 256 MB in single precision
NARROW_WIDTH = 16  # numbers of a segment: below, no kernel runs well along it
LARGE = 2**22  # numbers of a batch: above, getting memory takes longer than filling it


class Buffer:
    """Memory for the segments of one large batch after another.

    Blocks larger than the allocator caches are requested from the system again for every batch,
    page by page, which takes longer than filling them.
    """

    def __init__(self) -> None:
        self._memory = self._last = torch.empty(0)

    def of(self, shape: Sequence[int], like: Tensor) -> Tensor:
        """Uninitialised numbers of the type of others; overwrites the previous batch."""
        if self._last.shape == shape and self._last.dtype == like.dtype:
            return self._last
        size = prod(shape)
        if self._memory.dtype != like.dtype or self._memory.numel() < size:
            self._memory = like.new_empty(size)
        self._last = self._memory[:size].view(shape)
        return self._last


class BatchRequest(NamedTuple):
    """Which bags a batch contains, and in which form.

    Args:
        sets: The set of bags of each member, shape (S',).
        bags: Their bags, counted through all sets, shape (S', B).
        used: How many segments of each bag, from the first on.
        whole: Whether a bank smaller than these bags is passed as a whole with an index.
        chunk: How many segments are read from the bank at a time; None for all.
        buffer: Memory to reuse for the segments of a large batch; None to allocate.
    """

    sets: Tensor
    bags: Tensor
    used: int
    whole: bool
    chunk: int | None
    buffer: Buffer | None


class Dense:
    """Dense segments of one or several sets of bags, shape (sets, n, m, *)."""

    mapped = False

    def __init__(self, sets: list[Tensor], dtype: torch.dtype, device: torch.device) -> None:
        self.x = _as_dtype(_stack(sets), dtype).to(device)
        self.storage, self.dtype = self.x.untyped_storage().data_ptr(), self.x.dtype
        self._rows = self.x.flatten(0, 1)

    def segments(self, request: BatchRequest) -> Segments:
        """The segments of the requested bags, shape (S', B, used, *)."""
        shortened = request.used < self.x.shape[2]
        # The segments of one bag, and usually those of bags read in order, need no copy.
        if request.bags.numel() == 1 or (
            len(request.bags) == 1 and request.buffer is None and not shortened
        ):
            return _fast_layout(rows_at(self._rows, request.bags)[:, :, : request.used])
        if shortened:
            return _fast_layout(gather_rows(self.x[:, :, : request.used], request.bags))
        return _fast_layout(gather_rows(self.x, request.bags, request.buffer))

    def one(self, bag: int, used: int) -> Tensor:
        """The first segments of one bag, counted through all sets, shape (1, 1, used, *)."""
        return _fast_layout(self._rows[bag, :used][None, None])

    @property
    def narrow(self) -> bool:
        """Whether a segment has few numbers, so that the bags of a batch are contiguous."""
        shape = self.x.shape[3:]
        return len(shape) > 0 and shape.numel() < NARROW_WIDTH and self.x.is_floating_point()

    def narrow_segments(self, bags: Tensor, size: int, buffer: Buffer) -> Tensor:
        """The segments of k steps of ``size`` bags, (k, S, size, m, *), with contiguous bags.

        Args:
            bags: Bags of each member, counted through all sets, shape (S, k · size).
            size: Bags per step.
            buffer: Memory to reuse.
        """
        shape = (len(bags), -1, size, *self.x.shape[2:])
        x = self._rows.index_select(0, bags.flatten()).view(shape)  # (S, k, size, m, *)
        axes = (1, 0, *range(x.dim() - 1, 1, -1))
        permuted = x.permute(axes)
        back = (0, 1, *axes[2:])
        return buffer.of(permuted.shape, x).copy_(permuted).permute(back)

    def as_banks(self) -> "Banks":
        """The same bags, each segment a row of a bank."""
        n, m = self.x.shape[1:3]
        index = torch.arange(n * m, device=self.x.device).view(n, m)
        sets = [Mosaics(x.flatten(0, 1), index) for x in self.x]
        return Banks(sets, self.x.dtype, self.x.device)


class Banks:
    """A bank for all sets, or one each, and the index of every bag."""

    def __init__(self, sets: list[Mosaics], dtype: torch.dtype, device: torch.device) -> None:
        self.index = torch.stack([x.index for x in sets]).to(device)
        self.separate = not all(x.bank is sets[0].bank for x in sets)
        self.length = max(len(x.bank) for x in sets)
        banks = [_pad_bank(x.bank, self.length) for x in (sets if self.separate else sets[:1])]
        self.bank = _as_dtype(_stack(banks), dtype).to(device)
        self.storage, self.dtype = self.bank.untyped_storage().data_ptr(), self.bank.dtype
        self.mapped = is_mapped(self.bank)
        ids = self.bank.dtype == torch.int64 and self.bank.dim() == 2
        self.rising_ids = ids and bool((self.bank.diff(dim=1) > 0).all())

    def segments(self, request: BatchRequest) -> Segments:
        """The segments of the requested bags, dense or as an index into a bank."""
        sets, index = request.sets, gather_rows(self.index, request.bags)[..., : request.used]
        note_read(self.bank[0], index.numel())
        whole = request.whole and not self.mapped
        if request.chunk is not None or (whole and self.length < index[0].numel()):
            all_sets = not self.separate or len(sets) == len(self.bank)
            bank = self.bank if all_sets else self.bank[sets]
            return Mosaics(bank.expand(len(sets), *bank.shape[1:]), index, request.chunk)
        banks = sets if self.separate else torch.zeros_like(sets)
        if whole and not self.bank.is_floating_point() and self.bank.dtype != torch.uint8:
            return _once_each(self.bank, banks, index)
        rows = index + self.length * banks[:, None, None]
        if request.bags.numel() == 1:
            return _fast_layout(rows_at(self.bank.flatten(0, 1), rows))
        return _fast_layout(gather_rows(self.bank, rows, request.buffer))

    def prefetch(self, bags: Tensor, mask: Tensor | None) -> None:
        """Ask for the rows of a mapped bank that bags at (S', B) will need."""
        index = gather_rows(self.index, bags)
        prefetch(self.bank[0], index if mask is None else index[mask])


def source(sets: list[Segments], dtype: torch.dtype, device: torch.device) -> Dense | Banks:
    """The source of all sets of bags, which must have the same form.

    Args:
        sets: The segments of each set.
        dtype: Number type of floating-point segments.
        device: Where they are.
    """
    banks = [shared for x in sets if (shared := shared_bank(x)) is not None]
    if not banks:
        return Dense([stored(x) for x in sets], dtype, device)
    if len(banks) != len(sets):
        raise FoveateError("the bags of all members must be dense, or all refer to a bank")
    return Banks(banks, dtype, device)


def gather_rows(sets: Tensor, bags: Tensor, buffer: Buffer | None = None) -> Tensor:
    """Rows of the concatenated sets (sets, n, *) at an index (S, …), shape (S, …, *)."""
    rows, index = sets.flatten(0, 1), bags.flatten()
    shape = (len(index), *rows.shape[1:])
    if buffer is None or prod(shape) < LARGE:
        return rows.index_select(0, index).unflatten(0, bags.shape)
    filled = torch.index_select(rows, 0, index, out=buffer.of(shape, rows))
    return filled.unflatten(0, bags.shape)


def _stack(parts: list[Tensor]) -> Tensor:
    """``torch.stack``, without a copy of a single part."""
    return parts[0][None] if len(parts) == 1 else torch.stack(parts)


def _as_dtype(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Convert the bytes of a small set once; those of a large one are converted in each batch."""
    if x.dtype != torch.uint8 and not x.is_floating_point():
        return x  # identifiers, such as words
    small = x.numel() <= SMALL_BANK or dtype != torch.float32
    return as_input(x).to(dtype) if small else x


def _once_each(bank: Tensor, banks: Tensor, index: Tensor) -> Mosaics:
    """Bags of words (S, B, m) with a bank of the words in them, since most words repeat."""
    pairs = [member.unique(return_inverse=True) for member in index]
    length = max(len(rows) for rows, _ in pairs)
    rows = torch.stack([_pad_bank(rows, length) for rows, _ in pairs])
    return Mosaics(bank[banks[:, None], rows], torch.stack([inverse for _, inverse in pairs]))


def _fast_layout(x: Tensor) -> Tensor:
    """Segments (S, B, m, *); those of a few numbers in a layout with contiguous bags."""
    if x.dim() == 3 or x.shape[3:].numel() >= NARROW_WIDTH:
        return x
    reversed_axes = (0, *reversed(range(1, x.dim())))
    return x.permute(reversed_axes).contiguous().permute(reversed_axes)


def _pad_bank(bank: Tensor, length: int) -> Tensor:
    """Pad a bank with rows that no index refers to."""
    if len(bank) == length:
        return bank
    return torch.cat([bank, bank[:1].expand(length - len(bank), *bank.shape[1:])])
