r"""The gradient flows of soft, hard and marginal-likelihood attention, in vr23's letters.

``mu``, ``nu`` scale classifier and focus, ``alpha`` is the attention on the foreground segment,
``beta`` the probability of the right class on it, all as in the paper: the linear-orthogonal
setting of Theorems 1 and 2. This module validates sizes and times; the equations are in
``vr23_rates``, their solutions in ``vr23_exact``.
"""

from dataclasses import dataclass, replace
from typing import Literal, assert_never

import numpy as np
from numpy.typing import ArrayLike

from foveate.dynamics.vr23_exact import (
    classifier_potential,
    exact,
    exact_fixed,
    focus_potential,
    hybrid,
    invert_potential,
)
from foveate.dynamics.vr23_rates import (
    PARADIGMS,
    FloatArray,
    Paradigm,
    finite_difference_incentive,
    incentive,
    losses,
    numerical,
    rates,
    rest,
    share,
)
from foveate.errors import FoveateError

__all__ = [
    "PARADIGMS",
    "Paradigm",
    "Trajectory",
    "best_switch",
    "classifier_potential",
    "exact",
    "exact_fixed",
    "finite_difference_incentive",
    "flow",
    "focus_potential",
    "hybrid",
    "incentive",
    "invert_potential",
    "losses",
    "numerical",
    "rates",
    "rest",
    "share",
]

# The exact solution keeps its digits up to here; beyond, exponentials leave the double range.
LARGEST_SIZE, LARGEST_TIME = 1e12, 1e100


@dataclass(frozen=True)
class Trajectory:
    """One flow on a grid of times; every array is (T,), and ``nu`` is None under a fixed focus."""

    t: FloatArray
    mu: FloatArray
    nu: FloatArray | None
    alpha: FloatArray
    beta: FloatArray
    loss: FloatArray


def flow(
    m: int,
    C: int,
    t: ArrayLike,
    alpha: float | None = None,
    switch: float | None = None,
) -> dict[str, Trajectory]:
    r"""The flows of "soft", "hard" and "lvml" from zero on one grid of times, solved exactly.

    ``t`` (T,) sorted times from 0 on. A given ``alpha`` fixes the focus (Theorem 1); without it
    classifier and focus move together (Theorem 2). A given ``switch`` adds "hybrid", which is soft
    until then and hard after; its loss is the one it descends at the time. [vr23] Eqs (1)–(6)

    >>> curves = flow(m=20, C=20, t=[0, 1000])
    >>> [f"{name} {c.mu[-1]:.3f} {c.nu[-1]:.3f}" for name, c in curves.items()]
    ['soft 6.314 5.543', 'hard 5.757 6.812', 'lvml 6.329 6.163']
    """
    _check_size("m", m, "segments")
    _check_size("C", C, "classes")
    times = _checked_times(t)
    if alpha is not None:
        if not 0 <= alpha <= 1:
            raise FoveateError(f"alpha must lie between 0 and 1, got {alpha}")
        if switch is not None:
            raise FoveateError("switch needs a focus that learns: leave out alpha or switch")
        return {paradigm: _fixed(paradigm, times, alpha, C) for paradigm in PARADIGMS}
    curves: dict[str, Trajectory] = {
        paradigm: _joint(paradigm, times, exact(paradigm, times, m, C), m, C)
        for paradigm in PARADIGMS
    }
    if switch is not None:
        _check_time("switch", switch)
        path = hybrid(times, m, C, switch)
        soft = _joint("soft", times, path, m, C)
        hard = _joint("hard", times, path, m, C)
        loss = np.where(times <= switch, soft.loss, hard.loss)
        curves["hybrid"] = replace(hard, loss=loss)
    return curves


def best_switch(
    m: int, C: int, horizon: float, objective: Literal["loss", "alpha"] = "loss"
) -> tuple[float, float]:
    r"""The switch of :func:`hybrid` with the best objective at the horizon, and its value.

    ``objective="loss"`` minimises the *hard* loss: the hybrid ends as a hard model and is read as
    one, while its soft loss may be near 0 under a weak focus. ``"alpha"`` maximises the attention
    on the foreground instead. A switch at 0 is the hard flow, at the horizon the soft one.
    Returns (switch, loss or alpha); no randomness is involved. [vr23] Sec. 5
    """
    from scipy.optimize import minimize_scalar

    _check_size("m", m, "segments")
    _check_size("C", C, "classes")
    _check_time("horizon", horizon)

    # mu and nu stay near 0 up to a time of about m C and then grow with log t
    def switch_at(u: float) -> float:
        return min(m * C * float(np.expm1(u)), horizon)

    def cost(u: float) -> float:
        mu, nu = hybrid([horizon], m, C, switch_at(u))
        match objective:
            case "loss":
                return float(losses("hard", mu, share(nu, m), C, rest(nu, m))[0])
            case "alpha":
                return -float(nu[0])  # grows with alpha and does not saturate
            case _:
                assert_never(objective)

    grid = np.linspace(0, np.log1p(horizon / (m * C)), 33)
    best = int(np.argmin([cost(u) for u in grid]))
    bracket = grid[max(best - 1, 0)], grid[min(best + 1, 32)]
    result = minimize_scalar(cost, bounds=bracket, method="bounded", options={"xatol": 1e-7})
    u = min(float(grid[best]), float(result.x), key=cost)
    switch = float(horizon) if u == grid[-1] else switch_at(u)
    value = cost(u)
    return switch, float(share(-value, m)) if objective == "alpha" else value


def _joint(
    paradigm: Paradigm, t: FloatArray, path: tuple[FloatArray, FloatArray], m: float, C: float
) -> Trajectory:
    mu, nu = path
    alpha = share(nu, m)
    loss = losses(paradigm, mu, alpha, C, rest(nu, m))
    return Trajectory(t, mu, nu, alpha, share(mu, C), loss)


def _fixed(paradigm: Paradigm, t: FloatArray, alpha: float, C: float) -> Trajectory:
    mu = exact_fixed(paradigm, t, alpha, C)
    focus = np.full_like(t, alpha)
    return Trajectory(t, mu, None, focus, share(mu, C), losses(paradigm, mu, focus, C))


def _check_size(name: str, value: float, requirement: str) -> None:
    if not 2 <= value <= LARGEST_SIZE:
        raise FoveateError(
            f"{name} must be from 2 to {LARGEST_SIZE:.0e} {requirement}, got {value}"
        )


def _check_time(name: str, value: float) -> None:
    if not 0 <= value <= LARGEST_TIME:
        raise FoveateError(f"{name} must be a time from 0 to {LARGEST_TIME:.0e}, got {value}")


def _checked_times(t: ArrayLike) -> FloatArray:
    times = np.asarray(t, float)
    if times.ndim != 1 or times.size == 0:
        raise FoveateError(f"t must be a list of at least one time, got shape {times.shape}")
    for i, value in enumerate(times):
        _check_time(f"t[{i}]", value)
    fall = np.flatnonzero(np.diff(times) < 0)
    if fall.size:
        i = int(fall[0]) + 1
        raise FoveateError(f"t must be sorted, but t[{i}] = {times[i]} comes after {times[i - 1]}")
    return times
