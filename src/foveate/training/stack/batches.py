"""The bags of all members of a stack, their batches, and the sources of segments."""

from collections.abc import Sequence
from copy import copy
from math import prod
from typing import NamedTuple

import torch
from torch import Tensor

from foveate.bags.bag import Bag
from foveate.bags.segments import Mosaics, Segments, as_input, rows_at, shared_bank, stored
from foveate.errors import FoveateError

__all__ = [
    "Banks",
    "Batch",
    "BatchRequest",
    "Buffer",
    "Dense",
    "MemberBags",
    "gather_rows",
    "source",
]

SMALL_BANK = 2**26  # numbers: 256 MB in single precision
NARROW = 16  # numbers of a segment: below, no kernel runs well along it
LARGE = 2**22  # numbers of a batch: above, getting memory takes longer than filling it


class Buffer:
    """Memory for the segments of one large batch after another.

    Blocks larger than the allocator caches are requested from the system again for every batch,
    page by page, which takes longer than filling them.
    """

    def __init__(self) -> None:
        self._memory = torch.empty(0)

    def of(self, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        """Uninitialised numbers; overwrites the previous batch."""
        need = prod(shape)
        if self._memory.dtype != dtype or self._memory.numel() < need:
            self._memory = torch.empty(need, dtype=dtype)
        return self._memory[:need].view(shape)


class BatchRequest(NamedTuple):
    """Which bags a batch contains, and in which form.

    Args:
        sets: The set of bags of each member, shape (S',).
        at: Their bags, counted through all sets, shape (S', B).
        used: How many segments of each bag, from the first on.
        whole: Whether a bank smaller than these bags is passed as a whole with an index.
        chunk: How many segments are read from the bank at a time; None for all.
        buffer: Memory to reuse for the segments of a large batch; None to allocate.
    """

    sets: Tensor
    at: Tensor
    used: int
    whole: bool
    chunk: int | None
    buffer: Buffer | None


class Dense:
    """Dense segments of one or several sets of bags, shape (sets, n, m, *)."""

    def __init__(self, sets: list[Tensor], dtype: torch.dtype) -> None:
        self.x = _typed(_stack(sets), dtype)
        self.storage = self.x.untyped_storage().data_ptr()

    def segments(self, request: BatchRequest) -> Segments:
        """The segments of the requested bags, shape (S', B, used, *)."""
        some = request.used < self.x.shape[2]
        # The segments of one bag, and usually those of bags read in order, need no copy.
        if request.at.numel() == 1 or (
            len(request.at) == 1 and request.buffer is None and not some
        ):
            return _fast_layout(rows_at(self.x.flatten(0, 1), request.at)[:, :, : request.used])
        if some:
            return _fast_layout(gather_rows(self.x[:, :, : request.used], request.at))
        return _fast_layout(gather_rows(self.x, request.at, request.buffer))

    def as_banks(self) -> "Banks":
        """The same bags, each segment a row of a bank."""
        n, m = self.x.shape[1:3]
        index = torch.arange(n * m).view(n, m)
        return Banks([Mosaics(x.flatten(0, 1), index) for x in self.x], self.x.dtype)


class Banks:
    """A bank for all sets, or one each, and the index of every bag."""

    def __init__(self, sets: list[Mosaics], dtype: torch.dtype) -> None:
        self.index = torch.stack([x.index for x in sets])
        self.separate = not all(x.bank is sets[0].bank for x in sets)
        self.length = max(len(x.bank) for x in sets)
        banks = [_lengthened(x.bank, self.length) for x in (sets if self.separate else sets[:1])]
        self.bank = _typed(_stack(banks), dtype)
        self.storage = self.bank.untyped_storage().data_ptr()

    def segments(self, request: BatchRequest) -> Segments:
        """The segments of the requested bags, dense or as an index into a bank."""
        sets, index = request.sets, gather_rows(self.index, request.at)[..., : request.used]
        if request.chunk is not None or (request.whole and self.length < index[0].numel()):
            everyone = not self.separate or len(sets) == len(self.bank)
            bank = self.bank if everyone else self.bank[sets]
            return Mosaics(bank.expand(len(sets), *bank.shape[1:]), index, request.chunk)
        banks = sets if self.separate else torch.zeros_like(sets)
        if request.whole and not self.bank.is_floating_point() and self.bank.dtype != torch.uint8:
            return _once_each(self.bank, banks, index)
        rows = index + self.length * banks[:, None, None]
        if request.at.numel() == 1:
            return _fast_layout(rows_at(self.bank.flatten(0, 1), rows))
        return _fast_layout(gather_rows(self.bank, rows, request.buffer))


def source(sets: list[Segments], dtype: torch.dtype) -> Dense | Banks:
    """The source of all sets of bags, which must have the same form.

    Args:
        sets: The segments of each set.
        dtype: Number type of floating-point segments.
    """
    banks = [shared for x in sets if (shared := shared_bank(x)) is not None]
    if not banks:
        return Dense([stored(x) for x in sets], dtype)
    if len(banks) != len(sets):
        raise FoveateError("the bags of all members must be dense, or all refer to a bank")
    return Banks(banks, dtype)


def gather_rows(sets: Tensor, at: Tensor, buffer: Buffer | None = None) -> Tensor:
    """Rows of the concatenated sets (sets, n, *) at an index (S, …), shape (S, …, *)."""
    rows, index = sets.flatten(0, 1), at.flatten()
    shape = (len(index), *rows.shape[1:])
    if buffer is None or prod(shape) < LARGE:
        return rows.index_select(0, index).unflatten(0, at.shape)
    filled = torch.index_select(rows, 0, index, out=buffer.of(shape, rows.dtype))
    return filled.unflatten(0, at.shape)


def _stack(parts: list[Tensor]) -> Tensor:
    """``torch.stack``, without a copy of a single part."""
    return parts[0][None] if len(parts) == 1 else torch.stack(parts)


def _typed(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Convert the bytes of a small set once; those of a large one are converted in each batch."""
    if x.dtype != torch.uint8 and not x.is_floating_point():
        return x  # identifiers, such as words
    small = x.numel() <= SMALL_BANK or dtype != torch.float32
    return as_input(x).to(dtype) if small else x


def _once_each(bank: Tensor, banks: Tensor, index: Tensor) -> Mosaics:
    """Bags of words (S, B, m) with a bank of the words in them, since most words repeat."""
    pairs = [member.unique(return_inverse=True) for member in index]
    length = max(len(rows) for rows, _ in pairs)
    rows = torch.stack([_lengthened(rows, length) for rows, _ in pairs])
    return Mosaics(bank[banks[:, None], rows], torch.stack([inverse for _, inverse in pairs]))


def _fast_layout(x: Tensor) -> Tensor:
    """Segments (S, B, m, *); those of a few numbers in a layout with contiguous bags."""
    if x.dim() == 3 or x.shape[3:].numel() >= NARROW:
        return x
    turned = (0, *reversed(range(1, x.dim())))
    return x.permute(turned).contiguous().permute(turned)


def _lengthened(bank: Tensor, length: int) -> Tensor:
    """Pad a bank with rows that no index refers to."""
    if len(bank) == length:
        return bank
    return torch.cat([bank, bank[:1].expand(length - len(bank), *bank.shape[1:])])


class Batch(NamedTuple):
    """The bags of one step, with a leading axis of members (inside a task: without it).

    ``aux`` is the auxiliary input of the paradigm, ``weight`` that of each bag's loss.
    """

    x: Segments
    y: Tensor
    z: Tensor | None = None
    mask: Tensor | None = None
    aux: Tensor | None = None
    weight: Tensor | None = None


class MemberBags:
    """The bags of all members: one shared set, or one set of the same size each.

    Args:
        bags: One :class:`Bag` for all, or one per member.
        size: Number of members.
        dtype: Number type of floating-point segments.
    """

    def __init__(
        self, bags: Bag | Sequence[Bag], size: int, dtype: torch.dtype = torch.float32
    ) -> None:
        sets = [bags] if isinstance(bags, Bag) else list(bags)
        if all(bag is sets[0] for bag in sets):
            sets = sets[:1]
        if len(sets) not in (1, size) or any(bag.shape != sets[0].shape for bag in sets):
            raise FoveateError(
                f"{size} members need one set of bags each, of equal sizes, or one for all; "
                f"got {len(sets)} of sizes {sorted({bag.shape for bag in sets})}"
            )
        self.n, self.m = sets[0].shape
        self.size, self.shared = size, len(sets) == 1
        self.segment_shape = sets[0].segment_shape
        self._source = source([bag.x for bag in sets], dtype)
        self.chunk: int | None = None
        self._buffer = Buffer()
        self.y = torch.stack([bag.y for bag in sets])
        self.z = _joined([bag.z for bag in sets], "z")
        weight = _joined([bag.weight for bag in sets], "weight")
        self.weight = None if weight is None else weight.to(dtype)
        self.mask = _mask(sets)

    @property
    def reuses(self) -> bool:
        """Whether the bags share a bank that is smaller than they are."""
        return isinstance(self._source, Banks) and self._source.length < self.n * self.m

    def repeats(self, bags: int) -> bool:
        """Whether so many bags contain each row of a bank at least twice on average."""
        if not isinstance(self._source, Banks):
            return False
        segments = float(self.m if self.mask is None else self.mask.sum(-1).double().mean())
        return bags * segments >= 2 * self._source.length

    def holds(self, x: Tensor) -> bool:
        """Whether a tensor is a view of these bags, not a copy."""
        return x.untyped_storage().data_ptr() == self._source.storage

    def in_chunks(self, chunk: int) -> "MemberBags":
        """The same bags with batches that refer to a bank, to be read in chunks of segments."""
        chunked = copy(self)
        chunked.chunk = chunk
        if isinstance(self._source, Dense):
            chunked._source = self._source.as_banks()
        return chunked

    def masks(self, rows: Tensor, members: Tensor) -> Tensor | None:
        """Which segments the bags at ``rows`` (S', B) of members have; None where all have m."""
        sets = torch.zeros_like(members) if self.shared else members
        return None if self.mask is None else gather_rows(self.mask, rows + self.n * sets[:, None])

    def lengths(self, rows: Tensor, members: Tensor) -> Tensor:
        """How many columns the bags at ``rows`` (S', B) of members use, shape (S', B)."""
        mask = self.masks(rows, members)
        if mask is None:
            return torch.full_like(rows, self.m)
        return (mask * torch.arange(1, self.m + 1)).amax(-1)

    def batch(
        self,
        rows: Tensor,
        members: Tensor | None = None,
        aux: Tensor | None = None,
        *,
        whole: bool = True,
        with_z: bool = True,
        trim: bool = False,
        first: int | None = None,
        reuse: bool = False,
    ) -> Batch:
        """The bags at ``rows`` of each member.

        Args:
            rows: Shape (S, B), or (S', B) for the rows of ``members``.
            members: Whose bags; None for all.
            aux: The auxiliary input of the paradigm.
            whole: Whether a bank smaller than the batch is passed as a whole with an index.
            with_z: Whether the relevance is included.
            trim: Whether columns without a segment of these bags are dropped.
            first: How many segments of each bag, from the first on; None for all.
            reuse: Whether a large batch may overwrite the previous one that was requested with
                this option.
        """
        who = torch.arange(self.size) if members is None else members
        sets = torch.zeros_like(who) if self.shared else who
        at = rows + self.n * sets[:, None]
        mask = self.masks(rows, who)
        used = self.m if first is None else first
        if mask is not None:
            mask = mask[..., :used]
            if trim:
                used = int(mask.flatten(0, 1).any(0).nonzero()[-1]) + 1
                mask = mask[..., :used]
        buffer = self._buffer if reuse else None
        x = self._source.segments(BatchRequest(sets, at, used, whole, self.chunk, buffer))
        z = gather_rows(self.z, at)[..., :used] if with_z and self.z is not None else None
        weight = None if self.weight is None else gather_rows(self.weight, at)
        return Batch(x, gather_rows(self.y, at), z, mask, aux, weight)

    def mean(self, loss: Tensor, rows: Tensor, members: Tensor) -> Tensor:
        """The weighted mean of losses (S', B) of the bags at ``rows`` of members, shape (S',)."""
        if self.weight is None:
            return loss.mean(1)
        sets = torch.zeros_like(members) if self.shared else members
        weight = gather_rows(self.weight, rows + self.n * sets[:, None])
        return (loss * weight).sum(1) / weight.sum(1)


def _mask(sets: list[Bag]) -> Tensor | None:
    if all(bag.mask is None for bag in sets):
        return None
    full = torch.ones(sets[0].shape, dtype=torch.bool)
    return torch.stack([full if bag.mask is None else bag.mask for bag in sets])


def _joined(parts: list[Tensor | None], name: str) -> Tensor | None:
    present = [part for part in parts if part is not None]
    if not present:
        return None
    if len(present) != len(parts):
        raise FoveateError(f"{name} must be known for the bags of all members or of none")
    return torch.stack(present)
