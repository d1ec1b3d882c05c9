"""Full-batch gradient descent on a whole population, to compare with the flow. [vr23] Sec. 4"""

from functools import partial

import torch
from torch import nn

from foveate.attention.paradigms import PARADIGMS
from foveate.bags.bag import Bag
from foveate.dynamics.vr23 import PARADIGMS as NAMES
from foveate.models.focus import FCAM
from foveate.settings import use_device
from foveate.training.loop import Training
from foveate.training.plan import Plan
from foveate.types import Array

__all__ = ["descend_population"]


def descend_population(m: int, C: int, lr: float, until: float) -> dict[str, Array]:
    """Full-batch gradient descent from zero weights, by the library's training loop.

    The background is exactly zero: its mean, which is all that the flow depends on.

    Args:
        m: Segments in a bag.
        C: Classes.
        lr: Learning rate; k steps are the time k · lr of the flow.
        until: Time to stop at.

    Returns:
        ``mu`` and ``nu`` after each step (steps + 1, 3), and the final weights ``f`` (3, C) and
        ``g`` (3, C, C), for the three paradigms.

    Example:
        >>> descend_population(3, 2, lr=0.5, until=1.0)["mu"].shape
        (3, 3)
    """
    x = torch.zeros(C, m, C, dtype=torch.float64)
    x[torch.arange(C), 0] = torch.eye(C, dtype=torch.float64)
    bag = Bag(x, torch.arange(C), torch.arange(m).expand(C, -1) == 0)
    steps = round(until / lr)
    plan = Plan(
        epochs=steps, batch=C, lr=lr, optimizer="sgd", momentum=0, dtype="float64", every=steps
    )
    rules = [PARADIGMS.get(name)() for name in NAMES]
    with use_device("cpu"):  # in double precision, which not every device has
        training = Training(partial(_zero_model, C), bag, bag, rules, [0] * len(NAMES), plan)
    path = [training.stack.flat.clone()]
    while not training.done:
        training.run_epoch()
        path.append(training.stack.flat.clone())
    f, g = torch.stack(path).split([C, C * C], -1)
    return {
        "mu": (g[..., 0] - g[..., 1]).numpy(),
        "nu": f[..., 0].numpy(),
        "f": f[-1].numpy(),
        "g": g[-1].numpy(),
    }


def _zero_model(C: int) -> FCAM:
    model = FCAM(nn.Linear(C, 1, bias=False), nn.Linear(C, C, bias=False))
    for weight in model.parameters():
        nn.init.zeros_(weight)
    return model
