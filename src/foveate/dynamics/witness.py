r"""The first error mode with two classes, and the effect of a witness on it, as a gradient flow.

Bags hold one segment of class A or B and m − 1 equal background segments b, the classes equally
often. The focus is free, with scores :math:`s_A, s_B, s_b`; the classifier too, with logits
:math:`t_A, t_B, t_b` of A against B. Attention on the foreground of a bag of class A is
:math:`a_A = \sigma(s_A - s_b - \log(m-1))`, and the marginal likelihood has the loss

.. math:: L = -\tfrac12\log[a_A\sigma(t_A) + (1-a_A)\sigma(t_b)]
              -\tfrac12\log[a_B\sigma(-t_B) + (1-a_B)\sigma(-t_b)].

It vanishes where the focus is right, and also where B is predicted whenever A is not attended
(:math:`a_A = 1, a_B = 0, t_b = -\infty`): the likelihood does not distinguish the two. An
additional term does.

- A *witness*, a uniformly drawn segment that must predict the label too, adds λ times the mean of
  :math:`-\log\sigma(\pm t)` over the bag. Background then predicts B with probability
  :math:`q = (1+\lambda\kappa)/(1+2\lambda\kappa)`, :math:`\kappa = (m-1)/m`, while the foreground
  of B learns to predict B even if it is not attended. Moving attention there lowers the loss: for
  every λ > 0 the wrong fixed point disappears.
- A *uniform penalty* on predictions of unattended segments, λ times the mean of
  :math:`KL(u\|\sigma(\pm t))` with weights :math:`1-\alpha`, gives the same q with
  :math:`\kappa = (2m-3)/(2m-2)`, but keeps the foreground of B at one half: moving attention there
  raises the loss, and the wrong fixed point remains for every λ.
"""

from typing import Literal, NamedTuple

import numpy as np

from foveate.errors import FoveateError
from foveate.types import FloatArray

__all__ = ["Kind", "TwoClasses", "WrongPoint", "follow", "loss", "rates", "wrong_point"]

Kind = Literal["lvml", "witness", "uniform-penalty"]
A, B, BACKGROUND = 0, 1, 2


class TwoClasses(NamedTuple):
    """The flow at some times.

    Args:
        t: Times, shape (T,).
        s: Scores of A, B and background, shape (T, 3).
        logit: Logits of A against B of the three, shape (T, 3).
        a: Attention on the foreground of bags of A and of B, shape (T, 2).
    """

    t: FloatArray
    s: FloatArray
    logit: FloatArray
    a: FloatArray


class WrongPoint(NamedTuple):
    """Where B is read from the background.

    Args:
        background: Probability of B predicted by the background.
        foreground: Probability of B predicted by the unattended foreground of B in the limit.
    """

    background: float
    foreground: float

    @property
    def is_stable(self) -> bool:
        """Whether the loss of bags of B increases if attention moves to their foreground."""
        return self.foreground < self.background


def wrong_point(m: int, weight: float, kind: Kind) -> WrongPoint:
    """Predictions of the classifier where the focus is wrong on B; see the module docstring.

    Args:
        m: Segments per bag, at least 3.
        weight: λ.
        kind: The term added to the marginal likelihood.

    Example:
        >>> [wrong_point(20, 1.0, kind).is_stable for kind in ("witness", "uniform-penalty")]
        [False, True]
    """
    _check(m, weight)
    if kind == "lvml" or weight == 0:
        return WrongPoint(1.0, 0.5)  # no term trains the foreground of B
    kappa = (m - 1) / m if kind == "witness" else (2 * m - 3) / (2 * m - 2)
    probability = (1 + weight * kappa) / (1 + 2 * weight * kappa)
    return WrongPoint(probability, 1.0 if kind == "witness" else 0.5)


