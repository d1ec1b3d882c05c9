"""Many seeds in one program against one model at a time. Prints ratios measured in one run.

Both sides train the same number of epochs on the same bags with the same networks; measuring on
held-out bags is left out of both.
"""

import argparse
import time

import plain
from foveate.attention.paradigms import PARADIGMS
from foveate.data import DATASETS
from foveate.models.focus import FCAM
from foveate.models.nets import pair
from foveate.training.loop import Training
from foveate.training.plan import Plan


def measure(name: str, paradigms: list[str], seeds: int, epochs: int) -> float:
    data = DATASETS.get(name)()
    use = data.recipe
    bags = [data.load("train", n=use.n, m=use.m, seed=s) for s in range(seeds)]
    tests = [data.load("test", n=10, m=use.m, seed=s) for s in range(seeds)]
    shape, classes = bags[0].segment_shape, len(data.classes)

    def build() -> FCAM:
        f, g, layer = pair(use.net, shape, classes)
        return FCAM(f, g, layer=layer)

    stacked = one_by_one = 0.0
    plan = Plan(epochs=epochs, batch=use.batch, lr=use.lr, optimizer=use.optimizer, every=epochs)
    for paradigm in paradigms:
        rule = PARADIGMS.get(paradigm)()
        training = Training(build, bags, tests, rule, range(seeds), plan)
        start = time.perf_counter()
        while not training.done:
            training.run_epoch()
        stacked += time.perf_counter() - start
        sizes = {"epochs": epochs, "batch": use.batch, "lr": use.lr, "optimizer": use.optimizer}
        start = time.perf_counter()
        for bag in bags:
            plain.train(paradigm, bag, use.net, classes, **sizes)
        one_by_one += time.perf_counter() - start
    ratio = one_by_one / stacked
    what = f"{name}, {'/'.join(paradigms)}, {seeds} seeds, {epochs} epochs"
    print(f"{what}: stacked {stacked:.2f} s, one at a time {one_by_one:.2f} s, ratio {ratio:.1f}")
    return ratio


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=10)
    epochs = parser.parse_args().epochs
    measure("error-mode-1", ["soft"], 4, 1)  # warm-up
    measure("error-mode-1", ["soft"], 64, epochs)
    measure("error-mode-1", ["soft"], 256, max(1, epochs // 4))
    measure("digits", ["soft", "hard", "lvml", "hybrid"], 10, epochs)
