"""Inputs of an epoch: the order of the bags and the auxiliary inputs of paradigms.

The seed of a member and the epoch alone decide the random numbers, whichever members are trained
together and whatever was drawn before.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from foveate.attention.paradigms import Paradigm
from foveate.errors import FoveateError
from foveate.models.focus import AttentionModel
from foveate.randomness import generator
from foveate.training.stack import Batch, MemberBags, Stack

__all__ = ["EpochInputs", "gather_bags", "split", "split_at"]


def split(n: int, seeds: tuple[int, ...], share: float) -> tuple[Tensor, Tensor]:
    """Rows to train on and rows to validate on, for each member, shapes (S, n') and (S, n'').

    Args:
        n: Number of bags.
        seeds: One per member; decides its split.
        share: Share of the bags to validate on.
    """
    if share == 0:
        return torch.arange(n).expand(len(seeds), -1), torch.empty(len(seeds), 0, dtype=torch.long)
    cut = round(n * (1 - share))
    if not 0 < cut < n:
        raise FoveateError(f"a validation share of {share} leaves no bags on one side of {n}")
    order = torch.stack([torch.randperm(n, generator=generator("split", seed)) for seed in seeds])
    return order[:, :cut], order[:, cut:]


def split_at(n: int, members: int, validation: Tensor) -> tuple[Tensor, Tensor]:
    """Rows to train on and given rows to validate on, the same for all members.

    Args:
        n: Number of bags.
        members: Number of members S.
        validation: Rows to validate on, shape (n',).

    Example:
        >>> [rows.tolist() for rows in split_at(4, 1, torch.tensor([1, 3]))]
        [[[0, 2]], [[1, 3]]]
    """
    kept = torch.ones(n, dtype=torch.bool)
    kept[validation] = False
    if not bool(kept.any()) or not len(validation):
        raise FoveateError(f"{len(validation)} validation bags leave no bags on one side of {n}")
    return kept.nonzero()[:, 0].expand(members, -1), validation.expand(members, -1)


@dataclass(frozen=True)
class EpochInputs:
    """Computes the inputs of an epoch from the seeds and, for E-steps, from the models.

    Args:
        stack: The models.
        bags: Their bags.
        rows: Which of them each member is trained on, shape (S, n).
        seeds: One per member.
        at_once: Bags read at a time.
    """

    stack: Stack
    bags: MemberBags
    rows: Tensor
    seeds: tuple[int, ...]
    at_once: int

    def order(self, epoch: int) -> Tensor:
        """The order of each member's training bags, shape (S, n)."""
        generators = [generator("order", seed, epoch) for seed in self.seeds]
        return torch.stack([torch.randperm(self.rows.shape[1], generator=c) for c in generators])

    def aux(self, phase: Paradigm, members: Tensor, epoch: int) -> Tensor | None:
        """The auxiliary input of a paradigm for every training bag of some members, (S', n, …)."""
        if phase.recalls:
            return self._recall(phase, members)
        if phase.draws:
            return self._draws(phase.draws, members, epoch)
        return self._picks(phase.picks, members, epoch) if phase.picks else None

    def _draws(self, count: int, members: Tensor, epoch: int) -> Tensor:
        """Uniform numbers for every training bag, shape (S', n, count)."""
        shape, dtype = (self.rows.shape[1], count), self.stack.dtype
        generators = [generator("draws", self.seeds[i], epoch) for i in members.tolist()]
        return torch.stack([torch.rand(shape, generator=c, dtype=dtype) for c in generators])

    def _picks(self, count: int, members: Tensor, epoch: int) -> Tensor:
        """Positions of uniformly drawn segments of every training bag, shape (S', n, count)."""
        drawn = self._draws(count, members, epoch)
        mask = self.bags.masks(self.rows[members], members)
        if mask is None:
            return (drawn * self.bags.m).long()
        nth = (drawn * mask.sum(-1, keepdim=True)).long()
        return torch.searchsorted(mask.long().cumsum(-1), nth + 1)

    @torch.no_grad()
    def _recall(self, phase: Paradigm, members: Tensor) -> Tensor:
        """The result of the paradigm's E-step for every training bag, shape (S', n, …)."""
        self.stack.model.eval()  # must not change the statistics of batch norm
        parts = []
        for rows in self.rows[members].split(self.at_once, 1):
            batch = self.bags.batch(rows, members)
            parts.append(self.stack.run(_remember, batch, phase, members=members))
        return torch.cat(parts, 1)


def gather_bags(values: Tensor, rows: Tensor) -> Tensor:
    """The values (S', n, …) of the bags at ``rows`` (S', B), shape (S', B, …)."""
    index = rows.reshape(*rows.shape, *[1] * (values.dim() - 2))
    return values.gather(1, index.expand(*rows.shape, *values.shape[2:]))


def _remember(model: AttentionModel, batch: Batch, phase: Paradigm) -> Tensor:
    focus = model.attend(batch.x, batch.mask, batch.z)
    return phase.remember(focus.alpha, focus.h, model.g, batch.y)
