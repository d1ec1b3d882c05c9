"""Training time per epoch against the bare forward and backward of f and g on the same tensors.

The bare loop has its batches ready as tensors and takes no optimiser step; the epoch of a training
draws its order, cuts its bags from the bank, steps and keeps its losses. At most 10 % overhead.
"""

import time
from collections.abc import Callable

import torch
from torch.nn.functional import cross_entropy

from foveate.attention.paradigms import PARADIGMS
from foveate.bags.bag import Bag
from foveate.bags.segments import Mosaics, as_input
from foveate.models.focus import FCAM
from foveate.models.nets import pair
from foveate.training.loop import Training
from foveate.training.plan import Plan

N, BATCH, REPEATS = 512, 256, 5


def mosaics(m: int) -> Bag:
    chance = torch.Generator().manual_seed(0)
    bank = torch.randint(256, (5000, 3, 32, 32), dtype=torch.uint8, generator=chance)
    index = torch.randint(5000, (N, m), generator=chance)
    return Bag(Mosaics(bank, index), torch.randint(3, (N,), generator=chance))


def model() -> FCAM:
    f, g, layer = pair("vr23", (3, 32, 32), 3)
    return FCAM(f, g, layer=layer)


def bare(net: FCAM, batches: list[tuple[torch.Tensor, torch.Tensor]], hard: bool) -> None:
    for x, y in batches:
        alpha = net.f(x.flatten(0, 1)).view(x.shape[:2]).softmax(1)
        if hard:
            log_p = net.g(x.flatten(0, 1)).log_softmax(1).unflatten(0, x.shape[:2])
            label_log_p = log_p.gather(2, y[:, None, None].expand(-1, x.shape[1], 1)).squeeze(2)
            loss = -(alpha * label_log_p).sum(1).mean()
        else:
            loss = cross_entropy(net.g(torch.einsum("bm,bmchw->bchw", alpha, x)), y)
        torch.autograd.grad(loss, list(net.parameters()))


def seconds(task: Callable[[], None]) -> float:
    start = time.process_time()
    task()
    return time.process_time() - start


def compare(rule: str, m: int) -> None:
    bag = mosaics(m)
    batches = [
        (as_input(bag.x.bank[bag.x.index[k : k + BATCH]]), bag.y[k : k + BATCH])
        for k in range(0, N, BATCH)
    ]
    training = Training(
        model,
        bag,
        bag.take(slice(0, 2)),
        PARADIGMS.get(rule)(),
        (0,),
        Plan(epochs=REPEATS + 1, every=REPEATS + 1, batch=BATCH, lr=0.05, optimizer="sgd"),
    )
    net = model()
    both = [
        (seconds(training.run_epoch), seconds(lambda: bare(net, batches, rule == "hard")))
        for _ in range(REPEATS)
    ][1:]  # the first of each warms up
    epoch, alone = (min(column) for column in zip(*both, strict=True))
    print(f"{rule:>5}, m = {m}: epoch {epoch:.3f} s, bare {alone:.3f} s, {epoch / alone - 1:+.1%}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(f"CIFAR networks of vr23, {N} mosaics in batches of {BATCH}, CPU seconds, best of 4")
    for name in ("soft", "hard"):
        compare(name, 5)
