"""Models whose weights are written down, so that what must be said of them is known."""

from dataclasses import replace

import torch

from foveate.bags.bag import Bag
from foveate.data import DATASETS
from foveate.data.orthogonal import linear_orthogonal
from foveate.models.focus import FCAM
from foveate.models.nets import linear

CLASSES = ("a", "b", "c")


def linear_model(f_w, g_w, g_b, map="softmax"):
    """f and g affine, with these weights."""
    with torch.random.fork_rng(devices=[]):
        f, g = linear(len(f_w), 1), linear(len(f_w), len(g_w))
    with torch.no_grad():
        f[1].weight.copy_(torch.tensor([f_w]))
        f[1].bias.zero_()
        g[1].weight.copy_(torch.tensor(g_w))
        g[1].bias.copy_(torch.tensor(g_b))
    return FCAM(f, g, map)


def nearest(centres, sharpness=2.0):
    """An affine classifier that says the nearest centre: logits 2 μ·x − |μ|²."""
    centres = torch.tensor(centres)
    weight, bias = 2 * centres, -(centres**2).sum(1)
    return (sharpness * weight).tolist(), (sharpness * bias).tolist()


def boxes(number, n=300, seed=0):
    return DATASETS.get(f"error-mode-{number}")().load("test", n=n, m=9, seed=seed)


def perfect():
    """f = 10 x₁ finds every foreground of mode 1; g reads background as class a: no harm."""
    return linear_model([10.0, 0.0], *nearest([(5.5, 3.0), (5.5, -4.0), (8.5, -1.0)]))


def background():
    """f = 10 (x₁ + x₂) passes over class b, and g reads the best of the background as b."""
    return linear_model([10.0, 10.0], *nearest([(5.5, 3.0), (1.7, 4.5), (8.5, -1.0)]))


def two_wrongs():
    """f = 10 x₁ ranks class c of mode 2 last, and g says c wherever x₁ is small."""
    return linear_model([10.0, 0.0], [[0.0, 1.0], [0.0, -1.0], [-40.0, 0.0]], [0.0, 0.0, 140.0])


def uniform():
    """Attention hardly differs, led by noise; g reads the class off the average."""
    g_w = [[900.0 * (i == j) for j in range(4)] for i in range(3)]
    return linear_model([0.0, 0.0, 0.0, 0.01], g_w, [0.0, 0.0, 0.0])


def axes(n=300, m=8):
    return linear_orthogonal(3).load("test", n=n, m=m, seed=0)


def without_z(bag):
    return replace(bag, z=None)


def padded(bag, extra=4):
    """The same bags with junk behind a mask."""
    x, z = bag.x, bag.z
    n, m = bag.shape
    junk = torch.full((n, extra, *x.shape[2:]), 77.0)
    mask = torch.arange(m + extra).expand(n, -1) < m
    wide = None if z is None else torch.cat([z, torch.ones(n, extra, dtype=torch.bool)], 1)
    return Bag(torch.cat([x, junk], 1), bag.y, wide, mask)
