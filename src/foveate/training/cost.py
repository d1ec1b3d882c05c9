"""Cost of training a paradigm, counted in multiplications of f and g."""

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from foveate.attention.paradigms import Paradigm, Progress
from foveate.bags.segments import dense
from foveate.errors import FoveateError
from foveate.models.focus import AttentionModel

__all__ = ["epochs_within", "training_cost"]


def training_cost(
    rule: Paradigm, model: AttentionModel, shape: tuple[int, ...], m: int, epochs: int
) -> float:
    """Multiplications per training bag over all epochs, forward: m·f plus the calls of g.

    The backward pass costs twice the forward pass in every paradigm, so ratios stay the same.

    Args:
        rule: The paradigm, whose phases may cost differently.
        model: Its model.
        shape: Shape of one segment.
        m: Segments per bag.
        epochs: Passes over the bags.
    """
    return _total(rule, _per_segment(rule, model, shape, m), m, epochs)


def epochs_within(
    budget: float, rule: Paradigm, model: AttentionModel, shape: tuple[int, ...], m: int
) -> int:
    """The number of epochs that fit a budget of multiplications per bag, at least one."""
    if not rule.fixed_schedule:
        raise FoveateError(
            "equal compute needs a switch epoch that is known in advance, got 'plateau'"
        )
    costs = _per_segment(rule, model, shape, m)
    low, high = 1, 2
    while _total(rule, costs, m, high) <= budget:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        fits = _total(rule, costs, m, middle) <= budget
        low, high = (middle, high) if fits else (low, middle)
    return low


def _total(rule: Paradigm, costs: tuple[float, float], m: int, epochs: int) -> float:
    calls = [rule.phase(Progress(epoch, epochs)).calls(m) for epoch in range(epochs)]
    return epochs * m * costs[0] + sum(calls) * costs[1]


@torch.no_grad()
def _per_segment(
    rule: Paradigm, model: AttentionModel, shape: tuple[int, ...], m: int
) -> tuple[float, float]:
    """Multiplications of f for one segment, and of one call of g."""
    model.eval()
    bag = torch.zeros(1, m, *shape)
    with FlopCounterMode(display=False) as counter:
        focus = model.attend(bag, None)
    focus_cost = counter.get_total_flops() / (2 * m)
    h = dense(focus.h)
    return focus_cost, _multiplications(model.g, h if rule.whole_bag else h[:, 0])


def _multiplications(network: nn.Module, x: torch.Tensor) -> float:
    with FlopCounterMode(display=False) as counter:
        network(x)
    return counter.get_total_flops() / 2
