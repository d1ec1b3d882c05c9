"""Images a CPU second of the frozen encoder: batch normalisation folded in, against as trained.

Weights are drawn, since they do not matter to speed. Both sides see the same images; rounds take
turns, and the best of each counts. The resizing of 32×32 images is measured beside them.
"""

import argparse
import time
from collections.abc import Callable

import torch

from foveate.data.features.encoding import BATCH, SIDE, squared
from foveate.models.efficientnet import EfficientNetLite0, folded


def main(side: int, rounds: int) -> float:
    net = EfficientNetLite0().eval().requires_grad_(False)
    small = torch.randint(256, (BATCH, 3, 32, 32), dtype=torch.uint8)
    x = squared(small, side)
    fast = folded(net)
    sides: dict[str, Callable[[], torch.Tensor]] = {
        "as trained": lambda: net(x),
        "folded": lambda: fast(x),
        "resizing alone": lambda: squared(small, side),
    }
    best = dict.fromkeys(sides, float("inf"))
    with torch.inference_mode():
        for round_ in range(rounds + 1):
            for name, run in sides.items():
                start = time.process_time()
                run()
                if round_:  # the first is a warm-up
                    best[name] = min(best[name], time.process_time() - start)
    for name, seconds in best.items():
        print(f"{side} px, {name}: {BATCH / seconds:,.0f} images a CPU second")
    ratio = best["as trained"] / best["folded"]
    print(f"folded is {ratio:.2f} times as fast")
    return ratio


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", type=int, default=SIDE)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    main(options.side, options.rounds)
