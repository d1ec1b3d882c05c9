"""A step over words in context: bags in groups of similar length against all padded to the longest.

The model of HateXplain-2 on made-up posts with lengths like those of its training posts.
"""

import time

import torch

from foveate.bags.bag import Bag
from foveate.bags.segments import Mosaics
from foveate.models.contextual import Contextual
from foveate.randomness import generator
from foveate.training.loop import Training
from foveate.training.plan import Plan

WORDS, LONGEST, BAGS, BATCH, SEEDS = 25_000, 64, 512, 256, 3
MEAN, DEVIATION = 23.5, 13.0  # tokens of a post


def posts() -> Bag:
    """Bags of random words."""
    chance = generator("length groups")
    lengths = MEAN + DEVIATION * torch.randn(BAGS, generator=chance)
    mask = torch.arange(LONGEST) < lengths.round().clamp(3, LONGEST)[:, None]
    index = torch.randint(WORDS, (BAGS, LONGEST), generator=chance)
    y = torch.randint(3, (BAGS,), generator=chance)
    return Bag(Mosaics(torch.arange(WORDS), index.masked_fill(~mask, 0)), y, None, mask)


def seconds(grouped: bool) -> float:
    """CPU seconds of a step, the best of three epochs."""
    Contextual.compares_segments = grouped
    bag = posts()
    plan = Plan(epochs=5, every=5, batch=BATCH, lr=0.005, optimizer="sgd")
    few = bag.take(slice(0, 4))
    training = Training(lambda: Contextual(WORDS, 3), bag, few, "hard", range(SEEDS), plan)
    times = []
    for _ in range(4):
        start = time.process_time()
        training.run_epoch()
        times.append((time.process_time() - start) / (BAGS / BATCH))
    return min(times[1:])


if __name__ == "__main__":
    torch.set_num_threads(1)
    together, grouped = seconds(False), seconds(True)
    print(
        f"hard attention, {SEEDS} seeds, {BATCH} posts a step: {together:.3f} s padded to the "
        f"longest, {grouped:.3f} s in groups of similar length, ratio {together / grouped:.2f}"
    )
