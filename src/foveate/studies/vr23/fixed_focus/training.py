"""Members, bags and measurements of a fixed-focus training."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

import torch
from torch import Tensor, nn

from foveate.attention.paradigms import PARADIGMS
from foveate.bags.bag import Bag
from foveate.bags.segments import Mosaics, as_input, shared_bank
from foveate.data.orthogonal import points
from foveate.data.sdc import BACKGROUND
from foveate.errors import FoveateError
from foveate.models.focus import FixedFocus
from foveate.randomness import generator
from foveate.records.record import Record
from foveate.studies.vr23.incentive import measure_incentive
from foveate.training.loop import Probe, Training, fit
from foveate.training.plan import Plan
from foveate.types import FloatArray, StepProgress

__all__ = [
    "Line",
    "measure_orthogonal",
    "measure_weights",
    "population",
    "shrink",
    "theory_direction",
    "train_fixed",
    "zero_linear",
]

Line = tuple[str, float]
"""A curve's paradigm and learning rate."""


def train_fixed(
    g: Callable[[], nn.Module],
    bags: Sequence[tuple[Bag, Bag]],
    lines: Sequence[Line],
    alphas: Sequence[float],
    plan: Plan,
    probe: Probe,
    checkpoint: Path,
    progress: StepProgress,
) -> Record:
    """Train g under every fixed focus, paradigm, rate and seed as one stack.

    Args:
        g: Makes an untrained classifier.
        bags: Training and held-out bags of each seed.
        lines: Paradigm and learning rate of each curve.
        alphas: The fixed values of the focus.
        plan: The rest of the training.
        probe: What is measured besides.
        checkpoint: Where an interrupted training resumes.
        progress: Called as ``progress(epochs done, epochs)``.

    Returns:
        A record whose members are lines × alphas × seeds, in this order.
    """
    members = list(product(lines, alphas, range(len(bags))))
    record = fit(
        [partial(_fixed_focus, g, alpha) for _, alpha, _ in members],
        [bags[seed][0] for *_, seed in members],
        [bags[seed][1] for *_, seed in members],
        [PARADIGMS.get(paradigm)() for (paradigm, _), *_ in members],
        seeds=[seed for *_, seed in members],
        plan=plan,
        lr=tuple(lr for (_, lr), *_ in members),
        checkpoint=checkpoint,
        report=progress,
        probe=probe,
    )
    n = len(bags[0][0])
    grid = {"lines": list(lines), "alphas": list(alphas), "momentum": plan.momentum, "n": n}
    meta = {**record.meta, **grid, "steps_per_epoch": -(-n // plan.batch)}
    return replace(record, meta=meta, final={"losses": record.final["losses"]})


def _fixed_focus(g: Callable[[], nn.Module], alpha: float) -> FixedFocus:
    return FixedFocus(g(), alpha)


def zero_linear(classes: int) -> nn.Module:
    """The linear classifier of the setting; the theorems need zero weights at the start."""
    g = nn.Linear(classes + 1, classes, bias=False)
    nn.init.zeros_(g.weight)
    return g


def population(classes: int, m: int) -> Bag:
    """Bags on which the mean loss has the population's gradient as long as g ignores background.

    Every label twice, the second time with the background mirrored, so that its mean is 0.
    """
    kind = torch.full((classes, m), BACKGROUND)
    kind[:, 0] = torch.arange(classes)
    x = points(classes, kind.flatten(), generator("fixed-focus", "population"))
    x = x.unflatten(0, kind.shape)
    signed_x = torch.where(kind == BACKGROUND, -1.0, 1.0)[..., None] * x
    return Bag(
        torch.cat([x, signed_x]),
        torch.arange(classes).repeat(2),
        (torch.arange(m) == 0).expand(2 * classes, -1).clone(),
    )


def shrink(bags: Sequence[Bag], side: int) -> list[Bag]:
    """Bags of images averaged to ``side`` pixels a side, all cut from one new bank.

    Averaging commutes with the mixing of soft attention. Images of that size stay as they are.
    """
    if bags[0].segment_shape[-1] == side:
        return list(bags)
    banks = [x for bag in bags if (x := shared_bank(bag.x)) is not None]
    if len(banks) != len(bags) or any(x.bank is not banks[0].bank for x in banks):
        raise FoveateError("only bags that are cut from one bank can be shrunk")
    used = torch.unique(torch.cat([x.index.flatten() for x in banks]))
    images = as_input(banks[0].bank[used])
    pooled = nn.functional.avg_pool2d(images, images.shape[-1] // side)
    return [
        replace(bag, x=Mosaics(pooled, torch.searchsorted(used, x.index)))
        for bag, x in zip(bags, banks, strict=True)
    ]


def theory_direction(classes: int) -> Tensor:
    r"""The matrix with rows :math:`s_k - \bar s` that Theorem 1 scales, shape (C, C + 1)."""
    direction = torch.eye(classes, classes + 1, dtype=torch.float64)
    direction[:, :classes] -= 1 / classes
    return direction


def measure_weights(training: Training) -> dict[str, FloatArray]:
    r"""Components of the weights along Theorem 1's direction and orthogonal to it.

    The theorem says :math:`w_k = \mu (s_k - \bar s)`, which has ``off`` = 0. Each has shape (S,).
    """
    w = training.stack.unflatten(training.stack.flat)["g.weight"].double()
    direction = theory_direction(w.shape[1])
    mu = (w * direction).sum((1, 2)) / direction.square().sum()
    off = (w - mu[:, None, None] * direction).square().sum((1, 2)).sqrt() / direction.norm()
    return {"mu": mu.numpy(), "off": off.numpy()}


def measure_orthogonal(training: Training) -> dict[str, FloatArray]:
    """Incentives and weights together, each of shape (S,)."""
    return measure_incentive(training) | measure_weights(training)
