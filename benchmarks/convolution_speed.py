"""A training step of the papers' CIFAR networks against the plain way in the same run.

The plain way is the same networks as the papers write them (convolution, ReLU, pooling, channels
first), forward and backward over the whole batch at once. Ours reads images with channels last,
pools first and takes the step in parts that fit the cache.
"""

import time
from collections.abc import Callable, Sequence

import torch
from torch import nn

from foveate.attention.paradigms import PARADIGMS
from foveate.bags.bag import Bag
from foveate.bags.segments import Mosaics, as_input
from foveate.models.focus import FCAM
from foveate.models.nets import pair
from foveate.models.published import Convolution
from foveate.training.loop import Training
from foveate.training.plan import Plan

BAGS, M, REPEATS = 256, 5, 5


def model() -> FCAM:
    f, g, layer = pair("vr23", (3, 32, 32), 3)
    return FCAM(f, g, layer=layer)


def plain(net: nn.Module) -> nn.Sequential:
    """The layers with torch's convolutions and the ReLU before the pooling."""
    layers: list[nn.Module] = []
    for layer in net.children():
        if isinstance(layer, Convolution):
            conv = nn.Conv2d(
                layer.in_channels,
                layer.out_channels,
                layer.kernel_size,  # type: ignore[arg-type]
                bias=layer.bias is not None,
            )
            conv.load_state_dict(layer.state_dict())
            layers.append(conv)
        elif isinstance(layer, nn.ReLU) and isinstance(layers[-1], nn.MaxPool2d):
            layers.insert(-1, layer)
        else:
            layers.append(layer)
    return nn.Sequential(*layers)


def in_one(
    rule: str, nets: Sequence[nn.Module], x: torch.Tensor, y: torch.Tensor
) -> Callable[[], None]:
    f, g = nets
    parameters = [p for net in nets for p in net.parameters()]
    paradigm = PARADIGMS.get(rule)()

    def step() -> None:
        alpha = f(x.flatten(0, 1)).view(x.shape[:2]).softmax(1)
        torch.autograd.grad(paradigm.loss(alpha, x, g, y).mean(), parameters)

    return step


def seconds(task: Callable[[], None]) -> float:
    start = time.process_time()
    task()
    return time.process_time() - start


def compare(rule: str) -> None:
    chance = torch.Generator().manual_seed(0)
    bank = torch.randint(256, (5000, 3, 32, 32), dtype=torch.uint8, generator=chance)
    index = torch.randint(5000, (BAGS, M), generator=chance)
    bag = Bag(Mosaics(bank, index), torch.randint(3, (BAGS,), generator=chance))
    plan = Plan(epochs=REPEATS + 1, every=REPEATS + 1, batch=BAGS, lr=0.05, optimizer="sgd")
    training = Training(model, bag, bag.take(slice(0, 2)), PARADIGMS.get(rule)(), (0,), plan)
    ours = model()
    theirs = [plain(net) for net in (ours.f, ours.g)]
    step = in_one(rule, theirs, as_input(bank[index]), bag.y)
    both = [(seconds(training.run_epoch), seconds(step)) for _ in range(REPEATS)][1:]
    foveate_time, other = (min(column) for column in zip(*both, strict=True))
    print(
        f"{rule:>5}: {foveate_time:.3f} s, plain {other:.3f} s, "
        f"{other / foveate_time:.1f} times as fast"
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(f"CIFAR networks of vr23, a step of {BAGS} mosaics of {M}, CPU seconds, best of 4")
    for name in ("soft", "hard", "lvml"):
        compare(name)
