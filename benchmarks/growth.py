"""How time and peak memory of a training grow with bags, segments, features, classes or seeds.

    python benchmarks/growth.py [--along bags|segments|features|classes|seeds]

Each size is trained in a process of its own. The fastest epoch counts, since other programs only
slow an epoch down; the slope is that of log time over log size between the smallest and the
largest, and the same for the peak of the resident memory above that before the data were made. The
ratio is 1 / slope of time: at least 1 if time grows no faster than the size. Linux.
"""

import json
import math
import subprocess
import sys
import time
from pathlib import Path

import torch

import measuring
from foveate.bags.bag import Bag
from foveate.models.focus import FCAM
from foveate.models.nets import mlp
from foveate.training.loop import Training
from foveate.training.plan import Plan

BASE = {"bags": 400, "segments": 20, "features": 32, "classes": 4, "seeds": 4}
FACTORS = (1, 2, 4, 8)
LONG = 10**6  # epochs of a plan that is never finished
LEAST, EPOCHS = 0.5, 8  # CPU seconds and epochs at least


def measure(sizes: dict[str, int]) -> dict[str, float]:
    """CPU seconds of the fastest epoch and the peak memory in MB, in this process."""
    torch.set_num_threads(1)
    run(BASE | {"bags": 32})
    Path("/proc/self/clear_refs").write_text("5")
    before = peak()
    seconds = run(sizes)
    return {"seconds": seconds, "mb": peak() - before}


def run(sizes: dict[str, int]) -> float:
    n, m, d, C = (sizes[name] for name in ("bags", "segments", "features", "classes"))
    chance = torch.Generator().manual_seed(0)
    bag = Bag(torch.randn(n, m, d, generator=chance), torch.arange(n) % C)
    plan = Plan(epochs=LONG, every=LONG, batch=32)
    test = bag.take(slice(0, 2))
    training = Training(
        lambda: FCAM(mlp(d, 1), mlp(d, C)), bag, test, "hard", range(sizes["seeds"]), plan
    )
    training.run_epoch()
    spent = list[float]()
    while len(spent) < EPOCHS or sum(spent) < LEAST:
        start = time.process_time()
        training.run_epoch()
        spent.append(time.process_time() - start)
    return min(spent)


def peak() -> float:
    """Peak of the resident memory in MB."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


def in_process(sizes: dict[str, int]) -> dict[str, float]:
    command = [sys.executable, __file__, "--measure", json.dumps(sizes)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    numbers: dict[str, float] = json.loads(answer.stdout)
    return numbers


def main() -> None:
    arguments = measuring.parser(__doc__)
    arguments.add_argument("--along", choices=tuple(BASE), default="bags")
    arguments.add_argument("--measure", type=json.loads, help="sizes, for the processes it starts")
    options = arguments.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure)))
        return
    points = []
    for factor in FACTORS:
        sizes = BASE | {options.along: BASE[options.along] * factor}
        points.append(in_process(sizes))
    slopes = {
        key: math.log(points[-1][key] / points[0][key]) / math.log(FACTORS[-1])
        for key in ("seconds", "mb")
    }
    sizes = [BASE[options.along] * factor for factor in FACTORS]
    numbers = {
        "ratio": 1 / slopes["seconds"],
        "slope": slopes["seconds"],
        "memory_slope": slopes["mb"],
        "peak_mb": dict(zip(map(str, sizes), (point["mb"] for point in points), strict=True)),
        "seconds": {
            f"{size} {options.along}": point["seconds"]
            for size, point in zip(sizes, points, strict=True)
        },
    }
    measuring.finish(f"growth in {options.along}", numbers, options.json)


if __name__ == "__main__":
    main()
