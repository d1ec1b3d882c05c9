"""Agreement and Kendall's τ over a validation set, against loops over tokens in plain Python.

4,000 texts with the lengths of film reviews; numbers drawn at random, rounded so that some are
tied. The loops work on lists, the quickest form for them, on a slice of the texts, and are
extrapolated: agreement by the number of tokens, τ by that of pairs of tokens. CPU seconds.
"""

import time
from collections.abc import Callable
from itertools import pairwise
from math import ceil, nan, sqrt

import numpy as np

from foveate.metrics.agreement import agreement, fair_agreement
from foveate.metrics.kendall import kendall

TEXTS, SLICE = 4000, 60


def agree(u: list[float], v: list[float]) -> tuple[bool, float]:
    """A(u, v) in the paper's form, and with fair ties."""
    places, highest, first, chances = ceil(0.05 * len(u)), max(u), -1, []
    for k in range(len(u)):
        if u[k] == highest:
            above = equal = 0
            for x in v:
                if x > v[k]:
                    above += 1
                elif x == v[k]:
                    equal += 1
            first = above if first < 0 else first
            chances.append(min(max(places - above, 0), equal) / equal)
    return first < places, sum(chances) / len(chances)


def tau(u: list[float], v: list[float]) -> float:
    """τ-b by all pairs."""
    excess = tied_u = tied_v = pairs = 0
    for i in range(len(u)):
        x, y = u[i], v[i]
        for j in range(i):
            pairs += 1
            if x == u[j]:
                tied_u += 1
                tied_v += y == v[j]
            elif y == v[j]:
                tied_v += 1
            elif (x > u[j]) == (y > v[j]):
                excess += 1
            else:
                excess -= 1
    scale = sqrt((pairs - tied_u) * (pairs - tied_v))
    return excess / scale if scale else nan


def seconds(work: Callable[[], object], times: int = 3) -> float:
    spent = []
    for _ in range(times):
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    return min(spent)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    lengths = np.clip(rng.lognormal(5.2, 0.65, TEXTS).astype(int), 10, 2500)
    start = np.concatenate([[0], lengths.cumsum()])
    u = np.round(rng.random(start[-1]), 5)
    v = np.round(u + rng.random(start[-1]), 2)
    rows = [(u[a:b].tolist(), v[a:b].tolist()) for a, b in pairwise(start[: SLICE + 1])]
    results: dict[str, list] = {}
    slow_a = seconds(lambda: results.update(agree=[agree(*row) for row in rows]), 1)
    slow_t = seconds(lambda: results.update(tau=[tau(*row) for row in rows]), 1)
    slow_a *= lengths.sum() / lengths[:SLICE].sum()
    slow_t *= (lengths**2).sum() / (lengths[:SLICE] ** 2).sum()
    quick_a = seconds(lambda: (agreement(u, v, start), fair_agreement(u, v, start)))
    quick_t = seconds(lambda: kendall(u, v, start))
    paper, fair = np.array(results["agree"]).T
    gap = max(
        np.abs(agreement(u, v, start)[:SLICE] - paper).max(),
        np.abs(fair_agreement(u, v, start)[:SLICE] - fair).max(),
        np.abs(kendall(u, v, start)[:SLICE] - results["tau"]).max(),
    )
    print(
        f"{TEXTS:,} texts of {lengths.mean():.0f} tokens, agreement and τ: "
        f"foveate {quick_a + quick_t:.2f} s, loop {slow_a + slow_t:.1f} s (extrapolated from "
        f"{SLICE} texts, where the largest difference is {gap:.0e}), "
        f"ratio {(slow_a + slow_t) / (quick_a + quick_t):.0f}; "
        f"agreement alone {slow_a / quick_a:.0f}, τ alone {slow_t / quick_t:.0f}"
    )
