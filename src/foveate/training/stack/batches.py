"""The bags of all members of a stack and their batches."""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from itertools import zip_longest
from math import prod
from typing import NamedTuple

import torch
from torch import Tensor

from foveate.bags.bag import Bag
from foveate.bags.segments import Segments, shared_bank, stored
from foveate.errors import FoveateError
from foveate.settings import current_device
from foveate.training.stack.sources import (
    Banks,
    BatchRequest,
    Buffer,
    Dense,
    gather_rows,
    source,
)

__all__ = ["Batch", "MemberBags"]

MAX_CUT = 2**18  # numbers of the batches that are cut together: 1 MB in single precision


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

    def map(self, function: Callable[[Tensor], Tensor]) -> "Batch":
        """The batch with a function applied to each of its tensors."""
        shared = shared_bank(self.x)
        x: Segments = (
            function(stored(self.x))
            if shared is None
            else shared._replace(bank=function(shared.bank), index=function(shared.index))
        )
        rest = {
            name: None if (part := getattr(self, name)) is None else function(part)
            for name in ("z", "mask", "aux")
        }
        return Batch(x, function(self.y), **rest)


class MemberBags:
    """The bags of all members: one shared set, or one set of the same size each.

    Args:
        bags: One :class:`Bag` for all, or one per member.
        size: Number of members.
        dtype: Number type of floating-point segments.
        device: Where they are; :func:`~foveate.settings.current_device` unless given.
    """

    def __init__(
        self,
        bags: Bag | Sequence[Bag],
        size: int,
        dtype: torch.dtype = torch.float32,
        device: torch.device | None = None,
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
        self.device = current_device() if device is None else device
        self._source = source([bag.x for bag in sets], dtype, self.device)
        self.chunk: int | None = None
        self._buffer = Buffer()
        self.y = torch.stack([bag.y for bag in sets]).to(self.device)
        self._labels = self.y.flatten()
        numbers = torch.arange(size, device=self.device)[:, None]
        self._first = self.n * numbers if len(sets) > 1 else None  # bag of each member
        self.z = _joined([bag.z for bag in sets], "z", self.device)
        weight = _joined([bag.weight for bag in sets], "weight", self.device)
        equal = weight is None or bool((weight == 1).all())
        self.weight = None if weight is None or equal else weight.to(dtype)
        self.mask = _mask(sets, self.device)

    @property
    def stored_dtype(self) -> torch.dtype:
        """Number type of the stored segments, which batches have unless they are bytes."""
        return self._source.dtype

    @property
    def reuses(self) -> bool:
        """Whether the bags share a bank in memory that is smaller than they are."""
        if not isinstance(self._source, Banks) or self._source.mapped:
            return False
        return self._source.length < self.n * self.m

    @property
    def rising_ids(self) -> bool:
        """Whether the bags share a bank of identifiers in rising order."""
        return isinstance(self._source, Banks) and self._source.rising_ids

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

    @property
    def from_file(self) -> bool:
        """Whether the segments are read from a mapped file."""
        return self._source.mapped

    def prefetch(self, rows: Tensor, members: Tensor) -> None:
        """Prefetch the bags at ``rows`` (S', B) of members, where they are in a file."""
        if isinstance(self._source, Banks) and self._source.mapped:
            sets = torch.zeros_like(members) if self.shared else members
            bags = rows + self.n * sets[:, None]
            self._source.prefetch(bags, self.masks(rows, members))

    def lengths(self, rows: Tensor, members: Tensor) -> Tensor:
        """How many columns the bags at ``rows`` (S', B) of members use, shape (S', B)."""
        mask = self.masks(rows, members)
        if mask is None:
            return torch.full_like(rows, self.m)
        return (mask * torch.arange(1, self.m + 1, device=self.device)).amax(-1)

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
        all_members = torch.arange(self.size, device=self.device)
        member_ids = all_members if members is None else members
        sets = torch.zeros_like(member_ids) if self.shared else member_ids
        bags = rows + self.n * sets[:, None]
        mask = self.masks(rows, member_ids)
        used = self.m if first is None else first
        if mask is not None:
            mask = mask[..., :used]
            if trim:
                used = int(mask.flatten(0, 1).any(0).nonzero()[-1]) + 1
                mask = mask[..., :used]
        buffer = self._buffer if reuse else None
        x = self._source.segments(BatchRequest(sets, bags, used, whole, self.chunk, buffer))
        z = gather_rows(self.z, bags)[..., :used] if with_z and self.z is not None else None
        weight = None if self.weight is None else gather_rows(self.weight, bags)
        return Batch(x, gather_rows(self.y, bags), z, mask, aux, weight)

    def single_bags(self, rows: Tensor, member: Tensor, trim: bool) -> Iterator[Batch] | None:
        """Views of the bags at ``rows`` (1, B) of a member, each a batch with an axis of one step.

        The same as :meth:`batch` for each, with what can be computed for all bags at once computed
        once. None where the segments are rows of a bank.

        Args:
            rows: The bags.
            member: The member, shape (1,).
            trim: Whether columns after a bag's last segment are dropped.
        """
        if not isinstance(self._source, Dense) or self.chunk is not None:
            return None
        return self._views(self._source, rows, member, trim)

    def _views(self, dense: Dense, rows: Tensor, member: Tensor, trim: bool) -> Iterator[Batch]:
        at = rows if self.shared else rows + self.n * member
        y = self._labels[at[0]].view(-1, 1, 1, 1).unbind()
        masks = None if self.mask is None else self.masks(rows, member)
        used = self.lengths(rows, member)[0].tolist() if trim else [self.m] * len(y)
        for i, (bag, length) in enumerate(zip(at[0].tolist(), used, strict=True)):
            mask = None if masks is None else masks[None, :, i : i + 1, :length]
            yield Batch(dense.one(bag, length)[None], y[i], mask=mask)

    def mean(self, loss: Tensor, rows: Tensor, members: Tensor) -> Tensor:
        """The weighted mean of losses (S', B) of the bags at ``rows`` of members, shape (S',)."""
        if self.weight is None:
            return loss.mean(1)
        sets = torch.zeros_like(members) if self.shared else members
        weight = gather_rows(self.weight, rows + self.n * sets[:, None])
        return (loss * weight).sum(1) / weight.sum(1)

    def windows(self, rows: Tensor, size: int) -> Iterator[Batch]:
        """Batches with a leading axis of steps, without relevance; each may overwrite the last.

        Segments of a few numbers are cut for several steps at once, others for one.

        Args:
            rows: The bags of each member in order, shape (S, n).
            size: Bags per step.
        """
        whole = rows.shape[1] - rows.shape[1] % size if self._cuts_together else 0
        if whole and isinstance(self._source, Dense):
            numbers = self.size * size * self.m * prod(self.segment_shape)
            at_once = size * max(1, MAX_CUT // numbers)
            used = rows if whole == rows.shape[1] else rows[:, :whole]
            for step_rows in (used,) if whole <= at_once else used.split(at_once, 1):
                bags = step_rows if self._first is None else step_rows + self._first
                y = self._labels.index_select(0, bags.flatten()).view(self.size, -1, size)
                x = self._source.narrow_segments(bags, size, self._buffer)
                yield Batch(x, y.transpose(0, 1))
        if whole < rows.shape[1]:
            steps = rows[:, whole:].split(size, 1)
            all_members = torch.arange(self.size, device=self.device)
            for step_rows, following in zip_longest(steps, steps[1:]):
                if following is not None:
                    self.prefetch(following, all_members)
                batch = self.batch(step_rows, with_z=False, trim=True, reuse=True)
                yield batch.map(lambda value: value.unsqueeze(0))

    @property
    def _cuts_together(self) -> bool:
        narrow = isinstance(self._source, Dense) and self._source.narrow
        return narrow and self.mask is None and self.chunk is None


def _mask(sets: list[Bag], device: torch.device) -> Tensor | None:
    if all(bag.mask is None for bag in sets):
        return None
    full = torch.ones(sets[0].shape, dtype=torch.bool)
    return torch.stack([full if bag.mask is None else bag.mask for bag in sets]).to(device)


def _joined(parts: list[Tensor | None], name: str, device: torch.device) -> Tensor | None:
    present = [part for part in parts if part is not None]
    if not present:
        return None
    if len(present) != len(parts):
        raise FoveateError(f"{name} must be known for the bags of all members or of none")
    return torch.stack(present).to(device)
