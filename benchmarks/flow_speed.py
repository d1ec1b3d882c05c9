"""Exact flows of both settings of vr23 Figure 4 against forward Euler in a Python loop.

The loop takes the authors' step of .01. A slice of it is timed and extrapolated to the horizon,
which would take hours; the line says so.
"""

import math
import time

import numpy as np

from foveate.dynamics.vr23 import flow

SETTINGS = ((20, 20, 1000.0), (100, 1000, 400_000.0))
STEP = 0.01  # [vr23] released code


def euler(m: int, C: int, steps: int) -> None:
    """The three systems of eqs (1)–(6), a step at a time."""
    for name in ("soft", "hard", "lvml"):
        mu = nu = 0.0
        for _ in range(steps):
            alpha = math.exp(nu) / (math.exp(nu) + m - 1)
            beta = math.exp(mu) / (math.exp(mu) + C - 1)
            if name == "soft":
                rest = math.exp(alpha * mu) + C - 1
                d_mu, d_nu = alpha / rest, mu * (C - 1) * (alpha - alpha**2) / (C * rest)
            elif name == "hard":
                d_mu = alpha * beta / math.exp(mu)
                d_nu = math.log(C * beta) / C * (alpha - alpha**2)
            else:
                Z = alpha * beta + (1 - alpha) / C
                d_mu, d_nu = alpha * beta**2 / (Z * math.exp(mu)), alpha / C * (beta / Z - 1)
            mu, nu = mu + STEP * d_mu, nu + STEP * d_nu


if __name__ == "__main__":
    flow(3, 3, [0.0, 1.0])  # warm-up
    start = time.perf_counter()
    for m, C, until in SETTINGS:
        flow(m, C, np.linspace(0, until, 200))
    exact = time.perf_counter() - start
    slow, sliced = 0.0, 20_000
    for m, C, until in SETTINGS:
        start = time.perf_counter()
        euler(m, C, sliced)
        slow += (time.perf_counter() - start) * (until / STEP) / sliced
    print(
        f"both settings of Figure 4: exact {1000 * exact:.0f} ms, Euler {slow:.0f} s "
        f"(extrapolated from {sliced:,} steps each), ratio {slow / exact:,.0f}"
    )
