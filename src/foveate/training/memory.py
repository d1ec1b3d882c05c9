"""Memory limits of a training step: all bags at once, in parts, or segments in chunks.

A step whose segments fit in memory is computed at once. A larger one is split into parts of bags of
similar length: its gradient is the weighted mean of theirs, and only one part is copied or stored
for the backward pass at a time. Convolutional networks, whose members run one after another anyway,
use parts that fit the processor cache, which halves the time of a step. Where the activations of a
single bag exceed the limit, or where bags share the rows of a bank, segments are read from the bank
in chunks and recomputed in the backward pass, which takes twice as long. With parts or chunks,
members run one after another.
"""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import torch
from torch import Tensor

from foveate.attention.paradigms import Paradigm
from foveate.bags.segments import dense, map_segments
from foveate.models.focus import AttentionModel
from foveate.training.stack import Batch, MemberBags, Stack

__all__ = ["StepLimits", "limit_memory"]

LOGITS = 2**24  # logits of one step held at a time: beyond, segments are classified in chunks
NUMBERS = 2**25  # numbers of a member's dense segments in one step: beyond, parts or chunks
CHUNK = 2**22  # numbers of the segments of a part or a chunk: 16 MB in single precision
CONVOLVED = 2**19  # the same for convolutions, whose activations are many times larger


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
