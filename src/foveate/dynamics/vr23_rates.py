r"""Losses, incentives and rates of the linear-orthogonal setting, in vr23's letters.

``mu`` scales the classifier, :math:`w_k = \mu (s_k - \bar s)`, ``nu`` the focus,
:math:`u = \nu \sum_k s_k`; ``alpha`` is the attention on the foreground segment and ``beta`` the
probability of the right class on it; ``m`` segments, ``C`` classes. The foreground vectors
:math:`s_k` are orthonormal (the theorems need the unit norm too) and the background is orthogonal
to them, so the classifier is uniform on it.

Where alpha comes close to 1 the difference 1 − alpha loses precision; every function therefore
takes ``background``, the attention left to the background, from callers who know it exactly.
"""

from typing import Literal, assert_never

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from foveate.types import FloatArray

__all__ = [
    "PARADIGMS",
    "FloatArray",
    "Paradigm",
    "finite_difference_incentive",
    "incentive",
    "losses",
    "numerical",
    "rates",
    "rest",
    "share",
]

Paradigm = Literal["soft", "hard", "lvml"]
PARADIGMS: tuple[Paradigm, ...] = ("soft", "hard", "lvml")


def share(x: ArrayLike, n: float) -> FloatArray:
    r"""The softmax share of one score against n − 1 zeros, :math:`e^x / (e^x + n - 1)`.

    ``share(nu, m)`` is alpha and ``share(mu, C)`` is beta. ``x`` has any shape. [vr23] Theorem 2
    """
    return expit(np.asarray(x, float) - np.log(n - 1))


def rest(x: ArrayLike, n: float) -> FloatArray:
    r"""What :func:`share` leaves, :math:`(n-1) / (e^x + n - 1)`, to full relative precision."""
    return expit(np.log(n - 1) - np.asarray(x, float))


def _arrays(
    mu: ArrayLike, alpha: ArrayLike, background: ArrayLike | None
) -> tuple[FloatArray, ...]:
    alpha = np.asarray(alpha, float)
    left = 1 - alpha if background is None else np.asarray(background, float)
    return np.asarray(mu, float), alpha, left


def _log_gain(mu: FloatArray, C: float) -> FloatArray:
    r""":math:`\log(C\beta)`, the gain over a uniform guess, without cancellation at small mu."""
    return -np.log1p((C - 1) / C * np.expm1(-mu))


def losses(
    paradigm: Paradigm,
    mu: ArrayLike,
    alpha: ArrayLike,
    C: float,
    background: ArrayLike | None = None,
) -> FloatArray:
    r"""The population loss at (mu, alpha).

    .. math:: L^{SA} = -\log\frac{e^{\alpha\mu}}{e^{\alpha\mu}+C-1},\quad
        L^{HA} = -\alpha\log\beta + (1-\alpha)\log C,\quad
        L^{LV} = -\log\Big(\alpha\beta + \frac{1-\alpha}{C}\Big)

    ``mu``, ``alpha`` broadcast against each other; the paper's "+" before the second sum of
    the hard loss is a misprint. [vr23] Sec. 3.1
    """
    mu, alpha, left = _arrays(mu, alpha, background)
    match paradigm:
        case "soft":
            return np.logaddexp(0, np.log(C - 1) - alpha * mu)
        case "hard":
            return alpha * np.logaddexp(0, np.log(C - 1) - mu) + left * np.log(C)
        case "lvml":
            hit = alpha * share(mu, C) + left / C
            miss = alpha * rest(mu, C) + left * (C - 1) / C
            # hit + miss = 1: take the logarithm of whichever is known to more digits
            return np.where(hit < 0.5, -np.log(hit), -np.log1p(-np.minimum(miss, 0.5)))
        case _:
            assert_never(paradigm)


