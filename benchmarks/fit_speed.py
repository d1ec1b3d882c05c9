"""CPU seconds of a default fit: 300 bags of 500 segments of 384 numbers, five folds.

    python benchmarks/fit_speed.py [--bags 300] [--segments 500] [--width 384]

The ratio is the bound of 360 CPU seconds over the time: at least 1 if the bound is met.
"""

import tempfile
import time
from pathlib import Path

import torch

import measuring
from foveate.bags.bag import pad
from foveate.io.collection import Collection
from foveate.jobs.fit import start_fit

BOUND = 360.0


def bags(n: int, m: int, d: int) -> Collection:
    """Noisy bags of two classes; 2 % of the segments of the second class are shifted."""
    chance = torch.Generator().manual_seed(0)
    y = torch.arange(n) % 2
    segments = torch.randn(n, m, d, generator=chance)
    relevant = (torch.rand(n, m, generator=chance) < 0.02) & (y[:, None] == 1)
    segments[..., :8] += 1.5 * relevant[..., None]
    names = tuple(f"x{k}" for k in range(d))
    return Collection(
        pad(list(segments), y), tuple(map(str, range(n))), ("no", "yes"), names, source="bags"
    )


def main() -> None:
    """Print the seconds of every part and the ratio."""
    parser = measuring.parser(__doc__)
    parser.add_argument("--bags", type=int, default=300)
    parser.add_argument("--segments", type=int, default=500)
    parser.add_argument("--width", type=int, default=384)
    flags = parser.parse_args()
    collection = bags(flags.bags, flags.segments, flags.width)
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        run = start_fit(collection, out=Path(folder) / "run")
        seconds = time.process_time() - start
        parts = {
            name: {"seconds": record.meta["spent"], "epochs": record.meta.get("epochs_run")}
            for name, record in run.records().items()
        }
        areas = {
            name: entry["out_of_fold"]["auroc"][0] for name, entry in run.manifest["scores"].items()
        }
    numbers = {
        "ratio": BOUND / seconds,
        "seconds": {
            "fit": seconds,
            "bound": BOUND,
            **{name: part["seconds"] for name, part in parts.items()},
        },
        "epochs": {name: part["epochs"] for name, part in parts.items()},
        "auroc": areas,
    }
    what = f"fit of {flags.bags} bags of {flags.segments} × {flags.width}"
    measuring.finish(what, numbers, flags.json)


if __name__ == "__main__":
    main()
