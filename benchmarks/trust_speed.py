"""CPU seconds that all questions of trust take: 3 models, 1,000 bags of 200 segments of 64 numbers.

Usage: ``python benchmarks/trust_speed.py [BAGS]``. The last line is the ratio to the bound of 4 s.
"""

import sys
import time

import torch

from foveate.bags.bag import Bag
from foveate.models.focus import FCAM
from foveate.models.nets import pair
from foveate.trust.examine import examine

BOUND = 4.0


def bags(n: int, m: int = 200, d: int = 64) -> Bag:
    """Bags whose one relevant segment has 4 more in the number of its class."""
    chance = torch.Generator().manual_seed(0)
    x = torch.randn(n, m, d, generator=chance)
    y = torch.arange(n) % 2
    x[torch.arange(n), torch.randint(m, (n,), generator=chance), y] += 4
    return Bag(x, y)


def main() -> None:
    """Print the seconds and the ratio."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    bag = bags(n)
    models = []
    for seed in range(3):
        torch.manual_seed(seed)
        f, g, layer = pair("mlp", bag.segment_shape, 2)
        models.append(FCAM(f, g, "softmax", layer))
    examine(models, "soft", bag.take(slice(0, 20)), ("no", "yes"), probe=False)  # imports
    start = time.process_time()
    trust = examine(models, "soft", bag, ("no", "yes"))
    seconds = time.process_time() - start
    print(f"{n} bags: {seconds:.2f} CPU s, audited {trust.audited}")
    print(f"ratio to {BOUND:.0f} s: {seconds / BOUND:.2f}")


if __name__ == "__main__":
    main()
