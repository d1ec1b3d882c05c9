"""Evaluation of trained models: scores, attention, predictions and registered metrics."""

from collections.abc import Sequence
from itertools import zip_longest
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
from foveate.settings import current_device
from foveate.training.stack import Batch, MemberBags, Stack
from foveate.types import FloatArray

__all__ = ["Reading", "measure", "read", "read_stack"]

ELEMENTS = 2**25  # numbers held at a time while reading: 128 MB in single precision


class Reading(NamedTuple):
    """Scores, attention and predictions for n bags; of a stack with a leading axis of members.

    Args:
        s: Focus scores, shape (n, m).
        alpha: Attention, shape (n, m).
        log_p: Log-probabilities of the classes by the paradigm's inference, shape (n, C).
        loss: The paradigm's loss, shape (n,).
    """

    s: Tensor
    alpha: Tensor
    log_p: Tensor
    loss: Tensor


def read(model: AttentionModel, bag: Bag, paradigm: str | Paradigm = "soft") -> Reading:
    """Predict with a model under the inference rule of any paradigm.

    Args:
        model: A trained model.
        bag: The bags.
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
    device = next((p.device for p in model.parameters()), current_device())
    stack = Stack(lambda: model, [0], dtype, device)
    trains = model.training
    part = read_stack(stack, MemberBags(bag, 1, dtype, device), rule)
    model.train(trains)
    return Reading(*(value[0] for value in part))


@torch.no_grad()
def read_stack(
    stack: Stack,
    bags: MemberBags,
    paradigm: Paradigm,
    members: Tensor | None = None,
    rows: Tensor | None = None,
) -> Reading:
    """Evaluate every member on its bags; a row of a bank is scored once.

    The result is on the CPU, where metrics are computed.

    Args:
        stack: The models.
        bags: Their bags.
        paradigm: Whose inference and loss.
        members: Which members; None for all.
        rows: Which bags of each of these members, shape (S', n'); None for all.
    """
    stack.model.eval()
    size = len(stack) if members is None else len(members)
    rows = torch.arange(bags.n, device=bags.device).expand(size, -1) if rows is None else rows
    at_once = max(1, ELEMENTS // (size * bags.m * max(1, prod(bags.segment_shape))))
    # A bank smaller than its bags is scored as a whole, so that no row is scored twice.
    outer = bags.n if bags.reuses else at_once
    parts = []
    all_members = torch.arange(len(stack), device=bags.device)
    chunks = rows.split(outer, 1)
    for chunk, following in zip_longest(chunks, chunks[1:]):
        if following is not None and bags.from_file:
            bags.prefetch(following, all_members if members is None else members)
        batch = bags.batch(chunk, members)
        parts.append(stack.run(_reading, batch, paradigm.objective(), at_once, members=members))
    return Reading(*(_joined(part, 1).cpu() for part in zip(*parts, strict=True)))


def _reading(model: AttentionModel, batch: Batch, rule: Paradigm, at_once: int) -> Reading:
    focus = model.attend(batch.x, batch.mask, batch.z)
    h, g = rule.classify_once(focus.h, model.g)  # for the prediction and for the loss
    results = []
    for start in range(0, len(batch.y), at_once):
        part = slice(start, start + at_once)
        results.append(rule.read(focus.alpha[part], take(h, part), g, batch.y[part]))
    log_p, loss = (_joined(column, 0) for column in zip(*results, strict=True))
    if rule.uses_attention:
        return Reading(focus.s, focus.alpha, log_p, loss)
    weights = rule.segment_weights(focus.alpha, h, g)
    return Reading(weights.clamp_min(torch.finfo(weights.dtype).tiny).log(), weights, log_p, loss)


def _joined(parts: Sequence[Tensor], axis: int) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(list(parts), axis)


def measure(reading: Reading, bags: MemberBags) -> dict[str, FloatArray]:
    """Every registered metric of a reading: one number a member, shape (S,), or an array (S, …).

    Metrics of focus need the relevant segments z; without them only the others are given.
    """
    evaluation = Evaluation(
        # scores are only compared with each other, so that their own precision is enough
        s=_contiguous_bags(reading.s),
        scores_alpha=_contiguous_bags(reading.alpha),
        alpha=_contiguous_bags(reading.alpha.double()),
        log_p=_contiguous_bags(reading.log_p.double()),
        loss=reading.loss.double().numpy(),
        y=bags.y.cpu().numpy(),
        z=None if bags.z is None else _contiguous_bags(bags.z),
        mask=None if bags.mask is None else _contiguous_bags(bags.mask),
    )
    return {
        name: metric.compute(evaluation)
        for name, metric in METRICS.items()
        if evaluation.z is not None or not metric.needs_relevance
    }


def _contiguous_bags(values: Tensor) -> NDArray[Any]:
    """An array (S, n, m) with contiguous bags, so that sums over segments are vectorised."""
    return values.cpu().mT.contiguous().mT.numpy()
