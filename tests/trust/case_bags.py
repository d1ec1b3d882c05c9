"""Bags in which a few numbers tell the class, and linear models that read them."""

import functools

import torch
from torch import nn

from foveate.bags.bag import Bag
from foveate.models.focus import FCAM
from foveate.trust.auditor import audit
from foveate.trust.examine import examine

CLASSES = ("a", "b", "c")
N, M, WIDTH = 240, 8, 5
TAG = 3  # the number of a segment that a tag or a stain writes to


@functools.cache
def case_bags(case="plain", n=N, seed=0):
    """Bags whose relevant segments have 5 in the number of their class."""
    chance = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % 3
    x = torch.randn(n, M, WIDTH, generator=chance)
    count = 3 if case == "several" else 1
    order = torch.rand(n, M, generator=chance).argsort(1)
    z = torch.zeros(n, M, dtype=torch.bool).scatter(1, order[:, :count], True)
    if case == "absent":
        z &= (y != 2)[:, None]
    x += 5 * z[..., None] * nn.functional.one_hot(y, WIDTH)[:, None]
    if case == "tag":  # one background segment tells the class as well
        x[torch.arange(n), order[:, -1], TAG] = 8.0 + 4 * y
    if case == "stain":
        x[..., TAG] = 8.0 * y[:, None]
    return Bag(x, y, z)


def linear_model(f_w, g_w, g_b):
    with torch.random.fork_rng(devices=[]):
        f, g = nn.Linear(WIDTH, 1), nn.Linear(WIDTH, 3)
    with torch.no_grad():
        f.weight.copy_(torch.tensor([f_w]))
        g.weight.copy_(torch.tensor(g_w))
        g.bias.copy_(torch.tensor(g_b))
    return FCAM(f, g)


def good():
    """Looks where a class speaks and reads it there; without evidence its answer is arbitrary."""
    g_w = [[3.0 * (i == j) for j in range(WIDTH)] for i in range(3)]
    return linear_model([6.0, 6.0, 6.0, 0.0, 0.0], g_w, [0.0, 0.0, 0.0])


def shortcut():
    """Looks at the tag and reads the class off its height."""
    g_w = [[0.0] * TAG + [2.0 * (8 + 4 * c), 0.0] for c in range(3)]
    return linear_model(
        [0.0, 0.0, 0.0, 6.0, 0.0], g_w, [-float((8 + 4 * c) ** 2) for c in range(3)]
    )


@functools.cache
def audited(case):
    bag = case_bags(case)
    return audit([Bag(bag.x, bag.y)], 3)


def examined(model, case, *, known=False, **flags):
    bag = case_bags(case)
    subject = [model, model]
    bags = bag if known else Bag(bag.x, bag.y)
    return examine(subject, "soft", bags, CLASSES, audited=audited(case), probe=False, **flags)


def grades(trust):
    return [entry["verdict"]["grade"] for entry in trust.by_class]
