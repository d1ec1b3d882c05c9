"""Bags and a model of another library, for the tests of such models."""

import torch
from torch import nn

from foveate.bags.bag import Bag


def ragged(n=12, m=6, d=8):
    chance = torch.Generator().manual_seed(0)
    x = torch.randn(n, m, d, generator=chance)
    mask = torch.ones(n, m, dtype=torch.bool)
    mask[0, 4:] = mask[3, 5:] = mask[7, 1:] = False
    return Bag(x, torch.arange(n) % 2, None, mask)


BAG = ragged()


class ABMIL(nn.Module):
    """A plain attention model; what it returns is decided by ``form``."""

    def __init__(self, form, classes=2, d=8):
        super().__init__()
        self.form, self.s, self.g = form, nn.Linear(d, 1), nn.Linear(d, classes)

    def forward(self, x, mask):
        s = self.s(x).squeeze(-1).masked_fill(~mask, -1e9)
        alpha = s.softmax(1)
        logits = self.g((alpha[..., None] * x).sum(1))
        return {
            "logits, scores": (logits, s),
            "weights, logits": (alpha, logits),
            "dict": {"attention": alpha, "logits": logits},
            "column": (logits, alpha[..., None]),
            "probabilities": (logits.softmax(1), alpha),
            "one logit": (logits[:, 1] - logits[:, 0], s),
            "sigmoid": ((logits[:, 1] - logits[:, 0]).sigmoid(), alpha),
        }[self.form]


def built(make, *arguments, **keywords):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return make(*arguments, **keywords).eval()
