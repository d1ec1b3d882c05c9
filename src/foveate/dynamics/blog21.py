r"""The two-token toy classifier of the snell21 blog post, in the blog's letters.

Here ``beta0``, ``beta1`` are the classifier weights of the tokens 0 and 1 and ``p`` is the
attention on token 1 in the sequence {0, 1}; ``tau`` is training time. The scores are
:math:`s_0 = \beta_0` for {0, 0} and :math:`s_1 = (1-p)\beta_0 + p\beta_1` for {0, 1}. The blog
writes the loss as :math:`s_1 - s_0` and uses :math:`s_0 - s_1`; this file follows the use.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from foveate.types import FloatArray

__all__ = ["FloatArray", "State", "exact", "gated_rates", "loss", "numerical", "rates", "starts"]

State = tuple[float, float, float]


def loss(beta0: ArrayLike, beta1: ArrayLike, p: ArrayLike) -> FloatArray:
    r""":math:`L = s_0 - s_1 = p (\beta_0 - \beta_1)`, for arrays of one shape. [snell21] blog"""
    return np.asarray(p, float) * (np.asarray(beta0, float) - np.asarray(beta1, float))


def rates(
    beta0: ArrayLike, beta1: ArrayLike, p: ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray]:
    r"""The free flow, :math:`\dot\beta_0 = -p,\ \dot\beta_1 = p,\ \dot p = \beta_1 - \beta_0`.

    Arguments and results have one shape; nothing keeps p between 0 and 1. The blog's
    :math:`\partial L/\partial\beta_0` in the second equation is a misprint. [snell21] blog
    """
    p = np.asarray(p, float)
    return -p, p, np.asarray(beta1, float) - np.asarray(beta0, float)


def gated_rates(
    beta0: ArrayLike, beta1: ArrayLike, a: ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray]:
    r"""The flow with a softmax gate, :math:`p = e^a/(1 + e^a)` and the logit a trained instead.

    .. math:: \dot\beta_0 = -p,\quad \dot\beta_1 = p,\quad \dot a = p(1-p)(\beta_1 - \beta_0)

    It keeps :math:`(\beta_1-\beta_0)^2 - 4(a + e^a)`. As p stays positive, a wrong start always
    turns round, where the free flow runs off to :math:`p = -\infty`; but the blog's turns at
    a = −99, after a time of about :math:`e^{99}`. Arguments and results have one shape.
    """
    a = np.asarray(a, float)
    p = expit(a)
    return -p, p, p * expit(-a) * (np.asarray(beta1, float) - np.asarray(beta0, float))


def exact(tau: ArrayLike, start: State) -> tuple[FloatArray, FloatArray, FloatArray]:
    r"""The free flow from any ``start`` (beta0, beta1, p), a linear equation.

    With :math:`s = \beta_1 - \beta_0` and :math:`\omega = \sqrt2`,

    .. math:: p = A e^{\omega\tau} + B e^{-\omega\tau},\quad
        s = \omega (A e^{\omega\tau} - B e^{-\omega\tau}),\quad
        A, B = \tfrac12 (p(0) \pm s(0)/\omega)

    while :math:`\beta_0 + \beta_1` stays; from :math:`\beta_0 = \beta_1` and p = ½ this is
    :math:`p = \tfrac12 \cosh\sqrt2\tau`. ``tau`` of any shape -> beta0, beta1, p of that shape.
    """
    beta0, beta1, p = start
    omega = np.sqrt(2.0)
    slope = (beta1 - beta0) / omega
    # growing and fading mode apart: cosh and sinh would cancel where only the fading one is left
    grown = (p + slope) / 2 * np.exp(omega * np.asarray(tau, float))
    faded = (p - slope) / 2 * np.exp(-omega * np.asarray(tau, float))
    centre, reach = (beta0 + beta1) / 2, omega * (grown - faded) / 2
    return centre - reach, centre + reach, grown + faded


def numerical(
    tau: ArrayLike, start: State, gated: bool = False
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Either flow from ``start`` (beta0, beta1, p) by an eighth-order Runge–Kutta method.

    ``tau`` (T,) of times from 0 on -> beta0, beta1, p, each (T,). A gated flow needs 0 < p < 1.
    """
    from scipy.integrate import solve_ivp

    def field(_: float, state: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        return gated_rates(*state) if gated else rates(*state)

    beta0, beta1, p = start
    first = (beta0, beta1, float(logit(p)) if gated else p)
    grid, back = np.unique(np.asarray(tau, float), return_inverse=True)
    span = (0.0, float(grid[-1]))
    done = solve_ivp(field, span, first, "DOP853", grid, rtol=1e-12, atol=1e-14)
    beta0s, beta1s, last = done.y[:, back]
    return beta0s, beta1s, expit(last) if gated else last


def starts(K: float = 10.0) -> dict[str, State]:
    """The blog's three starts as (beta0, beta1, p).

    "uniform" starts at p = ½; "wrong" takes token 0 for the positive one, so that p first falls;
    "low_loss" has the loss −2K, as low as one likes, under uniform attention. [snell21] blog
    """
    return {
        "uniform": (0.0, 0.0, 0.5),
        "wrong": (10.0, -10.0, 0.5),
        "low_loss": (-K, 3 * K, 0.5),
    }
