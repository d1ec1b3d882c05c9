"""Peak memory of one bag of 100,000 segments, read in chunks and written out.

    python benchmarks/large_bag_memory.py [--segments 100000] [--predict 1000000]

Each measurement is a process of its own: the peak of its resident memory (VmHWM, set back once the
bag was made) less what it held then, and the time. Two steps of training, or one reading. Linux.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import torch

from foveate.attention.paradigms import PARADIGMS as RULES
from foveate.bags.bag import pad
from foveate.models.focus import FCAM, AttentionModel
from foveate.models.nets import mlp
from foveate.training import loop as train
from foveate.training import step_gradients
from foveate.training.stack import Stack
from foveate.trust.explanation import explain

WIDTH, CLASSES, STEPS = 512, 2, 2
PARADIGMS = ("soft", "hard", "lvml", "logit", "em", "hybrid")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--segments", type=int, default=100_000)
    arguments.add_argument("--predict", type=int, default=1_000_000)
    arguments.add_argument("--seeds", type=int, default=3)
    options = arguments.parse_args()
    print(f"one bag of {options.segments:,} × {WIDTH}, {options.seeds} seeds, {STEPS} steps")
    head = f"{'':10}{'chunks':>20}{'whole bag':>20}"
    print(f"{head}   MB above the bag ({_mb(options.segments)} MB), s")
    for name in PARADIGMS:
        cells = [
            _measured("train", name, options.segments, options.seeds, whole) for whole in (0, 1)
        ]
        print(f"{name:10}" + "".join(f"{c['mb']:>12.0f}, {c['seconds']:5.1f}" for c in cells))
    if options.predict:
        cell = _measured("predict", "hybrid", options.predict, 1, 0)
        print(
            f"prediction, attention and evidence of {options.predict:,} segments: "
            f"{cell['mb']:.0f} MB above the bag ({_mb(options.predict)} MB), "
            f"{cell['seconds']:.1f} s"
        )


def _mb(segments: int) -> str:
    return f"{segments * WIDTH * 4 / 2**20:,.0f}"


def _measured(kind: str, name: str, segments: int, seeds: int, whole: int) -> dict[str, float]:
    words = [kind, name, str(segments), str(seeds), str(whole)]
    answer = subprocess.run(
        [sys.executable, __file__, "--", *words], capture_output=True, text=True, check=True
    )
    numbers: dict[str, float] = json.loads(answer.stdout)
    return numbers


def _measure(kind: str, name: str, segments: int, seeds: int, whole: int) -> None:
    """What one process measures of itself, as JSON."""
    torch.set_num_threads(1)
    if whole:
        step_gradients.NUMBERS = step_gradients.LOGITS = 2**62
    chance = torch.Generator().manual_seed(0)
    small = pad([torch.randn(9, WIDTH, generator=chance)], torch.tensor([1]))
    train.fit(_model, small, small, name, seeds=range(seeds), epochs=1)  # imports and first calls
    bag = pad([torch.randn(segments, WIDTH, generator=chance)], torch.tensor([1]))
    Path("/proc/self/clear_refs").write_text("5")
    before, start = _peak(), time.perf_counter()
    if kind == "train":
        training = train.Training(_model, bag, small, name, range(seeds), train.Plan(batch=1))
        for _ in range(STEPS):
            training.run_epoch()
    else:
        explain(Stack(_model, range(seeds)), bag, RULES.get(name)())
    print(json.dumps({"mb": _peak() - before, "seconds": time.perf_counter() - start}))


def _model() -> AttentionModel:
    return FCAM(mlp(WIDTH, 1), mlp(WIDTH, CLASSES))


def _peak() -> float:
    """Peak of the resident memory in MB."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


if __name__ == "__main__":
    if "--" in sys.argv:
        kind, name, *sizes = sys.argv[sys.argv.index("--") + 1 :]
        _measure(kind, name, *map(int, sizes))
    else:
        main()