def loss(state: FloatArray, m: int, weight: float, kind: Kind) -> float:
    """The loss of scores and logits, shape (6,), with the additional term.

    The weights of the uniform penalty are constant in its gradient, so :func:`rates` is then not
    the gradient of this function with respect to the scores.
    """
    s, t = state[:3], state[3:]
    a = _attention(s, m)
    label = -np.log(_marginal(a, t)).mean()
    foreground = _log_one_plus_exp(np.array([-t[A], t[B]]))
    background = _log_one_plus_exp(np.array([-t[BACKGROUND], t[BACKGROUND]]))
    if kind == "witness":
        return float(label + weight * (foreground + (m - 1) * background).mean() / m)
    if kind == "uniform-penalty":
        outside_foreground, outside_background = _unattended(a, m)
        penalty = (_log_one_plus_exp(t) + _log_one_plus_exp(-t)) / 2 - np.log(2)
        added = (
            outside_foreground @ penalty[:2] / 2 + outside_background.mean() * penalty[BACKGROUND]
        )
        return float(label + weight * added)
    return float(label)


def rates(state: FloatArray, m: int, weight: float, kind: Kind) -> FloatArray:
    """The flow: minus the gradient of the loss in scores and logits, shape (6,)."""
    s, t = state[:3], state[3:]
    a, p = _attention(s, m), _sigmoid(t)
    inside, outside = np.array([p[A], 1 - p[B]]), np.array([p[BACKGROUND], 1 - p[BACKGROUND]])
    marginal = _marginal(a, t)
    toward = (inside - outside) / marginal * a * (1 - a) / 2
    sign = np.array([1.0, -1.0])
    slope = sign * a * inside * (1 - inside) / marginal / 2
    slope_back = float((sign * (1 - a) * outside * (1 - outside) / marginal).sum()) / 2
    if kind == "witness":
        slope = slope + weight / m * sign * (1 - inside) / 2
        slope_back -= weight * (m - 1) / m * (p[BACKGROUND] - 0.5)
    elif kind == "uniform-penalty":
        outside_foreground, outside_background = _unattended(a, m)
        slope = slope - weight * outside_foreground * (p[:2] - 0.5) / 2
        slope_back -= weight * float(outside_background.mean()) * (p[BACKGROUND] - 0.5)
    return np.array([*toward, -toward.sum(), *slope, slope_back])


def follow(start: FloatArray, t: FloatArray, m: int, weight: float, kind: Kind) -> TwoClasses:
    """The flow from scores and logits ``start``, shape (6,), at times ``t``.

    Args:
        start: Scores of A, B, background, then their logits.
        t: Times from 0 on, rising, shape (T,).
        m: Segments per bag, at least 3.
        weight: λ.
        kind: The term added to the marginal likelihood.
    """
    from scipy.integrate import solve_ivp

    _check(m, weight)

    def slope(_t: float, state: FloatArray) -> FloatArray:
        return rates(state, m, weight, kind)

    span = (float(t[0]), float(t[-1]))
    solution = solve_ivp(slope, span, start, "LSODA", t_eval=t, rtol=1e-9, atol=1e-11)
    if not solution.success:
        raise FoveateError(f"the flow could not be integrated: {solution.message}")
    s, logit = solution.y[:3].T, solution.y[3:].T
    return TwoClasses(t, s, logit, np.array([_attention(row, m) for row in s]))


def _attention(s: FloatArray, m: int) -> FloatArray:
    """Attention on the foreground of bags of A and of B, shape (2,)."""
    return _sigmoid(s[:2] - s[BACKGROUND] - np.log(m - 1))


def _marginal(a: FloatArray, t: FloatArray) -> FloatArray:
    """Marginal probability of the label in bags of A and of B, shape (2,)."""
    inside, outside = (
        _sigmoid(np.array([t[A], -t[B]])),
        _sigmoid(np.array([t[BACKGROUND], -t[BACKGROUND]])),
    )
    return a * inside + (1 - a) * outside


def _unattended(a: FloatArray, m: int) -> tuple[FloatArray, FloatArray]:
    """Shares of foreground and background in 1 − α, for bags of A and of B, (2,) each."""
    outside_foreground = (1 - a) / (m - 1)
    return outside_foreground, 1 - outside_foreground


def _sigmoid(x: FloatArray) -> FloatArray:
    from scipy.special import expit

    return expit(x)


def _log_one_plus_exp(x: FloatArray) -> FloatArray:
    return np.logaddexp(0.0, x)


def _check(m: int, weight: float) -> None:
    if m < 3:
        raise FoveateError(f"m must be at least 3, got {m}")
    if weight < 0:
        raise FoveateError(f"the weight must not be negative, got {weight}")
