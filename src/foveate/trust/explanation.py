r"""Evidence: what each segment says for and against each class, and how much it was looked at.

.. math:: e_{jc} = \alpha_j \Big(g_c(h_j) - \tfrac1C \sum_k g_k(h_j)\Big)

is the centred logit of class c of segment j read by itself, times its attention. Logits are centred
over the classes because a classifier's answer does not change when all its logits grow alike. Where
g is affine and the mixture is read (soft attention), and always where logits are averaged, the
evidence of a bag's segments sums to the bag's own centred logits. Elsewhere it does not: g of a
mixture is not the mixture of g, hard attention reads the top segment alone, and the marginal
likelihood averages probabilities. There it says what the attended segments say one by one.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import torch
from torch import Tensor

from foveate.attention.paradigms import Paradigm
from foveate.bags.bag import Bag
from foveate.bags.mapped import note_read
from foveate.bags.segments import (
    Mosaics,
    Segments,
    as_mosaics,
    group_by_length,
    on_device,
    tensors_of,
)
from foveate.errors import FoveateError
from foveate.models.focus import AttentionModel
from foveate.settings import current_device
from foveate.training.stack import Stack
from foveate.types import Array

__all__ = ["Explained", "explain", "lengths_of"]

ELEMENTS = 2**24  # numbers of segments read at a time: 64 MB in single precision


@dataclass(frozen=True)
class Explained:
    """What the members of a stack make of n bags, segment by segment.

    Args:
        log_p: Log-probabilities of the classes, one row a member, shape (S, n, C).
        alpha: Attention, mean over members, one array (m_i,) a bag.
        evidence: Evidence e, mean over members, one array (m_i, C) a bag; empty unless asked for.
        alone: Centred logits of each segment read as a bag of its own, mean over members, one array
            (m_i, C) a bag; empty unless evidence is asked for.
        members: Log-probabilities of single members, shape (M, n, C), where ``log_p`` is one row,
            their mixture; None where ``log_p`` has them.
    """

    log_p: Array
    alpha: list[Array]
    evidence: list[Array]
    alone: list[Array] = field(default_factory=list)
    members: Array | None = None

    @property
    def p(self) -> Array:
        """Probabilities of the classes, mean over members, shape (n, C)."""
        mean: Array = np.exp(self.log_p.astype(np.float64)).mean(0)
        return mean / mean.sum(1, keepdims=True)


@torch.no_grad()
def explain(
    stack: Stack,
    bag: Bag,
    paradigm: Paradigm,
    *,
    with_evidence: bool = True,
    report: Callable[[int, int], None] | None = None,
) -> Explained:
    """Predictions, attention and evidence of every bag; bags of like length are read together.

    Memory is bounded by a number of segments, not by the longest bag of all.

    Args:
        stack: The models.
        bag: What they read.
        paradigm: Whose inference.
        with_evidence: Whether evidence is wanted too, for which every segment is classified.
        report: Called as ``report(bags done, bags)``.
    """
    if paradigm.whole_bag:
        raise FoveateError("a classifier of whole bags says nothing of single segments")
    stack = stack.on(current_device())
    stack.model.eval()
    lengths, rule, done = lengths_of(bag), paradigm.objective(), 0
    log_p: list[Any] = [None] * len(bag)
    alpha: list[Array] = [np.empty(0)] * len(bag)
    evidence: list[Array] = [np.empty(0)] * len(bag) if with_evidence else []
    alone = list(evidence)
    stored = tensors_of(bag.x)[0]
    most = ELEMENTS // (prod(bag.segment_shape) * len(stack))
    for rows in group_by_length(lengths, most):
        note_read(stored, int(lengths[rows].sum()))
        x, mask = _segments(bag, rows, stack.dtype)
        visible = None if mask is None else mask.to(stack.device)
        task = _reading_task(on_device(x, stack.device), visible, rule, with_evidence)
        logs, weights, *outputs = (part.cpu() for part in stack.run(task))
        for k, row in enumerate(rows.tolist()):
            present = slice(None) if mask is None else mask[k]
            log_p[row] = logs[:, k].numpy()
            alpha[row] = weights[:, k].mean(0)[present].numpy()
            if with_evidence:
                evidence[row] = outputs[0][:, k].mean(0)[present].numpy()
                alone[row] = outputs[1][:, k].mean(0)[present].numpy()
        done += len(rows)
        if report is not None:
            report(done, len(bag))
    return Explained(np.stack(log_p, 1), alpha, evidence, alone)


def lengths_of(bag: Bag) -> Tensor:
    """Number of segments of each bag, shape (n,)."""
    return torch.full((len(bag),), bag.m) if bag.mask is None else bag.mask.sum(1)


def _reading_task(
    x: Segments, mask: Tensor | None, rule: Paradigm, with_evidence: bool
) -> Callable[..., tuple[Tensor, ...]]:
    """A task that closes over the bags, so that all members of a stack share one copy of them."""

    def read(model: AttentionModel) -> tuple[Tensor, ...]:
        focus = model.attend(x, mask)
        if not with_evidence:
            alpha = rule.segment_weights(focus.alpha, focus.h, model.g)
            return rule.log_prob(focus.alpha, focus.h, model.g), alpha
        h, g = rule.classify_once(focus.h, model.g)
        alpha = rule.segment_weights(focus.alpha, h, g)
        evidence = rule.evidence(focus.alpha, h, g), rule.segment_logits(focus.alpha, h, g)
        return rule.log_prob(focus.alpha, h, g), alpha, *evidence

    return read


def _segments(bag: Bag, rows: Tensor, dtype: torch.dtype) -> tuple[Segments, Tensor | None]:
    """The bags at ``rows`` without columns that none of them uses; one bag alone as it lies."""
    mask = None if bag.mask is None else bag.mask[rows]
    used = slice(None)
    if mask is not None:
        used = slice(0, int(mask.any(0).nonzero()[-1]) + 1)
        mask = mask[:, used]
        mask = None if bool(mask.all()) else mask
    bank, index, _ = as_mosaics(bag.x)
    index = index[rows][:, used]
    if len(rows) == 1 and bool((index[0].diff() == 1).all()):
        first = int(index[0, 0])
        return _as_dtype(bank[None, first : first + index.shape[1]], dtype), mask
    if len(bank) < index.numel():
        return Mosaics(_as_dtype(bank, dtype), index), mask
    return _as_dtype(bank[index], dtype), mask


def _as_dtype(x: Tensor, dtype: torch.dtype) -> Tensor:
    return x.to(dtype) if x.is_floating_point() else x
