"""An epoch of many seeds in one program, against plain PyTorch or against JAX.

    python benchmarks/stacked_seeds.py [--data error-mode-1] [--seeds 8] [--against plain|jax]

All sides train the same networks on the same bags with the same batches and optimiser; measuring
on held-out bags is left out. Plain PyTorch trains one model after another: the time of one is
multiplied by the number of seeds. JAX runs an epoch as one compiled scan under vmap; compiling is
not counted. CPU time, one thread, medians of interleaved turns; a turn is an epoch, of few seeds
several, since a training runs one epoch after another. Ratio = other ÷ foveate.
"""

import time
from collections.abc import Callable
from functools import partial

import torch

import measuring
import plain
from foveate.attention.paradigms import PARADIGMS
from foveate.bags.bag import Bag
from foveate.data import DATASETS, Dataset
from foveate.models.focus import FCAM
from foveate.models.nets import pair
from foveate.training.loop import Training
from foveate.training.plan import Plan

LONG = 10**6  # epochs of a plan that is never finished
TURN = 20  # epochs of members per turn, at least one of each: some hundredths of a second


def stacked(data: Dataset, bags: list[Bag], paradigm: str) -> Callable[[], None]:
    use = data.recipe
    test = [data.load("test", n=10, m=use.m, seed=0)] * len(bags)

    def build() -> FCAM:
        f, g, layer = pair(use.net, bags[0].segment_shape, len(data.classes))
        return FCAM(f, g, layer=layer)

    plan = Plan(epochs=LONG, every=LONG, batch=use.batch, lr=use.lr, optimizer=use.optimizer)
    training = Training(build, bags, test, PARADIGMS.get(paradigm)(), range(len(bags)), plan)
    return training.run_epoch


def one_plain(data: Dataset, bag: Bag, paradigm: str) -> Callable[[], None]:
    use = data.recipe
    sizes = {"epochs": 1, "batch": use.batch, "lr": use.lr, "optimizer": use.optimizer}
    return lambda: plain.train(paradigm, bag, use.net, len(data.classes), **sizes)


def compiled(data: Dataset, bags: list[Bag]) -> Callable[[], None]:
    import jax_twin  # noqa: PLC0415

    use = data.recipe
    hidden = () if use.net == "linear" else (64,)
    sizes = {"batch": use.batch, "lr": use.lr, "optimizer": use.optimizer}
    return jax_twin.epoch(bags, hidden, len(data.classes), **sizes)


def _repeat(epoch: Callable[[], None], count: int) -> None:
    for _ in range(count):
        epoch()


def main() -> None:
    arguments = measuring.parser(__doc__)
    arguments.add_argument("--data", choices=("error-mode-1", "digits"), default="error-mode-1")
    arguments.add_argument("--paradigm", choices=("soft", "hard", "lvml"), default="soft")
    arguments.add_argument("--seeds", type=int, default=8)
    arguments.add_argument("--against", choices=("plain", "jax"), default="plain")
    arguments.add_argument("--repeats", type=int, default=7)
    options = arguments.parse_args()
    if options.against == "jax" and options.paradigm != "soft":
        arguments.error("the JAX twin trains soft attention only")
    torch.set_num_threads(1)
    data = DATASETS.get(options.data)()
    use = data.recipe
    bags = [data.load("train", n=use.n, m=use.m, seed=s) for s in range(options.seeds)]
    start = time.process_time()
    other = (
        one_plain(data, bags[0], options.paradigm)
        if options.against == "plain"
        else compiled(data, bags)
    )
    prepared = time.process_time() - start
    ours = stacked(data, bags, options.paradigm)
    epochs = max(1, TURN // options.seeds)
    turns = {
        name: partial(_repeat, work, epochs)
        for name, work in (("foveate", ours), (options.against, other))
    }
    measured = measuring.interleaved(turns, options.repeats)
    seconds = {name: [value / epochs for value in values] for name, values in measured.items()}
    if options.against == "plain":
        seconds["plain"] = [value * options.seeds for value in seconds["plain"]]
    what = f"{options.data}, {options.paradigm}, S = {options.seeds}"
    numbers = measuring.compare(seconds, "foveate", options.against)
    steps = options.seeds * -(-use.n // use.batch)
    numbers["us_per_step"] = {k: 1e6 * v / steps for k, v in numbers["seconds"].items()}
    numbers["prepare_seconds"] = prepared  # of JAX: mostly compiling
    measuring.finish(what, numbers, options.json)


if __name__ == "__main__":
    main()
