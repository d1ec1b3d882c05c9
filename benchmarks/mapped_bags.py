"""Training on bags in a file that is mapped into memory, against the same bags in memory.

    python benchmarks/mapped_bags.py [--bags 200] [--segments 1000] [--width 512]

The file is NPY; pages that have been read may be dropped by the system at any time, so that only
other memory counts (``RssAnon``, also given). The least of several fits of two epochs counts; the
file is in the cache of the system unless it is larger than memory. Ratio = CPU time in memory ÷
mapped. Linux.
"""

import tempfile
from pathlib import Path

import numpy as np
import torch

import measuring
from foveate.bags.bag import Bag
from foveate.bags.segments import Mosaics
from foveate.models.focus import FCAM
from foveate.models.nets import linear, mlp
from foveate.training.loop import fit


def write(path: Path, rows: int, width: int, part: int) -> None:
    """A file of noise, written a part at a time."""
    bank = np.lib.format.open_memmap(path, mode="w+", dtype="float32", shape=(rows, width))
    chance = np.random.default_rng(0)
    for start in range(0, rows, part):
        bank[start : start + part] = chance.standard_normal((part, width), dtype="float32")
    bank.flush()


def own_megabytes() -> float:
    """Memory of this process that is not a mapped file."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("RssAnon"))


def train(bank: torch.Tensor, n: int, m: int) -> None:
    bag = Bag(Mosaics(bank, torch.arange(n * m).view(n, m)), torch.arange(n) % 2)

    def build() -> FCAM:
        return FCAM(mlp(bank.shape[1], 1, (128,)), linear(bank.shape[1], 2))

    fit(build, bag, bag.take(slice(0, 2)), "soft", epochs=2, batch=8, every=2)


def main() -> None:
    arguments = measuring.parser(__doc__)
    arguments.add_argument("--bags", type=int, default=200)
    arguments.add_argument("--segments", type=int, default=1000)
    arguments.add_argument("--width", type=int, default=512)
    arguments.add_argument("--repeats", type=int, default=3)
    options = arguments.parse_args()
    torch.set_num_threads(1)
    n, m = options.bags, options.segments
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bank.npy"
        write(path, n * m, options.width, m)
        mapped = torch.from_numpy(np.load(path, mmap_mode="c"))
        train(mapped[: 4 * m], 4, m)  # imports and first calls
        before = own_megabytes()
        train(mapped, n, m)
        grown = own_megabytes() - before
        loaded = mapped.clone()
        tasks = {
            "mapped": lambda: train(mapped, n, m),
            "in memory": lambda: train(loaded, n, m),
        }
        seconds = measuring.interleaved(tasks, options.repeats)
    numbers = measuring.compare(seconds, "mapped", "in memory")
    numbers |= {"own_mb": grown, "file_mb": n * m * options.width * 4 / 2**20}
    what = f"{n} bags of {m:,} × {options.width}, {grown:.0f} of {numbers['file_mb']:.0f} MB"
    measuring.finish(what, numbers, options.json)


if __name__ == "__main__":
    main()
