"""Where the segments of a pile come from: written out, or rows of banks."""

from math import prod
from typing import NamedTuple

import torch
from torch import Tensor

from foveate.bags.segments import Mosaics, Segments, as_input, rows_at, shared_bank, stored
from foveate.errors import FoveateError

__all__ = ["Banks", "BatchRequest", "Buffer", "Dense", "gather_rows", "source"]

SMALL_BANK = 2**26  # numbers: 256 MB in single precision
NARROW = 16  # numbers of a segment: below, no kernel runs well along it
LARGE = 2**22  # numbers of a batch: above, getting memory takes longer than filling it


class Buffer:
    """Memory for the segments of one large batch after another.

    What is beyond the size that an allocator keeps is got from the system anew for every batch,
    page by page, which takes longer than to fill it.
    """

    def __init__(self) -> None:
        self._kept = torch.empty(0)

    def of(self, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        """Uninitialised numbers; what was in the room before is lost."""
        need = prod(shape)
        if self._kept.dtype != dtype or self._kept.numel() < need:
            self._kept = torch.empty(need, dtype=dtype)
        return self._kept[:need].view(shape)


class BatchRequest(NamedTuple):
    """Which bags are asked for, and in what form.

    Args:
        sets: The set of bags of each member, shape (S',).
        at: Their bags, counted through all sets, shape (S', B).
        used: How many segments of each bag, from the first on.
        whole: Whether a bank smaller than these bags is handed on whole with an index.
        chunk: How many segments are to be read at a time, from the bank; None for all.
        room: Where the segments of a large batch may be put; None for memory of their own.
    """

    sets: Tensor
    at: Tensor
    used: int
    whole: bool
    chunk: int | None
    room: Buffer | None


class Dense:
    """Segments written out, one set of bags after another, shape (sets, n, m, *)."""

    def __init__(self, sets: list[Tensor], dtype: torch.dtype) -> None:
        self.x = _typed(_stack(sets), dtype)
        self.storage = self.x.untyped_storage().data_ptr()

    def segments(self, want: BatchRequest) -> Segments:
        """The segments of the bags that are asked for, shape (S', B, used, *)."""
        some = want.used < self.x.shape[2]
        # One bag lies in order, bags that are only read do as a rule: no copy is needed then.
        if want.at.numel() == 1 or (len(want.at) == 1 and want.room is None and not some):
            return _laid_out(rows_at(self.x.flatten(0, 1), want.at)[:, :, : want.used])
        if some:
            return _laid_out(gather_rows(self.x[:, :, : want.used], want.at))
        return _laid_out(gather_rows(self.x, want.at, want.room))

    def as_banks(self) -> "Banks":
        """The same bags, each segment a row of a bank."""
        n, m = self.x.shape[1:3]
        index = torch.arange(n * m).view(n, m)
        return Banks([Mosaics(own.flatten(0, 1), index) for own in self.x], self.x.dtype)


class Banks:
    """A bank for all sets, or one each, and the index of every bag."""

    def __init__(self, sets: list[Mosaics], dtype: torch.dtype) -> None:
        self.index = torch.stack([x.index for x in sets])
        self.own = not all(x.bank is sets[0].bank for x in sets)
        self.length = max(len(x.bank) for x in sets)
        banks = [_lengthened(x.bank, self.length) for x in (sets if self.own else sets[:1])]
        self.bank = _typed(_stack(banks), dtype)
        self.storage = self.bank.untyped_storage().data_ptr()

    def segments(self, want: BatchRequest) -> Segments:
        """The segments of the bags that are asked for, written out or as an index into a bank."""
        sets, index = want.sets, gather_rows(self.index, want.at)[..., : want.used]
        if want.chunk is not None or (want.whole and self.length < index[0].numel()):
            everyone = not self.own or len(sets) == len(self.bank)
            bank = self.bank if everyone else self.bank[sets]
            return Mosaics(bank.expand(len(sets), *bank.shape[1:]), index, want.chunk)
        banks = sets if self.own else torch.zeros_like(sets)
        if want.whole and not self.bank.is_floating_point() and self.bank.dtype != torch.uint8:
            return _once_each(self.bank, banks, index)
        places = index + self.length * banks[:, None, None]
        if want.at.numel() == 1:
            return _laid_out(rows_at(self.bank.flatten(0, 1), places))
        return _laid_out(gather_rows(self.bank, places, want.room))


def source(sets: list[Segments], dtype: torch.dtype) -> Dense | Banks:
    """The segments of all sets of bags, which must be of one form.

    Args:
        sets: The segments of each set.
        dtype: Number type of those that are numbers.
    """
    banks = [shared for x in sets if (shared := shared_bank(x)) is not None]
    if not banks:
        return Dense([stored(x) for x in sets], dtype)
    if len(banks) != len(sets):
        raise FoveateError("the bags of all members must be dense, or all refer to a bank")
    return Banks(banks, dtype)


def gather_rows(sets: Tensor, at: Tensor, room: Buffer | None = None) -> Tensor:
    """Rows of all sets (sets, n, *), counted through, at places (S, …): shape (S, …, *)."""
    rows, places = sets.flatten(0, 1), at.flatten()
    shape = (len(places), *rows.shape[1:])
    if room is None or prod(shape) < LARGE:
        return rows.index_select(0, places).unflatten(0, at.shape)
    filled = torch.index_select(rows, 0, places, out=room.of(shape, rows.dtype))
    return filled.unflatten(0, at.shape)


def _stack(parts: list[Tensor]) -> Tensor:
    """``torch.stack``, without a copy of a single part."""
    return parts[0][None] if len(parts) == 1 else torch.stack(parts)


def _typed(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Bytes of a small set become numbers once; of a large one, where they are used."""
    if x.dtype != torch.uint8 and not x.is_floating_point():
        return x  # names of things, such as words
    small = x.numel() <= SMALL_BANK or dtype != torch.float32
    return as_input(x).to(dtype) if small else x


def _once_each(bank: Tensor, banks: Tensor, index: Tensor) -> Mosaics:
    """Bags of words (S, B, m) with a bank of the words that occur in them: most occur again."""
    found = [own.unique(return_inverse=True) for own in index]
    length = max(len(rows) for rows, _ in found)
    rows = torch.stack([_lengthened(rows, length) for rows, _ in found])
    return Mosaics(bank[banks[:, None], rows], torch.stack([place for _, place in found]))


def _laid_out(x: Tensor) -> Tensor:
    """Segments (S, B, m, *), those of a few numbers with the bags side by side in memory."""
    if x.dim() == 3 or x.shape[3:].numel() >= NARROW:
        return x
    turned = (0, *reversed(range(1, x.dim())))
    return x.permute(turned).contiguous().permute(turned)


def _lengthened(bank: Tensor, length: int) -> Tensor:
    """Banks of unequal length get rows that no index names."""
    if len(bank) == length:
        return bank
    return torch.cat([bank, bank[:1].expand(length - len(bank), *bank.shape[1:])])
