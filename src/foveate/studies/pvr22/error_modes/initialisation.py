"""Initial weights of trainings on the error modes: the authors', and random ones. [pvr22] Sec. 4

The authors' weights of modes 1 and 2 are, to the last published digit, what PyTorch gives two
linear layers when its generator is seeded with 1238 (mode 1) or 1246 (mode 2) before *each* of
them; so the first numbers of g repeat those of f. Seed 1236 gives the published f of mode 3, from
which its unpublished g is drawn here in the same way.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import torch
from torch import nn

from foveate.models.focus import FCAM
from foveate.models.nets import pair
from foveate.training.stack import Build

__all__ = ["AUTHORS", "Start", "authors_build", "random_build"]


class Start(NamedTuple):
    """Initial weights as published; ``seed`` is the one that gives them."""

    f_w: tuple[float, float]
    f_b: float
    seed: int
    g_w: tuple[tuple[float, float], ...] = ()
    g_b: tuple[float, ...] = ()


AUTHORS: Mapping[int, Start] = {  # [pvr22] released scripts
    1: Start(
        (-0.063556, 0.520661),
        -0.459336,
        1238,
        ((-0.063556, 0.520661), (-0.459336, 0.48499), (-0.577011, 0.036423)),
        (-0.509008, -0.038394, 0.348013),
    ),
    2: Start(
        (0.410272, 0.013044),
        -0.230612,
        1246,
        ((0.410272, 0.013044), (-0.230612, -0.505145), (0.131171, -0.681405)),
        (0.465503, 0.506412, 0.677099),
    ),
    3: Start((-0.639647, -0.48231), 0.115822, 1236),
}
NETS = {1: ("linear", 3), 2: ("linear", 3), 3: ("mode3", 6)}


def authors_build(mode: int, *, first: bool = True) -> Build:
    """Makes the authors' initial model of a mode.

    Args:
        mode: 1, 2 or 3.
        first: In mode 3, whether g is drawn as the authors' seed draws it; else a member's own seed
            decides it, for the authors' g is not published.
    """
    return partial(_authors, mode, first)


def random_build(mode: int, tied: bool = False) -> Build:
    """Makes a model with random weights, which a member's seed decides.

    Args:
        mode: 1, 2 or 3.
        tied: Whether f and g are drawn from the same numbers, as in the released scripts.
    """
    return partial(_random, mode, tied)


def _random(mode: int, tied: bool) -> FCAM:
    before = torch.random.get_rng_state()
    f, g, _ = pair(NETS[mode][0], (2,), NETS[mode][1])
    if tied:
        torch.random.set_rng_state(before)  # a stack builds under a generator of the member's own
        _reinitialise(g)
    return FCAM(f, g)


def _authors(mode: int, first: bool) -> FCAM:
    start = AUTHORS[mode]
    f, g, _ = pair(NETS[mode][0], (2,), NETS[mode][1])
    _set(_linears(f)[0], [start.f_w], [start.f_b])
    if start.g_w:
        _set(_linears(g)[0], start.g_w, start.g_b)
    elif first:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(start.seed)
            _reinitialise(g)
    return FCAM(f, g)


def _set(layer: nn.Linear, w: Sequence[Sequence[float]], b: Sequence[float]) -> None:
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(w))
        layer.bias.copy_(torch.tensor(b))


def _reinitialise(net: nn.Module) -> None:
    for layer in _linears(net):
        layer.reset_parameters()


def _linears(net: nn.Module) -> list[nn.Linear]:
    return [layer for layer in net.modules() if isinstance(layer, nn.Linear)]
