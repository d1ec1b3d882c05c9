"""Fitting bags of 1,000 segments × 512 features, against torchmil's ABMIL with its own trainer.

    python benchmarks/fit_against_torchmil.py [--bags 1000] [--segments 1000] [--act relu]

The same bags in memory, the same architecture (attention 512-128-1, a linear classifier of the
average), Adam, the same batches and epochs, one thread. Both measure the same held-out bags after
each epoch, a tenth as many; ours before the first as well. Making the bags and importing are not
counted; batching, steps and measuring are. The ratio is of CPU time, which a busy machine disturbs
less; ``--times 3`` takes turns three times and compares the least time of each. Hard attention has
no counterpart: it classifies every segment, and is there to be compared. Batches of 32 bags of
more than 2,048 segments are taken in parts (``--bags 64 --segments 4000``).
"""

import argparse
import time
from collections.abc import Callable

import torch
from torch import nn
from torch.utils.data import DataLoader
from torchmil.data import collate_fn
from torchmil.models import ABMIL
from torchmil.utils import Trainer

from foveate.bags.bag import Bag
from foveate.models.focus import FCAM
from foveate.models.nets import linear, mlp
from foveate.training.loop import fit

WIDTH, HIDDEN, LR = 512, 128, 1e-3


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--bags", type=int, default=1000)
    arguments.add_argument("--segments", type=int, default=1000)
    arguments.add_argument("--epochs", type=int, default=3)
    arguments.add_argument("--batch", type=int, default=32)
    arguments.add_argument("--act", choices=("relu", "tanh"), default="relu")
    arguments.add_argument("--times", type=int, default=1)
    given = arguments.parse_args()
    torch.set_num_threads(1)
    train, test = (bags(n, given.segments) for n in (given.bags, max(2, given.bags // 10)))
    print(f"{given.bags:,} bags × {given.segments:,} × {WIDTH}, {given.epochs} epochs, one thread")
    runs = {
        "torchmil ABMIL, its trainer": lambda: torchmil_fit(train, test, given),
        "foveate, soft": lambda: our_fit(train, test, "soft", given),
        "foveate, hard": lambda: our_fit(train, test, "hard", given),
    }
    turns = [[timed(what, run) for what, run in runs.items()] for _ in range(given.times)]
    peer, *ours = (min(times) for times in zip(*turns, strict=True))
    for what, least in zip(list(runs)[1:], ours, strict=True):
        print(f"{what:28}{peer / least:9.2f} times as fast")


def bags(n: int, segments: int) -> Bag:
    """Noise, with one segment that tells the label in its first features."""
    chance = torch.Generator().manual_seed(n)
    x = torch.randn(n, segments, WIDTH, generator=chance)
    y = torch.arange(n) % 2
    x[torch.arange(n), torch.randint(segments, (n,), generator=chance), :8] += 4 * y[:, None] - 2
    return Bag(x, y)


def timed(what: str, run: Callable[[], None]) -> float:
    start = time.perf_counter(), time.process_time()
    run()
    wall, cpu = time.perf_counter() - start[0], time.process_time() - start[1]
    print(f"{what:28}{wall:9.2f} s, {cpu:.2f} s of CPU", flush=True)
    return cpu


def our_fit(train: Bag, test: Bag, paradigm: str, given: argparse.Namespace) -> None:
    def build() -> FCAM:
        tanh = nn.Sequential(nn.Linear(WIDTH, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, 1, bias=False))
        f = tanh if given.act == "tanh" else mlp(WIDTH, 1, (HIDDEN,))
        return FCAM(f, linear(WIDTH, 2))

    fit(build, train, test, paradigm, epochs=given.epochs, batch=given.batch, lr=LR, every=1)


def torchmil_fit(train: Bag, test: Bag, given: argparse.Namespace) -> None:
    def loader(bag: Bag, shuffle: bool) -> DataLoader[dict[str, torch.Tensor]]:
        rows = [{"X": x, "Y": y} for x, y in zip(bag.dense(), bag.y, strict=True)]
        # A list will do for a data set, whatever torch's annotation says.
        return DataLoader(rows, given.batch, shuffle=shuffle, collate_fn=collate_fn)  # type: ignore[arg-type]

    model = ABMIL((WIDTH,), att_dim=HIDDEN, att_act=given.act)
    trainer = Trainer(
        model,
        torch.optim.Adam(model.parameters(), LR),
        device="cpu",
        disable_pbar=True,
        verbose=False,
    )
    trainer.train(given.epochs, loader(train, True), loader(test, False))


if __name__ == "__main__":
    main()
