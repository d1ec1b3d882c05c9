"""Loss and gradient of a training step within limits of memory.

A step whose segments fit in memory is computed at once, by closed formulas or by autograd. A larger
one is split into parts of bags of similar length: its gradient is the weighted mean of theirs, and
only one part is copied or stored for the backward pass at a time. Convolutional networks, whose
members run one after another anyway, use parts that fit the processor cache, which halves the time
of a step. Where the activations of a single bag exceed the limit, or where bags share the rows of a
bank, segments are read from the bank in chunks and recomputed in the backward pass, which takes
twice as long. With parts or chunks, members run one after another.
"""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from math import prod
from typing import NamedTuple

import torch
from torch import Tensor

from foveate.attention.likelihood import map_segments
from foveate.attention.paradigms import Paradigm
from foveate.bags.segments import dense, group_by_length
from foveate.models.focus import AttentionModel
from foveate.training.closed import ClosedGradients
from foveate.training.epoch_inputs import Group, gather_bags
from foveate.training.stack import Batch, MemberBags, Stack

__all__ = ["StepGradients", "StepLimits", "limit_memory"]

GROUPS = 8  # groups of similar length in a step, at least, where segments are compared
LOGITS = 2**24  # logits of one step held at a time: beyond, segments are classified in chunks
NUMBERS = 2**25  # numbers of a member's dense segments in one step: beyond, parts or chunks
CHUNK = 2**22  # numbers of the segments of a part or a chunk: 16 MB in single precision
CONVOLVED = 2**19  # the same for convolutions, whose activations are many times larger
LARGE_BAG = 2**17  # numbers of a bag from which on copying it takes longer than a step's overhead


class StepLimits(NamedTuple):
    """How a training stays within its memory limits.

    Args:
        paradigms: The paradigm of each member, classifying in chunks where logits would not fit.
        train: The training bags, read in chunks where needed.
        test: The held-out bags, read in chunks where needed.
        part: The largest number of segments in a part of a step; None for whole steps.
        together: Whether members run together under ``vmap``.
    """

    paradigms: list[Paradigm]
    train: MemberBags
    test: MemberBags
    part: int | None
    together: bool


