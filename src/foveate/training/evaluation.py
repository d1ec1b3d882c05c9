"""Probes: trained models and bags in, arrays out."""

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import torch
from numpy.typing import NDArray
from torch import Tensor

from foveate.attention.paradigms import PARADIGMS, Paradigm
from foveate.bags.bag import Bag
from foveate.bags.segments import take
from foveate.metrics.metric import METRICS, Evaluation
from foveate.models.focus import AttentionModel
from foveate.training.stack import Batch, MemberBags, Stack
from foveate.types import FloatArray

__all__ = ["Reading", "measure", "read", "read_stack"]

ELEMENTS = 2**25  # numbers held at a time while reading: 128 MB in single precision


class Reading(NamedTuple):
    """What a model makes of n bags; with a leading axis of members when read from a stack.

    Args:
        s: Focus scores, shape (n, m).
        alpha: Attention, shape (n, m).
        log_p: Log-probabilities of the classes under the inference asked for, shape (n, C).
        loss: The paradigm's loss, shape (n,).
    """

    s: Tensor
    alpha: Tensor
    log_p: Tensor
    loss: Tensor


def read(model: AttentionModel, bag: Bag, paradigm: str | Paradigm = "soft") -> Reading:
    """Read any model under any paradigm's inference.

    Args:
        model: A trained model.
        bag: What it reads.
        paradigm: Whose inference, by name or as an object.

    Example:
        >>> import foveate as fv
        >>> _, test = fv.load("error-mode-1", n=60, seed=0)
        >>> reading = read(fv.FCAM(fv.mlp(2, 1), fv.mlp(2, 3)), test, "soft")
        >>> reading.alpha.sum(1).allclose(torch.ones(len(test)))
        True
    """
    rule = PARADIGMS.get(paradigm)() if isinstance(paradigm, str) else paradigm
    dtype = next((p.dtype for p in model.parameters()), torch.float32)
    stack = Stack(lambda: model, [0], dtype)
    trains = model.training
    part = read_stack(stack, MemberBags(bag, 1, dtype), rule)
    model.train(trains)  # as it was given
    return Reading(*(value[0] for value in part))


@torch.no_grad()
def read_stack(
    stack: Stack,
    pile: MemberBags,
    paradigm: Paradigm,
    members: Tensor | None = None,
    rows: Tensor | None = None,
) -> Reading:
    """Every member's reading of its bags; a row of a bank is scored once, whoever holds it.

    Args:
        stack: The models.
        pile: Their bags.
        paradigm: Whose inference and loss.
        members: Which members; None for all.
        rows: Which bags of each of these members, shape (S', n'); None for all.
    """
    stack.model.eval()
    size = len(stack) if members is None else len(members)
    rows = torch.arange(pile.n).expand(size, -1) if rows is None else rows
    at_once = max(1, ELEMENTS // (size * pile.m * max(1, prod(pile.segment_shape))))
    # A bank smaller than the bags cut from it is read whole, so that nothing is scored twice.
    outer = pile.n if pile.reuses else at_once
    parts = []
    for here in rows.split(outer, 1):
        batch = pile.batch(here, members)
        parts.append(stack.run(_reading, batch, paradigm.objective(), at_once, members=members))
    return Reading(*(_joined(part, 1) for part in zip(*parts, strict=True)))


def _reading(model: AttentionModel, batch: Batch, rule: Paradigm, at_once: int) -> Reading:
    focus = model.attend(batch.x, batch.mask, batch.z)
    h, g = rule.classify_once(focus.h, model.g)  # for the prediction and for the loss
    read_off = []
    for start in range(0, len(batch.y), at_once):
        part = slice(start, start + at_once)
        read_off.append(rule.read(focus.alpha[part], take(h, part), g, batch.y[part]))
    log_p, loss = (_joined(column, 0) for column in zip(*read_off, strict=True))
    if rule.uses_attention:
        return Reading(focus.s, focus.alpha, log_p, loss)
    weights = rule.segment_weights(focus.alpha, h, g)
    return Reading(weights.clamp_min(torch.finfo(weights.dtype).tiny).log(), weights, log_p, loss)


def _joined(parts: Sequence[Tensor], axis: int) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(list(parts), axis)


def measure(reading: Reading, pile: MemberBags) -> dict[str, FloatArray]:
    """Every registered metric of a reading: one number a member, shape (S,), or an array (S, …).

    Metrics of focus need the relevant segments z; without them only the others are given.
    """
    evaluation = Evaluation(
        # scores are only compared with each other, so that their own precision is enough
        s=_apart(reading.s),
        scores_alpha=_apart(reading.alpha),
        alpha=_apart(reading.alpha.double()),
        log_p=_apart(reading.log_p.double()),
        loss=reading.loss.double().numpy(),
        y=pile.y.numpy(),
        z=None if pile.z is None else _apart(pile.z),
        mask=None if pile.mask is None else _apart(pile.mask),
    )
    return {
        name: metric.compute(evaluation)
        for name, metric in METRICS.items()
        if evaluation.z is not None or not metric.needs_relevance
    }


def _apart(values: Tensor) -> NDArray[Any]:
    """An array (S, n, m) whose segments lie apart in memory: sums over them run along the bags."""
    return values.mT.contiguous().mT.numpy()
