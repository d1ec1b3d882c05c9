"""Evaluation of 10,000 mosaics with m = 20 against scoring every segment: at least 3 times as fast.

Mosaics are cut from 5,000 test images, so 200,000 segments are 40 times as many as images. What
scores every segment is timed on a part of the mosaics and multiplied. Each runs in a process of its
own, whose peak of resident memory is stated.
"""

import multiprocessing
import resource
import time
from typing import Any

import torch

from foveate.bags.bag import Bag
from foveate.bags.segments import Mosaics
from foveate.models.focus import FCAM
from foveate.models.nets import pair
from foveate.training.evaluation import read

BAGS, M, IMAGES = 10_000, 20, 5_000
PART = 250  # mosaics on which scoring every segment is timed


def mosaics() -> Bag:
    chance = torch.Generator().manual_seed(0)
    bank = torch.randint(256, (IMAGES, 3, 32, 32), dtype=torch.uint8, generator=chance)
    index = torch.randint(IMAGES, (BAGS, M), generator=chance)
    return Bag(Mosaics(bank, index), torch.randint(3, (BAGS,), generator=chance))


def evaluate(rule: str, shared: bool, answer: Any) -> None:
    torch.set_num_threads(1)
    bag = mosaics()
    f, g, layer = pair("vr23", (3, 32, 32), 3)
    model = FCAM(f, g, layer=layer)
    if not shared:
        bag = bag.take(slice(0, PART))
        bag = Bag(bag.dense(), bag.y)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    read(model, bag, rule)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answer.put((seconds if shared else seconds * BAGS / PART, peak / 1024, before / 1024))


def measured(rule: str, shared: bool) -> tuple[float, float, float]:
    context = multiprocessing.get_context("spawn")
    answer = context.Queue()
    process = context.Process(target=evaluate, args=(rule, shared, answer))
    process.start()
    result = answer.get()
    process.join()
    return result


if __name__ == "__main__":
    print(f"{BAGS:,} mosaics, m = {M}, from {IMAGES:,} images; networks of vr23; CPU seconds")
    for name in ("soft", "hard", "lvml"):
        (once, peak, before), (every, _, _) = (measured(name, way) for way in (True, False))
        print(
            f"{name:>5}: {once:6.1f} s, every segment {every:6.1f} s, {every / once:5.1f} times; "
            f"peak memory {peak:.0f} MB ({before:.0f} MB before it began)"
        )
