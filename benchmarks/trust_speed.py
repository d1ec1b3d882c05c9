"""CPU seconds that all questions of trust take: 3 models, 1,000 bags of 200 segments of 64 numbers.

    python benchmarks/trust_speed.py [--bags 1000] [--repeats 2]

The least of several runs counts, imports do not. The ratio is the bound of 4 s over the time: at
least 1 if the bound is met.
"""

import torch

import measuring
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
    arguments = measuring.parser(__doc__)
    arguments.add_argument("--bags", type=int, default=1000)
    arguments.add_argument("--repeats", type=int, default=2)
    given = arguments.parse_args()
    torch.set_num_threads(1)
    bag = bags(given.bags)
    models = []
    for seed in range(3):
        torch.manual_seed(seed)
        f, g, layer = pair("mlp", bag.segment_shape, 2)
        models.append(FCAM(f, g, "softmax", layer))
    examine(models, "soft", bag.take(slice(0, 20)), ("no", "yes"), probe=False)  # imports
    times = [
        measuring.cpu_seconds(lambda: examine(models, "soft", bag, ("no", "yes")))
        for _ in range(given.repeats)
    ]
    numbers = {
        "ratio": BOUND / min(times),
        "spread": [BOUND / max(times), BOUND / min(times)],
        "seconds": {"trust": min(times), "bound": BOUND},
        "repeats": given.repeats,
    }
    measuring.finish(f"trust of {given.bags} bags", numbers, given.json)


if __name__ == "__main__":
    main()
