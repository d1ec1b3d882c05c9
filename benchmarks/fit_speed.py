"""CPU seconds of a default fit: 300 bags of 500 segments of 384 numbers, five folds.

Usage: ``python benchmarks/fit_speed.py [--bags 300] [--segments 500] [--width 384] [--json]``. The
last line is the ratio to the bound of 360 CPU seconds, or all numbers as JSON.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import torch

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
    parser = argparse.ArgumentParser()
    parser.add_argument("--bags", type=int, default=300)
    parser.add_argument("--segments", type=int, default=500)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--json", action="store_true")
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
    if flags.json:
        numbers = {"seconds": seconds, "ratio": seconds / BOUND, "parts": parts, "auroc": areas}
        print(json.dumps(numbers))
        return
    for name, part in parts.items():
        print(f"{name}: {part['seconds']:.1f} s, epochs {part['epochs']}")
    print("AUROC out of fold: " + ", ".join(f"{k} {v:.3f}" for k, v in areas.items()))
    print(f"{seconds:.0f} CPU s, ratio to {BOUND:.0f} s: {seconds / BOUND:.2f}")


if __name__ == "__main__":
    main()