def incentive(
    paradigm: Paradigm,
    mu: ArrayLike,
    alpha: ArrayLike,
    C: float,
    background: ArrayLike | None = None,
) -> FloatArray:
    r"""The focus improvement incentive, :math:`-\partial L / \partial\alpha` at a fixed classifier.

    .. math:: \delta^{SA} = \frac{\mu (C-1)}{e^{\alpha\mu}+C-1},\quad
        \delta^{HA} = \log(C\beta),\quad \delta^{LV} = \frac{\beta - 1/C}{Z},\quad
        Z = \alpha\beta + \frac{1-\alpha}{C}

    ``mu``, ``alpha`` broadcast against each other. [vr23] Sec. 3.2, the definition in words
    """
    mu, alpha, left = _arrays(mu, alpha, background)
    match paradigm:
        case "soft":
            return mu * rest(alpha * mu, C)
        case "hard":
            return _log_gain(mu, C) + 0 * alpha  # free of alpha, but of the broadcast shape
        case "lvml":
            beta = share(mu, C)
            return -beta * (C - 1) / C * np.expm1(-mu) / (alpha * beta + left / C)
        case _:
            assert_never(paradigm)


def finite_difference_incentive(
    paradigm: Paradigm, mu: ArrayLike, alpha: ArrayLike, C: float, step: float = 0.01
) -> FloatArray:
    r"""The paper's incentive, :math:`L(\alpha) - L(\min(\alpha + .01, 1))` at the same classifier.

    Not divided by the step and identically 0 at alpha = 1, as published; the printed formula moves
    the classifier along with alpha, against its definition in words, which this follows.
    ``mu``, ``alpha`` broadcast against each other. [vr23] Sec. 3.2
    """
    increased = np.minimum(np.asarray(alpha, float) + step, 1)
    return losses(paradigm, mu, alpha, C) - losses(paradigm, mu, increased, C)


def rates(
    paradigm: Paradigm,
    mu: ArrayLike,
    alpha: ArrayLike,
    C: float,
    background: ArrayLike | None = None,
) -> tuple[FloatArray, FloatArray]:
    r"""The right-hand sides :math:`(\dot\mu, \dot\nu)`; with a fixed focus read the first alone.

    .. math:: \dot\mu^{SA} = \frac{\alpha}{e^{\alpha\mu}+C-1},\quad
        \dot\mu^{HA} = \frac{\alpha\beta}{e^\mu},\quad
        \dot\mu^{LV} = \frac{\alpha\beta^2}{Z e^\mu},\quad
        \dot\nu = \frac{\alpha(1-\alpha)}{C}\,\delta

    with delta of :func:`incentive`, which is the common form of the three focus rates.
    ``mu``, ``alpha`` broadcast against each other. [vr23] Eqs (1)–(6)
    """
    mu, alpha, left = _arrays(mu, alpha, background)
    match paradigm:
        case "soft":
            mu_dot = alpha * rest(alpha * mu, C) / (C - 1)
        case "hard":
            mu_dot = alpha * rest(mu, C) / (C - 1)
        case "lvml":
            beta = share(mu, C)
            mu_dot = alpha * beta / (alpha * beta + left / C) * rest(mu, C) / (C - 1)
        case _:
            assert_never(paradigm)
    return mu_dot, alpha * left / C * incentive(paradigm, mu, alpha, C, left)


def numerical(
    paradigm: Paradigm,
    t: ArrayLike,
    m: float,
    C: float,
    alpha: float | None = None,
    *,
    start: tuple[float, float] = (0.0, 0.0),
) -> tuple[FloatArray, FloatArray]:
    """The flow by an eighth-order Runge–Kutta method, the independent check of the exact one.

    ``t`` (T,) of times from 0 on -> ``mu`` (T,), ``nu`` (T,). A given ``alpha`` fixes the focus
    (Theorem 1) and leaves nu at its start. [vr23] Theorems 1 and 2
    """
    from scipy.integrate import solve_ivp

    def field(_: float, state: FloatArray) -> tuple[float, float]:
        mu, nu = state
        if alpha is not None:
            return float(rates(paradigm, mu, alpha, C)[0]), 0.0
        mu_dot, nu_dot = rates(paradigm, mu, share(nu, m), C, rest(nu, m))
        return float(mu_dot), float(nu_dot)

    grid, back = np.unique(np.asarray(t, float), return_inverse=True)
    span = (0.0, float(grid[-1]))
    done = solve_ivp(field, span, start, "DOP853", grid, rtol=1e-12, atol=1e-14)
    mu, nu = done.y[:, back]
    return mu, nu
