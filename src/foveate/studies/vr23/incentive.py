r"""The focus improvement incentive: decrease of the loss when the focus improves and g is fixed.

.. math:: \delta = \mathbf{E}\left[-\frac{d}{d\alpha} L(\alpha, g, X, y)\right]

Moving alpha by one moves the attention of a bag along one direction: towards the relevant
segments, away from the others, evenly. So the incentive is the slope of the loss along it, for any
data set, classifier and paradigm. [vr23] Sec. 3.2
"""

from math import prod
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from foveate.attention.likelihood import map_segments
from foveate.attention.paradigms import Paradigm
from foveate.errors import FoveateError
from foveate.models.focus import AttentionModel
from foveate.training.loop import Training
from foveate.training.stack import Batch, MemberBags, Stack
from foveate.types import FloatArray

__all__ = ["STEP", "Gain", "improvement", "incentives", "measure_incentive"]


STEP = 0.01  # [vr23] Sec. 3.2
ELEMENTS = 2**25  # numbers of segments held at a time: 128 MB in single precision

# A weight of exactly zero has no logarithm, so a loss in log space passes no slope to it. A weight
# that rounding cannot see does, and changes nothing else: alpha = 1 then has its true derivative.
UNSEEN = 1e-20


class Gain(NamedTuple):
    """Loss and incentive on some bags, each of shape (B,).

    Args:
        loss: The loss L(α).
        incentive: The exact derivative −dL/dα at a fixed classifier.
        difference: The paper's L(α) − L(min(α + .01, 1)) with the same classifier in both terms
            (the printed formula moves it along with α, against its definition in words); not
            divided by the step, and 0 at α = 1.
    """

    loss: Tensor
    incentive: Tensor
    difference: Tensor


def improvement(z: Tensor, mask: Tensor | None, dtype: torch.dtype) -> Tensor:
    r"""The derivative of attention, :math:`d a_j/d\alpha = z_j/|z| - (1-z_j)/(m-|z|)`.

    A bag whose segments are all relevant, or none, has derivative 0.

    Args:
        z: Relevance, boolean, shape (B, m).
        mask: True where a segment exists, shape (B, m).
        dtype: Number type of the result, shape (B, m). [vr23] Sec. 3
    """
    inside = z.to(dtype)
    outside = (1 - inside) if mask is None else (1 - inside) * mask.to(dtype)
    inside_count, outside_count = inside.sum(1, keepdim=True), outside.sum(1, keepdim=True)
    direction = inside / inside_count.clamp_min(1) - outside / outside_count.clamp_min(1)
    return direction * ((inside_count > 0) & (outside_count > 0))


def incentives(
    stack: Stack,
    member_bags: MemberBags,
    paradigm: Paradigm,
    members: Tensor | None = None,
    step: float = STEP,
) -> Gain:
    """Loss, incentive and finite difference of every member on each of its bags, (S', n).

    Args:
        stack: The models, which attend to bags as they do (:class:`FixedFocus`, or a trained one).
        member_bags: Their bags, whose relevant segments must be known.
        paradigm: Whose loss.
        members: Which members; None for all.
        step: Of the finite difference.
    """
    stack.model.eval()
    rule, size = paradigm.objective(), len(stack) if members is None else len(members)
    at_once = max(1, ELEMENTS // (size * member_bags.m * max(1, prod(member_bags.segment_shape))))
    # A bank smaller than the bags cut from it is classified whole, so that no row is twice.
    outer = member_bags.n if member_bags.reuses and rule.per_segment else at_once
    parts = []
    for rows in torch.arange(member_bags.n).expand(size, -1).split(outer, 1):
        shift = torch.zeros(rows.shape, dtype=stack.dtype, requires_grad=True)
        batch = member_bags.batch(rows, members, shift)
        loss, perturbed, stepped = stack.run(_losses, batch, rule, step, members=members)
        slope = torch.autograd.grad(perturbed.sum(), shift)[0]
        parts.append((loss, -slope, loss - stepped))
    return Gain(*(torch.cat(part, 1).detach() for part in zip(*parts, strict=True)))


def measure_incentive(training: Training) -> dict[str, FloatArray]:
    """A probe of a training: means over its training bags, one number a member, shape (S,)."""
    groups: dict[Paradigm, list[int]] = {}
    for i, rule in enumerate(training.paradigms):
        groups.setdefault(rule, []).append(i)
    values = {
        name: np.empty(len(training.seeds)) for name in ("set_loss", "incentive", "difference")
    }
    for rule, members in groups.items():
        gain = incentives(training.stack, training.train, rule, torch.tensor(members))
        for row, part in zip(values.values(), gain, strict=True):
            row[members] = part.double().mean(1).numpy()
    return values


def _losses(
    model: AttentionModel, batch: Batch, rule: Paradigm, step: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Each bag's loss at its alpha, at alpha + ``batch.aux`` (a leaf at 0), and a step nearer 1."""
    if batch.z is None or batch.aux is None:
        raise FoveateError("the incentive to improve the focus needs the relevant segments z")
    with torch.no_grad():
        focus = model.attend(batch.x, batch.mask, batch.z)
        h, g = focus.h, model.g
        if rule.per_segment:  # the output of g for a segment does not depend on the focus
            h, g = map_segments(model.g, h), torch.nn.Identity()
        direction = improvement(batch.z, batch.mask, focus.alpha.dtype)
        max_step = (1 - (focus.alpha * batch.z).sum(1)).clamp(0, step)
        loss = rule.loss(focus.alpha, h, g, batch.y)
        stepped = rule.loss(focus.alpha + max_step[:, None] * direction, h, g, batch.y)
    perturbed = rule.loss(focus.alpha + UNSEEN + batch.aux[:, None] * direction, h, g, batch.y)
    return loss, perturbed, stepped
