"""The phase of each member of a training, and groups of members in the same phase."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from foveate.attention.paradigms import PARADIGMS, Paradigm, Progress
from foveate.errors import FoveateError

__all__ = ["Group", "grouped", "member_progress", "per_member"]


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
    return [Progress(epoch, epochs, seed, _Past(losses, epoch, i)) for i, seed in enumerate(seeds)]


def grouped(phases: list[Paradigm], active: Tensor, apart: bool = False) -> list[Group]:
    """Active members grouped by phase.

    Args:
        phases: The paradigm of each member.
        active: Which members are trained, shape (S,).
        apart: Whether each member forms a separate group.
    """
    groups: dict[Any, list[int]] = {}
    for i, (phase, trained) in enumerate(zip(phases, active.tolist(), strict=True)):
        if trained:
            groups.setdefault((phase, i if apart else None), []).append(i)
    return [Group(phase, torch.tensor(members)) for (phase, _), members in groups.items()]


def per_member(given: Any, size: int) -> list[Any]:
    """One value per member, from a single value (a paradigm also by name) or one each.

    Example:
        >>> per_member(0.1, 3), per_member((0.1, 0.2), 2)
        ([0.1, 0.1, 0.1], [0.1, 0.2])
    """
    if isinstance(given, str):
        given = PARADIGMS.get(given)()
    values = list(given) if isinstance(given, Sequence) else [given] * size
    if len(values) != size:
        raise FoveateError(f"{size} members need as many values, got {len(values)}")
    return values


class _Past(Sequence[float]):
    """One member's training losses up to an epoch, read on demand."""

    def __init__(self, losses: list[Tensor], epoch: int, member: int) -> None:
        self._losses, self._epoch, self._member = losses, epoch, member

    def __len__(self) -> int:
        return self._epoch

    def __getitem__(self, at: Any) -> Any:
        rows = range(self._epoch)[at]
        if isinstance(rows, range):
            return [float(self._losses[k][self._member]) for k in rows]
        return float(self._losses[rows][self._member])
