"""Fitting bags of 1,000 segments × 512 features, against torchmil's ABMIL with its own trainer.

    python benchmarks/fit_against_torchmil.py [--bags 1000] [--segments 1000] [--act relu]

The same bags in memory, the same architecture (attention 512-128-1, a linear classifier of the
average), Adam, the same batches and epochs, one thread. Both measure the same held-out bags after
each epoch, a tenth as many; ours before the first as well. Making the bags and importing are not
counted; batching, steps and measuring are. CPU time, medians of interleaved fits; ratio = torchmil
÷ foveate. Hard attention and LVML have no counterpart: they classify every segment.
"""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader
from torchmil.data import collate_fn
from torchmil.models import ABMIL
from torchmil.utils import Trainer

import measuring
from foveate.bags.bag import Bag
from foveate.models.focus import FCAM
from foveate.models.nets import linear, mlp
from foveate.training.loop import fit

WIDTH, HIDDEN, LR = 512, 128, 1e-3


def main() -> None:
    arguments = measuring.parser(__doc__)
    arguments.add_argument("--bags", type=int, default=1000)
    arguments.add_argument("--segments", type=int, default=1000)
    arguments.add_argument("--epochs", type=int, default=3)
    arguments.add_argument("--batch", type=int, default=32)
    arguments.add_argument("--act", choices=("relu", "tanh"), default="relu")
    arguments.add_argument("--paradigm", choices=("soft", "hard", "lvml"), default="soft")
    arguments.add_argument("--times", type=int, default=3)
    options = arguments.parse_args()
    torch.set_num_threads(1)
    train, test = (bags(n, options.segments) for n in (options.bags, max(2, options.bags // 10)))
    runs = {
        "foveate": lambda: our_fit(train, test, options.paradigm, options),
        "torchmil": lambda: torchmil_fit(train, test, options),
    }
    seconds = measuring.interleaved(runs, options.times)
    numbers = measuring.compare(seconds, "foveate", "torchmil")
    sizes = f"{options.bags:,} bags × {options.segments:,} × {WIDTH}, batches of {options.batch}"
    measuring.finish(f"{sizes}, {options.paradigm}", numbers, options.json)


def bags(n: int, segments: int) -> Bag:
    """Noise, with one segment that tells the label in its first features."""
    chance = torch.Generator().manual_seed(n)
    x = torch.randn(n, segments, WIDTH, generator=chance)
    y = torch.arange(n) % 2
    x[torch.arange(n), torch.randint(segments, (n,), generator=chance), :8] += 4 * y[:, None] - 2
    return Bag(x, y)


def our_fit(train: Bag, test: Bag, paradigm: str, options: argparse.Namespace) -> None:
    def build() -> FCAM:
        tanh = nn.Sequential(nn.Linear(WIDTH, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, 1, bias=False))
        f = tanh if options.act == "tanh" else mlp(WIDTH, 1, (HIDDEN,))
        return FCAM(f, linear(WIDTH, 2))

    fit(build, train, test, paradigm, epochs=options.epochs, batch=options.batch, lr=LR, every=1)


def torchmil_fit(train: Bag, test: Bag, options: argparse.Namespace) -> None:
    def loader(bag: Bag, shuffle: bool) -> DataLoader[dict[str, torch.Tensor]]:
        rows = [{"X": x, "Y": y} for x, y in zip(bag.dense(), bag.y, strict=True)]
        # A list will do for a data set, whatever torch's annotation says.
        return DataLoader(rows, options.batch, shuffle=shuffle, collate_fn=collate_fn)  # type: ignore[arg-type]

    model = ABMIL((WIDTH,), att_dim=HIDDEN, att_act=options.act)
    trainer = Trainer(
        model,
        torch.optim.Adam(model.parameters(), LR),
        device="cpu",
        disable_pbar=True,
        verbose=False,
    )
    trainer.train(options.epochs, loader(train, True), loader(test, False))


if __name__ == "__main__":
    main()
