"""A fit of bags in HDF5 files that are larger than memory, against bags that are read into memory.

    python benchmarks/streamed_fit.py [--bags 2500] [--segments 4000] [--width 512] [--folder /tmp]

The files are made sparse: few segments of each bag are written, the others are zeros that take no
space. The fit converts them to one file of full size and writes a standardised copy, so that twice
the size of the bags must be free in the folder. A tenth of the bags is fitted in memory. Each fit
is a process of its own, of which the peak of resident memory (VmHWM, pages of mapped files
included) is taken. Ratio = seconds of an epoch per bag in memory ÷ streamed, wall time of the
fastest epochs, so that waiting for the disk counts; ``cpu_ratio`` is the same of CPU time, which
other programs on the machine change less. Linux.
"""

import json
import os
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import h5py
import numpy as np
import torch

import measuring
from foveate.io import read_bags
from foveate.jobs.fit import start_fit
from foveate.userdata.settings import FitSettings

WRITTEN = 16  # segments of each bag that take space


def write(folder: Path, bags: int, segments: int, width: int) -> None:
    """One HDF5 file per bag; the first number of the segments of every other bag is shifted."""
    folder.mkdir()
    chance = np.random.default_rng(0)
    labels = ["bag,label"]
    for bag in range(bags):
        x = chance.standard_normal((WRITTEN, width), dtype="float32")
        x[:, 0] += bag % 2
        with h5py.File(folder / f"b{bag:05}.h5", "w") as file:
            shape, chunks = (segments, width), (min(256, segments), width)
            file.create_dataset("features", shape, dtype="f4", chunks=chunks)[:WRITTEN] = x
        labels.append(f"b{bag:05},{'ab'[bag % 2]}")
    (folder / "labels.csv").write_text("\n".join(labels) + "\n")


def fit(folder: Path, epochs: int) -> None:
    """Fit the bags of a folder; prints what it took as JSON."""
    torch.set_num_threads(1)
    start, ends = time.perf_counter(), []
    bags = read_bags(folder, labelled=True, force=("unwritten-parts",))
    read = time.perf_counter() - start

    def report(part: str, done: int, total: int) -> None:
        if part == "soft":
            ends.append((time.perf_counter(), time.process_time()))

    settings = FitSettings(paradigms=("soft",), folds=1, seeds=1, epochs=epochs)
    with TemporaryDirectory(dir=folder.parent) as out:
        run = start_fit(bags, settings, Path(out) / "run", report=report)
    train = run.manifest["sizes"]["parts"]["train"]
    wall, cpu = (min(b - a for a, b in pairwise(times)) for times in zip(*ends, strict=True))
    numbers = {"epoch_per_bag": wall / train, "cpu_per_bag": cpu / train}
    numbers |= {"read": read, "peak_mb": _peak()}
    print(json.dumps(numbers | {"total": time.perf_counter() - start}))


def _peak() -> float:
    """Peak of the resident memory in MB."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


def measured(folder: Path, epochs: int, memory: str) -> dict[str, Any]:
    """The numbers of a fit in a process of its own, whose bags may take so many GB."""
    cache = str(folder.parent / "cache")
    environment = {**os.environ, "FOVEATE_MEMORY": memory, "FOVEATE_CACHE": cache}
    words = [sys.executable, __file__, "--fit", str(folder), str(epochs)]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr.strip().splitlines()[-1])
    numbers: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return numbers


def main() -> None:
    arguments = measuring.parser(__doc__)
    arguments.add_argument("--bags", type=int, default=2500)
    arguments.add_argument("--segments", type=int, default=4000)
    arguments.add_argument("--width", type=int, default=512)
    arguments.add_argument("--epochs", type=int, default=3)
    arguments.add_argument("--folder", type=Path, default=None)
    options = arguments.parse_args()
    few = max(20, options.bags // 10)
    with TemporaryDirectory(dir=options.folder) as place:
        for name, bags in (("few", few), ("all", options.bags)):
            write(Path(place) / name, bags, options.segments, options.width)
        loaded = measured(Path(place) / "few", options.epochs, "1000")
        streamed = measured(Path(place) / "all", options.epochs, "0.001")
    gigabytes = options.bags * options.segments * options.width * 4 / 1e9
    numbers = {
        "ratio": loaded["epoch_per_bag"] / streamed["epoch_per_bag"],
        "cpu_ratio": loaded["cpu_per_bag"] / streamed["cpu_per_bag"],
        "seconds": {"epoch per bag, in memory": loaded["epoch_per_bag"],
                    "epoch per bag, streamed": streamed["epoch_per_bag"],
                    "reading, streamed": streamed["read"], "fit, streamed": streamed["total"]},
        "peak_mb": streamed["peak_mb"],
        "peak_mb_in_memory": loaded["peak_mb"],
        "gigabytes": gigabytes,
    }  # fmt: skip
    what = f"{gigabytes:.3g} GB of bags, peak {streamed['peak_mb']:,.0f} MB"
    measuring.finish(what, numbers, options.json)


if __name__ == "__main__":
    if "--fit" in sys.argv:
        fit(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        main()
