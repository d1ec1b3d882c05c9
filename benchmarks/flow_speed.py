"""Exact flows of both settings of vr23 Figure 4 against LSODA and against Euler steps.

LSODA solves the same systems to a relative tolerance of 1e-10 on the same 1,000 times. The Euler
loop takes the authors' step of .01: a slice of it is timed and extrapolated to the horizon. CPU
time, medians of interleaved repetitions; the last line is LSODA's time over ours.
"""

import math
from collections.abc import Callable

import numpy as np

import measuring
from foveate.dynamics.vr23 import exact, numerical

SETTINGS = ((20, 20, 1000.0), (100, 1000, 400_000.0))
PARADIGMS = ("soft", "hard", "lvml")
STEP, SLICE, POINTS, REPEATS = 0.01, 20_000, 1000, 7  # step: [vr23] released code


def euler(m: int, C: int, steps: int) -> None:
    """The three systems of eqs (1)–(6), a step at a time."""
    for name in PARADIGMS:
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


def solve(solver: Callable[..., object]) -> float:
    """CPU seconds of every paradigm in both settings."""
    return sum(
        measuring.cpu_seconds(lambda: solver(name, np.linspace(0, until, POINTS), m, C))  # noqa: B023
        for m, C, until in SETTINGS
        for name in PARADIGMS
    )


def main() -> None:
    """Time all three ways and print the ratio."""
    options = measuring.parser(__doc__).parse_args()
    tasks = {"foveate": lambda: solve(exact), "LSODA": lambda: solve(numerical)}
    seconds = measuring.interleaved(tasks, REPEATS)
    numbers = measuring.compare(seconds, "foveate", "LSODA")
    numbers["seconds"]["Euler, extrapolated"] = sum(
        measuring.cpu_seconds(lambda: euler(m, C, SLICE)) * (until / STEP) / SLICE  # noqa: B023
        for m, C, until in SETTINGS
    )
    measuring.finish("exact flows", numbers, options.json)


if __name__ == "__main__":
    main()
