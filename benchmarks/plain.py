"""The plain way: one model at a time, an ordinary PyTorch loop. What benchmarks compare against."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from foveate.bags.bag import Bag
from foveate.models.nets import pair


def loss(paradigm: str, f: nn.Module, g: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    B, m = x.shape[:2]
    alpha = f(x.flatten(0, 1)).view(B, m).softmax(1)
    if paradigm == "soft":
        mixed = torch.einsum("bm,bm...->b...", alpha, x)
        return F.cross_entropy(g(mixed), y)
    log_p = g(x.flatten(0, 1)).log_softmax(-1).view(B, m, -1)
    of_label = log_p.gather(2, y[:, None, None].expand(B, m, 1)).squeeze(2)
    if paradigm == "hard":
        return -(alpha * of_label).sum(1).mean()
    return -torch.logsumexp(alpha.log() + of_label, 1).mean()


def train(
    paradigm: str,
    bag: Bag,
    net: str,
    classes: int,
    *,
    epochs: int,
    batch: int,
    lr: float,
    optimizer: str,
) -> None:
    f, g, _ = pair(net, bag.segment_shape, classes)
    parameters = [*f.parameters(), *g.parameters()]
    if optimizer == "sgd":
        steps: torch.optim.Optimizer = torch.optim.SGD(parameters, lr, momentum=0.9)
    else:
        steps = torch.optim.Adam(parameters, lr)
    x, y = bag.dense(), bag.y
    for epoch in range(epochs):
        phase = paradigm if paradigm != "hybrid" else ("soft" if epoch < 0.8 * epochs else "hard")
        for rows in torch.randperm(len(y)).split(batch):
            steps.zero_grad()
            loss(phase, f, g, x[rows], y[rows]).backward()
            steps.step()
