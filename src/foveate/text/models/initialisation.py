"""Initial weights that do not depend on how many modules a model has."""

import torch
from torch import nn

from foveate.randomness import generator

__all__ = ["draw_by_module"]


def draw_by_module(model: nn.Module, *name: str | int) -> None:
    """Redraw the parameters of every module, each from a stream with its name.

    Modules constructed one after the other share one stream, so that one more module changes the
    weights of all that follow it. Here ``out.weight`` is the same whatever precedes it.
    torch's global generator is left as it was.

    Args:
        model: Its modules with a ``reset_parameters`` method are redrawn.
        name: Decides all weights, together with each module's path in the model.

    Example:
        >>> few, many = (nn.Sequential(nn.Linear(2, 3), nn.Linear(3, k)) for k in (1, 5))
        >>> for model in (few, many):
        ...     draw_by_module(model, "doctest")
        >>> torch.equal(few[0].weight, many[0].weight)
        True
    """
    for path, module in model.named_modules():
        reset = getattr(module, "reset_parameters", None)
        if reset is None:
            continue
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(generator("weights", *name, path).initial_seed() % 2**63)
            reset()
