"""The :class:`Bag`: labelled bags as data sets return them and models read them."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from foveate.bags.mapped import consecutive, is_mapped
from foveate.bags.segments import (
    Mosaics,
    Segments,
    as_mosaics,
    dense,
    leading_shape,
    segment_shape,
    shared_bank,
    take,
    tensors_of,
)
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
        weight: Weight of each bag's loss in training, above 0, shape (n,); None for equal weights.

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
    weight: Tensor | None = None

    def __post_init__(self) -> None:
        n, m = self.shape
        _check_shape("y", self.y, (n,))
        for name, part in (("z", self.z), ("mask", self.mask)):
            if part is not None:
                _check_shape(name, part, (n, m))
                if part.dtype != torch.bool:
                    raise FoveateError(f"{name} must be boolean, got {part.dtype}")
        if self.group is not None:
            _check_shape("group", self.group, (n,))
        if self.weight is not None:
            _check_shape("weight", self.weight, (n,))
            _check_weight(self.weight)
        if self.y.is_floating_point() or (n and int(self.y.min()) < 0):
            raise FoveateError("y must hold whole numbers from 0 on, one per bag")
        filled = torch.full((n,), m > 0) if self.mask is None else self.mask.any(1)
        if not bool(filled.all()):
            row = int((~filled).nonzero()[0])
            raise FoveateError(f"every bag needs a segment: bag {row} has none")
        _check_index(self.x)
        _check_finite(self.x)

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of bags n and of segments m (of the longest bag)."""
        sizes = leading_shape(self.x)
        if len(sizes) < 2:
            raise FoveateError(f"x must have shape (n, m, …), got {sizes}")
        return sizes[0], sizes[1]

    @property
    def m(self) -> int:
        """Segments per bag (of the longest)."""
        return self.shape[1]

    @property
    def segment_shape(self) -> tuple[int, ...]:
        """Shape of one segment."""
        return segment_shape(self.x)

    @property
    def bank(self) -> Tensor:
        """Stored segments as rows, shape (N, *); of dense segments all n · m."""
        return as_mosaics(self.x).bank

    @property
    def index(self) -> Tensor:
        """The row of :attr:`bank` of every segment, shape (n, m)."""
        return as_mosaics(self.x).index

    def take(self, rows: Tensor | slice) -> "Bag":
        """The bags at ``rows``, sharing the bank."""
        # Checked bags stay valid: skip the checks, which would read the whole bank again.
        subset = object.__new__(Bag)
        object.__setattr__(subset, "x", take(self.x, rows))
        for name in ("y", "z", "mask", "group", "weight"):
            part = getattr(self, name)
            object.__setattr__(subset, name, None if part is None else part[rows])
        return subset

    def dense(self) -> Tensor:
        """All segments as floats, shape (n, m, *)."""
        return dense(self.x)


def pad(
    bags: Sequence[Tensor],
    y: Tensor,
    z: Sequence[Tensor] | None = None,
    group: Tensor | None = None,
) -> Bag:
    """Ragged bags as one :class:`Bag`: rows are stored once, without padding, behind an index.

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
    column = torch.arange(max(1, int(length.max())))
    mask = column < length[:, None]
    start = length.cumsum(0) - length
    index = torch.where(mask, start[:, None] + column, 0)
    relevance = None if z is None else _pad_relevance(z, mask)
    bank = consecutive(bags)
    bank = torch.cat(list(bags)) if bank is None else bank
    return Bag(Mosaics(bank, index), y, relevance, mask, group)


def _check_weight(weight: Tensor) -> None:
    odd = ~(weight.isfinite() & (weight > 0))
    if bool(odd.any()):
        row = int(odd.nonzero()[0])
        value = float(weight[row])
        raise FoveateError(f"weights must be above 0 and finite, that of bag {row} is {value}")


def _pad_relevance(z: Sequence[Tensor], mask: Tensor) -> Tensor:
    if len(z) != len(mask):
        raise FoveateError(f"z must be given for all {len(mask)} bags, got {len(z)}")
    for i, (relevance, count) in enumerate(zip(z, mask.sum(1).tolist(), strict=True)):
        if len(relevance) != count:
            raise FoveateError(f"z of bag {i} must name {count} segments, got {len(relevance)}")
    padded = torch.zeros_like(mask)
    padded[mask] = torch.cat(list(z)).bool()
    return padded


def _check_shape(name: str, part: Tensor, shape: tuple[int, ...]) -> None:
    if tuple(part.shape) != shape:
        raise FoveateError(f"{name} must have shape {shape}, got {tuple(part.shape)}")


def _check_index(x: Segments) -> None:
    shared = shared_bank(x)
    if shared is None or not shared.index.numel():
        return
    low, high = (int(end) for end in shared.index.aminmax())
    rows = len(shared.bank)
    if low < 0 or high >= rows:
        wrong = low if low < 0 else high
        raise FoveateError(f"index must point into the bank of {rows} rows, got {wrong}")


def _check_finite(x: Segments) -> None:
    values = tensors_of(x)[0]
    if not values.is_floating_point() or is_mapped(values):  # a mapped bank: checked when written
        return
    # In parts: a mask of a large bank would need as much memory as the bank.
    if not all(bool(torch.isfinite(part).all()) for part in values.split(2**14)):
        row = int((~torch.isfinite(values.reshape(len(values), -1))).any(1).nonzero()[0])
        where = "bag" if shared_bank(x) is None else "row of the bank"
        raise FoveateError(f"segments must be finite: {where} {row} holds NaN or infinity")
