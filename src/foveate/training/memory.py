"""How much of a step is held at a time: all of it, a few of its bags, or a chunk of its segments.

A step whose segments fit is taken at once. A larger one is taken a part after the other, bags of
like length together: its gradient is the mean of theirs, and no more than one part is ever copied
or kept for the way back. Convolutions, whose members take turns anyhow, fit where they fit a cache:
half the time of a step at once. Where what a single bag leaves for the way back is too much, or
where bags share the rows of a bank, segments are read from the bank a chunk at a time, and again on
the way back, which takes twice as long. Either way members take turns.
"""

from dataclasses import replace
from math import prod
from typing import Any

import torch
from torch import Tensor

from foveate.attention.paradigms import Paradigm
from foveate.bags.segments import dense, map_segments
from foveate.models.focus import AttentionModel
from foveate.training.stack import Batch, MemberBags, Stack

__all__ = ["bounded", "in_chunks"]

LOGITS = 2**24  # logits of one step held at a time: beyond, segments are classified in chunks
NUMBERS = 2**25  # of a member's segments in one step, written out: beyond, parts or chunks
CHUNK = 2**22  # numbers of the segments of a part or a chunk: 16 MB in single precision
CONVOLVED = 2**19  # where networks convolve: their maps, many times that, then stay in the cache


def bounded(
    stack: Stack,
    train: MemberBags,
    test: MemberBags,
    rules: list[Paradigm],
    rows: Tensor,
    batch: int,
) -> tuple[list[Paradigm], int | None]:
    """Have a stack and its piles hold no more than fits.

    Args:
        stack: The models.
        train: The bags that they are trained on.
        test: The bags that they are measured on.
        rules: The paradigm of each member.
        rows: Which bags each member is trained on, shape (S, n).
        batch: Bags of a step, where there are as many.

    Returns:
        The paradigms, classifying in chunks where logits would not fit; how many segments a part
        of a step has at most, or None where steps are taken at once.
    """
    part = _part(stack, train, test, rules, min(batch, rows.shape[1]))
    held = len(stack) * batch * train.m if part is None else max(part, train.m)
    members = None if part is None else torch.tensor([0])
    one = train.batch(rows[:, :1] if members is None else rows[:1, :1], members)
    stack.model.eval()  # a look ahead of training leaves no trace in batch norm's statistics
    classes = int(stack.run(_width, one, rules[0], members=members)[0])
    if held * classes <= LOGITS:
        return rules, part
    stack.together = False
    return [in_chunks(rule, max(1, LOGITS // classes)) for rule in rules], part


def _part(
    stack: Stack, train: MemberBags, test: MemberBags, rules: list[Paradigm], batch: int
) -> int | None:
    width = max(1, prod(train.segment_shape))
    numbers = batch * train.m * width
    if stack.mixes_rows or (stack.together and numbers <= NUMBERS):
        return None
    if numbers <= NUMBERS:
        return None if numbers <= CONVOLVED or train.repeats(batch) else CONVOLVED // width
    stack.together = False
    at_once = max(1, CHUNK // width)
    by_parts = not train.repeats(batch) and (
        train.m * width <= NUMBERS or _leaves_little(stack, train, rules)
    )
    if not by_parts:
        train.in_chunks(at_once)
    if not by_parts or test.m * width > NUMBERS:
        test.in_chunks(at_once)
    return at_once if by_parts else None


def _leaves_little(stack: Stack, pile: MemberBags, rules: list[Paradigm]) -> bool:
    """Whether what the largest bag leaves for the way back fits, however large the bag itself."""
    if any(rule.whole_bag for rule in rules):
        return False
    return pile.m * _left_by_a_segment(stack, pile) <= NUMBERS


def _left_by_a_segment(stack: Stack, pile: MemberBags) -> int:
    """How many numbers a segment that is attended and classified leaves for the way back.

    Those of the segment itself count where they are a copy, not where they are read as they lie.
    """
    who = torch.tensor([0])
    longest = pile.lengths(torch.arange(pile.n)[None], who).argmax(1, keepdim=True)
    one, two = (_left(stack, pile, pile.batch(longest, who, first=count)) for count in (1, 2))
    return two - one


def _left(stack: Stack, pile: MemberBags, batch: Batch) -> int:
    kept: dict[int, int] = {}

    def keep(x: Tensor) -> Tensor:
        if not pile.holds(x):
            kept[x.untyped_storage().data_ptr()] = x.numel()
        return x

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        stack.gradients(_attended_and_classified, batch, members=torch.tensor([0]))
    return sum(kept.values())


def _attended_and_classified(model: AttentionModel, batch: Batch) -> Tensor:
    focus = model.attend(batch.x, None, batch.z)
    return focus.alpha.sum() + dense(map_segments(model.g, focus.h)).sum()


def _width(model: AttentionModel, batch: Batch, rule: Paradigm) -> Tensor:
    focus = model.attend(batch.x, batch.mask, batch.z)
    return torch.tensor(rule.log_prob(focus.alpha, focus.h, model.g).shape[-1])


def in_chunks(rule: Paradigm, chunk: int) -> Paradigm:
    """The rule, and those within it, with segments classified in chunks."""
    parts: dict[str, Any] = {"chunk": chunk} if getattr(rule, "chunk", 0) is None else {}
    if isinstance(inner := getattr(rule, "paradigm", None), Paradigm):
        parts["paradigm"] = in_chunks(inner, chunk)
    if isinstance(phases := getattr(rule, "phases", None), tuple):
        parts["phases"] = tuple(in_chunks(phase, chunk) for phase in phases)
    return replace(rule, **parts) if parts else rule  # type: ignore[type-var]
