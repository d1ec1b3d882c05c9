"""A learned first segment in every bag that takes the attention where there is no evidence."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from foveate.bags.bag import Bag
from foveate.bags.segments import Mosaics, Segments, as_mosaics, replace_first
from foveate.models.focus import AttentionModel, Focus

__all__ = ["NullSegment", "add_null_segment"]


class NullSegment(AttentionModel):
    """Any model that reads numeric segments, with segment 0 of every bag learned.

    The content of the bags at position 0 (see :func:`add_null_segment`) is never read. The null
    segment is initialised to zeros, the mean segment of standardised columns.

    Args:
        model: The model that reads the bags.
        shape: Shape of one segment.
    """

    def __init__(self, model: AttentionModel, shape: Sequence[int]) -> None:
        super().__init__()
        self.model = model
        self.null = nn.Parameter(torch.zeros(*shape))

    @property
    def g(self) -> nn.Module:  # type: ignore[override]
        """The classifier of the inner model."""
        return self.model.g

    @property
    def unwrapped(self) -> AttentionModel:
        """The inner model."""
        return self.model.unwrapped

    def attend(self, x: Segments, mask: Tensor | None, z: Tensor | None = None) -> Focus:
        return self.model.attend(replace_first(x, self.null), mask, z)


def add_null_segment(bag: Bag, row: Tensor | None = None, has_z: Tensor | None = None) -> Bag:
    """The bags with one more segment at position 0, which is row 0 of the bank.

    Args:
        bag: Bags cut from a bank.
        row: The content of that segment, shape of a segment; zeros unless given.
        has_z: Whether the relevance of each bag is known, shape (n,); where it is and no segment
            is relevant, the null segment is.

    Example:
        >>> from foveate.bags.bag import pad
        >>> bag = pad([torch.ones(2, 3), torch.ones(1, 3)], torch.tensor([0, 1]))
        >>> add_null_segment(bag).x.index.tolist()
        [[0, 1, 2], [0, 3, 1]]
    """
    bank, index, _ = as_mosaics(bag.x)
    first = torch.zeros_like(bank[:1]) if row is None else row[None].to(bank.dtype)
    zero, n = index.new_zeros(len(index), 1), len(index)
    valid = torch.ones_like(zero, dtype=torch.bool)
    z = bag.z
    if z is not None:
        known_bags = torch.ones(n, dtype=torch.bool) if has_z is None else has_z
        z = torch.cat([(known_bags & ~z.any(1))[:, None], z], 1)
    mask = None if bag.mask is None else torch.cat([valid, bag.mask], 1)
    x = Mosaics(torch.cat([first, bank]), torch.cat([zero, index + 1], 1))
    return Bag(x, bag.y, z, mask, bag.group, bag.weight)
