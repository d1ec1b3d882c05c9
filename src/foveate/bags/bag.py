"""Bag: what a data set hands over, and all that a model may see of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from foveate.bags.segments import Mosaics, Segments, dense
from foveate.errors import FoveateError

__all__ = ["Bag", "pad"]


@dataclass(frozen=True)
class Bag:
    """A batch of n labelled bags of at most m segments.

    Args:
        x: Segments, shape (n, m, *), or :class:`~foveate.bags.segments.Mosaics` cut from a bank.
        y: Labels 0 … C−1, shape (n,).
        z: Relevance of each segment where it is known, boolean, shape (n, m). Only metrics and
            probes read it (and models that say so by name).
        mask: True where a segment exists, shape (n, m); None where all bags have m segments.
        group: Which bags belong together (a patient, a source), shape (n,).

    Example:
        >>> bag = Bag(torch.randn(4, 3, 2), torch.tensor([0, 1, 1, 0]))
        >>> len(bag), bag.m, bag.take(torch.tensor([2])).y.tolist()
        (4, 3, [1])
    """

    x: Segments
    y: Tensor
    z: Tensor | None = None
    mask: Tensor | None = None
    group: Tensor | None = None

    def __post_init__(self) -> None:
        n, m = self.shape
        _must_fit("y", self.y, (n,))
        for name, part in (("z", self.z), ("mask", self.mask)):
            if part is not None:
                _must_fit(name, part, (n, m))
                if part.dtype != torch.bool:
                    raise FoveateError(f"{name} must be boolean, got {part.dtype}")
        if self.group is not None:
            _must_fit("group", self.group, (n,))
        if self.y.is_floating_point() or (n and int(self.y.min()) < 0):
            raise FoveateError("y must hold whole numbers from 0 on, one per bag")
        some = torch.ones(n, m, dtype=torch.bool).any(1) if self.mask is None else self.mask.any(1)
        if not bool(some.all()):
            row = int((~some).nonzero()[0])
            raise FoveateError(f"every bag needs a segment: bag {row} has none")
        _must_point_into_the_bank(self.x)
        _must_be_finite(self.x)

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of bags n and of segments m (the longest bag's, where they differ)."""
        lead = self.x.index if isinstance(self.x, Mosaics) else self.x
        if lead.dim() < 2:
            raise FoveateError(f"x must have shape (n, m, …), got {tuple(lead.shape)}")
        return lead.shape[0], lead.shape[1]

    @property
    def m(self) -> int:
        """Segments per bag (of the longest)."""
        return self.shape[1]

    @property
    def segment_shape(self) -> tuple[int, ...]:
        """Shape of one segment."""
        x = self.x
        return tuple(x.bank.shape[1:]) if isinstance(x, Mosaics) else tuple(x.shape[2:])

    def take(self, rows: Tensor | slice) -> "Bag":
        """The bags at ``rows``, sharing the bank."""
        x = (
            Mosaics(self.x.bank, self.x.index[rows])
            if isinstance(self.x, Mosaics)
            else self.x[rows]
        )
        others = {k: getattr(self, k) for k in ("y", "z", "mask", "group")}
        # Some of the bags that were found sound are sound: the bank that they share may be large,
        # and is not gone through again.
        taken = object.__new__(Bag)
        object.__setattr__(taken, "x", x)
        for name, part in others.items():
            object.__setattr__(taken, name, None if part is None else part[rows])
        return taken

    def dense(self) -> Tensor:
        """All segments as floats, shape (n, m, *)."""
        return dense(self.x)


def pad(
    bags: Sequence[Tensor],
    y: Tensor,
    z: Sequence[Tensor] | None = None,
    group: Tensor | None = None,
) -> Bag:
    """Ragged bags as one :class:`Bag`: the rows are stored once, without padding, behind an index.

    Args:
        bags: One tensor (m_i, *) per bag.
        y: Labels, shape (n,).
        z: One boolean tensor (m_i,) per bag.
        group: Groups, shape (n,).

    Example:
        >>> bag = pad([torch.ones(2, 3), torch.ones(1, 3)], torch.tensor([0, 1]))
        >>> bag.mask.tolist()
        [[True, True], [True, False]]
    """
    if not bags:
        raise FoveateError("at least one bag is needed, got none")
    for i, bag in enumerate(bags):
        if bag.shape[1:] != bags[0].shape[1:]:
            shapes = f"bag {i} has {tuple(bag.shape[1:])}, bag 0 {tuple(bags[0].shape[1:])}"
            raise FoveateError(f"segments must have one shape: {shapes}")
    length = torch.tensor([len(bag) for bag in bags])
    place = torch.arange(max(1, int(length.max())))
    mask = place < length[:, None]
    start = length.cumsum(0) - length
    index = torch.where(mask, start[:, None] + place, 0)
    relevant = None
    if z is not None:
        if len(z) != len(bags):
            raise FoveateError(f"z must be given for all {len(bags)} bags, got {len(z)}")
        for i, (own, count) in enumerate(zip(z, length.tolist(), strict=True)):
            if len(own) != count:
                raise FoveateError(f"z of bag {i} must name {count} segments, got {len(own)}")
        relevant = torch.zeros_like(mask)
        relevant[mask] = torch.cat(list(z)).bool()
    return Bag(Mosaics(torch.cat(list(bags)), index), y, relevant, mask, group)


def _must_fit(name: str, part: Tensor, shape: tuple[int, ...]) -> None:
    if tuple(part.shape) != shape:
        raise FoveateError(f"{name} must have shape {shape}, got {tuple(part.shape)}")


def _must_point_into_the_bank(x: Segments) -> None:
    if isinstance(x, Mosaics) and x.index.numel():
        low, high = (int(end) for end in x.index.aminmax())
        if low < 0 or high >= len(x.bank):
            odd = low if low < 0 else high
            raise FoveateError(f"index must point into the bank of {len(x.bank)} rows, got {odd}")


def _must_be_finite(x: Segments) -> None:
    values = x.bank if isinstance(x, Mosaics) else x
    if not values.is_floating_point():
        return
    # In parts: what is computed of a large bank would be larger than it.
    if not all(bool(torch.isfinite(part).all()) for part in values.split(2**14)):
        row = int((~torch.isfinite(values.reshape(len(values), -1))).any(1).nonzero()[0])
        where = "row of the bank" if isinstance(x, Mosaics) else "bag"
        raise FoveateError(f"segments must be finite: {where} {row} holds NaN or infinity")
