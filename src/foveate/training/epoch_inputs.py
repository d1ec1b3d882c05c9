"""Inputs of an epoch: order of the bags, phase of each member, auxiliary inputs of paradigms.

The seed of a member and the epoch alone decide the random numbers, whichever members are trained
together and whatever was drawn before.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from foveate.attention.paradigms import PARADIGMS, Paradigm, Progress
from foveate.errors import FoveateError
from foveate.models.focus import AttentionModel
from foveate.randomness import generator
from foveate.training.stack import Batch, MemberBags, Stack

__all__ = [
    "EpochInputs",
    "Group",
    "gather_bags",
    "grouped",
    "member_progress",
    "per_member",
    "split",
    "split_at",
]


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


def split_at(n: int, validation: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Rows to train on and given rows to validate on, for each member, (S, n') and (S, n'').

    Where members have different numbers of rows, the shorter lists are filled up by repeating
    their rows from the first on.

    Args:
        n: Number of bags.
        validation: Rows that each member is validated on, one tensor per member.

    Example:
        >>> rows = split_at(5, [torch.tensor([1, 3]), torch.tensor([0])])
        >>> [part.tolist() for part in rows]
        [[[0, 2, 4, 0], [1, 2, 3, 4]], [[1, 3], [0, 0]]]
    """
    training_rows = torch.ones(len(validation), n, dtype=torch.bool)
    for member, rows in enumerate(validation):
        training_rows[member, rows] = False
    if bool((training_rows.sum(1) == 0).any()) or any(len(rows) == 0 for rows in validation):
        sizes = sorted({len(rows) for rows in validation})
        raise FoveateError(f"{sizes} validation bags leave no bags on one side of {n}")
    return _filled([row_mask.nonzero()[:, 0] for row_mask in training_rows]), _filled(validation)


def _filled(lists: Sequence[Tensor]) -> Tensor:
    """Lists of rows as one matrix, shorter ones repeated from their first row on."""
    longest = max(len(rows) for rows in lists)
    return torch.stack([rows[torch.arange(longest) % len(rows)] for rows in lists])


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
        n = self.rows.shape[1]
        order = torch.stack([torch.randperm(n, generator=rng) for rng in generators])
        return order.to(self.rows.device)

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
        draws = torch.stack([torch.rand(shape, generator=c, dtype=dtype) for c in generators])
        return draws.to(self.rows.device)

    def _picks(self, count: int, members: Tensor, epoch: int) -> Tensor:
        """Positions of uniformly drawn segments of every training bag, shape (S', n, count)."""
        uniform = self._draws(count, members, epoch)
        mask = self.bags.masks(self.rows[members], members)
        if mask is None:
            return (uniform * self.bags.m).long()
        nth = (uniform * mask.sum(-1, keepdim=True)).long()
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


class Group(NamedTuple):
    """Members in the same phase, in ascending order, shape (S',)."""

    phase: Paradigm
    members: Tensor


def member_progress(
    seeds: Sequence[int], epoch: int, epochs: int, losses: list[Tensor]
) -> list[Progress]:
    """The progress of each member at the start of an epoch.

    Args:
        seeds: The seed of each of S members.
        epoch: The epoch, from 0 on.
        epochs: The number of epochs planned.
        losses: Training losses of the epochs before, shape (S,) each.
    """
    return [
        Progress(epoch, epochs, seed, _LossHistory(losses, epoch, i))
        for i, seed in enumerate(seeds)
    ]


def grouped(phases: list[Paradigm], active: Tensor, separate: bool = False) -> list[Group]:
    """Active members grouped by phase.

    Args:
        phases: The paradigm of each member.
        active: Which members are trained, shape (S,).
        separate: Whether each member forms a separate group.
    """
    groups: dict[Any, list[int]] = {}
    for i, (phase, trained) in enumerate(zip(phases, active.tolist(), strict=True)):
        if trained:
            groups.setdefault((phase, i if separate else None), []).append(i)
    return [
        Group(phase, torch.tensor(members, device=active.device))
        for (phase, _), members in groups.items()
    ]


def per_member(value: Any, size: int) -> list[Any]:
    """One value per member, from a single value (a paradigm also by name) or one each.

    Example:
        >>> per_member(0.1, 3), per_member((0.1, 0.2), 2)
        ([0.1, 0.1, 0.1], [0.1, 0.2])
    """
    if isinstance(value, str):
        value = PARADIGMS.get(value)()
    values = list(value) if isinstance(value, Sequence) else [value] * size
    if len(values) != size:
        raise FoveateError(f"{size} members need as many values, got {len(values)}")
    return values


class _LossHistory(Sequence[float]):
    """One member's training losses up to an epoch, read on demand."""

    def __init__(self, losses: list[Tensor], epoch: int, member: int) -> None:
        self._losses, self._epoch, self._member = losses, epoch, member

    def __len__(self) -> int:
        return self._epoch

    def __getitem__(self, key: Any) -> Any:
        rows = range(self._epoch)[key]
        if isinstance(rows, range):
            return [float(self._losses[k][self._member]) for k in rows]
        return float(self._losses[rows][self._member])