def limit_memory(
    stack: Stack,
    train: MemberBags,
    test: MemberBags,
    paradigms: Sequence[Paradigm],
    rows: Tensor,
    batch: int,
) -> StepLimits:
    """Choose parts and chunks so that a training step fits in memory; changes no argument.

    Args:
        stack: The models.
        train: The bags that they are trained on.
        test: The bags that they are measured on.
        paradigms: The paradigm of each member.
        rows: Which bags each member is trained on, shape (S, n).
        batch: Bags per step.
    """
    limits = StepLimits(list(paradigms), train, test, None, stack.together)
    limits = _limit_segments(stack, limits, min(batch, rows.shape[1]))
    part, m = limits.part, train.m
    memory = len(stack) * batch * m if part is None else max(part, m)
    classes = _count_classes(stack, limits, rows)
    if memory * classes <= LOGITS:
        return limits
    chunked = [rule.in_chunks(max(1, LOGITS // classes)) for rule in limits.paradigms]
    return limits._replace(paradigms=chunked, together=False)


def _limit_segments(stack: Stack, limits: StepLimits, batch: int) -> StepLimits:
    train, test = limits.train, limits.test
    width = max(1, prod(train.segment_shape))
    numbers = batch * train.m * width
    if stack.mixes_rows or (stack.together and numbers <= NUMBERS):
        return limits
    if numbers <= NUMBERS:
        fits = numbers <= CONVOLVED or train.repeats(batch)
        return limits if fits else limits._replace(part=CONVOLVED // width)
    chunk = max(1, CHUNK // width)
    by_parts = not train.repeats(batch) and (
        train.m * width <= NUMBERS or _largest_bag_fits(stack, train, limits.paradigms)
    )
    return limits._replace(
        train=train if by_parts else train.in_chunks(chunk),
        test=test if by_parts and test.m * width <= NUMBERS else test.in_chunks(chunk),
        part=chunk if by_parts else None,
        together=False,
    )


def _largest_bag_fits(stack: Stack, bags: MemberBags, paradigms: Sequence[Paradigm]) -> bool:
    """Whether the activations stored for the largest bag fit, however large its segments are."""
    if any(rule.whole_bag for rule in paradigms):
        return False
    return bags.m * _stored_per_segment(stack, bags) <= NUMBERS


def _stored_per_segment(stack: Stack, bags: MemberBags) -> int:
    """How many numbers autograd stores for a segment that is attended and classified.

    The segment itself counts if it is copied, not if it is a view of the bags.
    """
    member = torch.tensor([0], device=bags.device)
    rows = torch.arange(bags.n, device=bags.device)[None]
    longest = bags.lengths(rows, member).argmax(1, keepdim=True)
    one, two = (_stored(stack, bags, bags.batch(longest, member, first=count)) for count in (1, 2))
    return two - one


def _stored(stack: Stack, bags: MemberBags, batch: Batch) -> int:
    sizes: dict[int, int] = {}

    def record_size(x: Tensor) -> Tensor:
        if not bags.holds(x):
            sizes[x.untyped_storage().data_ptr()] = x.numel()
        return x

    with torch.autograd.graph.saved_tensors_hooks(record_size, lambda x: x):
        stack.gradients(_attend_and_classify, batch, members=torch.tensor([0], device=stack.device))
    return sum(sizes.values())


def _attend_and_classify(model: AttentionModel, batch: Batch) -> Tensor:
    focus = model.attend(batch.x, None, batch.z)
    return focus.alpha.sum() + dense(map_segments(model.g, focus.h)).sum()


def _count_classes(stack: Stack, limits: StepLimits, rows: Tensor) -> int:
    """The number of classes, from the prediction for one bag."""
    member = torch.tensor([0], device=stack.device)
    stack.model.eval()  # this pass must not change the statistics of batch norm
    one = limits.train.batch(rows[:1, :1], member)
    return int(stack.run(_class_count, one, limits.paradigms[0], members=member)[0])


def _class_count(model: AttentionModel, batch: Batch, rule: Paradigm) -> Tensor:
    focus = model.attend(batch.x, batch.mask, batch.z)
    return torch.tensor(rule.log_prob(focus.alpha, focus.h, model.g).shape[-1])


class StepGradients:
    """Computes losses and gradients of the members of a stack on their bags.

    Args:
        stack: The models.
        bags: Their bags.
        rows: Which of them each member is trained on, shape (S, n).
        part: The largest number of segments in a part of a step; None for whole steps.
    """

    def __init__(self, stack: Stack, bags: MemberBags, rows: Tensor, part: int | None) -> None:
        self._stack, self._bags, self._rows, self._part = stack, bags, rows, part
        self.closed = ClosedGradients(stack)

    def in_windows(self, phase: Paradigm) -> bool:
        """Whether all members are trained by ``closed.steps`` on batches that are cut together."""
        return self._part is None and self._closed(phase) and not self._bag_by_bag(phase)

    def __call__(
        self, phase: Paradigm, positions: Tensor, aux: Tensor | None, members: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Mean loss and gradient of some members on the bags at positions in the epoch (S', B).

        A large step, which members compute one by one, is the weighted mean of its parts.
        """
        all_members = torch.arange(len(self._stack), device=self._rows.device)
        member_ids = all_members if members is None else members
        if self._bag_by_bag(phase):
            return self._sum_of_bags(phase, positions, aux, member_ids)
        if self._part is None and self._grouped:
            parts = [
                self._by_length(phase, positions[i : i + 1], _rows(aux, i), member_ids[i : i + 1])
                for i in range(len(member_ids))
            ]
            part_losses, grads = zip(*parts, strict=True)
            return torch.cat(part_losses), torch.cat(grads)
        if self._part is None:
            return self._at_once(phase, positions, aux, members)
        lengths = self._bags.lengths(self._rows[member_ids].gather(1, positions), member_ids)[0]
        losses = self._stack.flat.new_zeros(1)
        grad = self._stack.flat.new_zeros(1, self._stack.flat.shape[1])
        for some in group_by_length(lengths, self._part):
            part = self._at_once(phase, positions[:, some], aux, members)
            losses.add_(part[0], alpha=len(some) / len(lengths))
            grad.add_(part[1], alpha=len(some) / len(lengths))
        return losses, grad

    @property
    def _grouped(self) -> bool:
        """Whether the bags of a step are computed in groups of similar length."""
        compares = self._stack.model.unwrapped.compares_segments and not self._stack.mixes_rows
        return compares and self._bags.mask is not None

    def _by_length(
        self, phase: Paradigm, positions: Tensor, aux: Tensor | None, member: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Mean loss and gradient of one member, its bags in groups that are padded less."""
        lengths = self._bags.lengths(self._rows[member].gather(1, positions), member)[0]
        groups = list(group_by_length(lengths, len(lengths) * self._bags.m // GROUPS))
        shares = tuple(len(some) / len(lengths) for some in groups)
        batches = [
            self._batch(phase, positions[:, some], aux, member, reuse=False) for some in groups
        ]
        return self._stack.gradients(_mean_of_groups, phase, shares, *batches, members=member)

    def _closed(self, phase: Paradigm) -> bool:
        return self.closed.supports(phase, self._bags)

    def _bag_by_bag(self, phase: Paradigm) -> bool:
        """Whether bags are so large that each is computed alone, in place, without a copy."""
        numbers = self._bags.m * prod(self._bags.segment_shape)
        return numbers >= LARGE_BAG and self._closed(phase) and not self._bags.repeats(1)

    def _sum_of_bags(
        self, phase: Paradigm, positions: Tensor, aux: Tensor | None, member_ids: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Mean loss and gradient of members, one bag after another."""
        losses = self._stack.flat.new_zeros(len(member_ids))
        grad = self._stack.flat.new_zeros(len(member_ids), self._stack.flat.shape[1])
        for i, member in enumerate(member_ids.tolist()):
            windows = self._bags_in_turn(
                phase, positions[i : i + 1], _rows(aux, i), member_ids[i : i + 1]
            )
            loss, members = losses[i : i + 1], slice(member, member + 1)
            self.closed.steps(phase, windows, loss, grad[i : i + 1].add_, members)
        return losses.div_(positions.shape[1]), grad.div_(positions.shape[1])

    def _bags_in_turn(
        self, phase: Paradigm, positions: Tensor, aux: Tensor | None, member: Tensor
    ) -> Iterator[Batch]:
        """The bags of one member at positions (1, B), each a batch with an axis of one step."""
        if aux is None and not phase.needs_z:
            rows = self._rows[member].gather(1, positions)
            views = self._bags.single_bags(rows, member, trim=not phase.whole_bag)
            if views is not None:
                yield from views
                return
        bags = positions.split(1, 1)
        for position, following in zip_longest(bags, bags[1:]):
            if following is not None and self._bags.from_file:
                self._bags.prefetch(self._rows[member].gather(1, following), member)
            yield self._batch(phase, position, aux, member).map(_one_step)

    def prefetch(self, positions: Tensor, groups: Sequence[Group]) -> None:
        """Ask for the bags of a step at positions in the epoch (S, B) ahead.

        Members that take one bag after another ask for each on their own.
        """
        for phase, members in groups:
            if not self._bag_by_bag(phase):
                self._bags.prefetch(self._rows[members].gather(1, positions[members]), members)

    def _at_once(
        self, phase: Paradigm, positions: Tensor, aux: Tensor | None, members: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Mean loss and gradient by closed formulas where they exist, else by autograd."""
        batch = self._batch(phase, positions, aux, members)
        if self._closed(phase):
            return self.closed.gradients(phase, batch, members)
        return self._stack.gradients(_mean_loss, batch, phase, members=members)

    def _batch(
        self,
        phase: Paradigm,
        positions: Tensor,
        aux: Tensor | None,
        members: Tensor | None,
        *,
        reuse: bool = True,
    ) -> Batch:
        batch = self._bags.batch(
            (self._rows if members is None else self._rows[members]).gather(1, positions),
            members,
            None if aux is None else gather_bags(aux, positions),
            whole=not self._stack.mixes_rows,
            with_z=self._stack.model.needs_z or phase.needs_z,
            trim=not phase.whole_bag,
            reuse=reuse,
        )
        if phase.recalls and batch.aux is not None and batch.mask is not None:
            batch = batch._replace(aux=batch.aux[..., : batch.mask.shape[-1]])
        return batch


def _mean_loss(model: AttentionModel, batch: Batch, phase: Paradigm) -> Tensor:
    focus = model.attend(batch.x, batch.mask, batch.z)
    loss = phase.loss(focus.alpha, focus.h, model.g, batch.y, batch.aux)
    loss = loss + phase.relevance_loss(focus.alpha, batch.z) if phase.needs_z else loss
    return (loss if batch.weight is None else loss * batch.weight).mean()


def _mean_of_groups(
    model: AttentionModel, phase: Paradigm, shares: Sequence[float], *batches: Batch
) -> Tensor:
    """The mean loss of bags in groups, each with its share of the bags."""
    losses = [_mean_loss(model, batch, phase) for batch in batches]
    return torch.stack(losses) @ losses[0].new_tensor(shares)


def _rows(values: Tensor | None, member: int) -> Tensor | None:
    """The values of one member, with an axis of members."""
    return None if values is None else values[member : member + 1]


def _one_step(values: Tensor) -> Tensor:
    """Values of a batch with a leading axis of one step."""
    return values.unsqueeze(0)
