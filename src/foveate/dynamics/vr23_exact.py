r"""Exact solutions of the linear-orthogonal flows, in vr23's letters (see ``vr23_rates``).

Theorem 2's flow keeps :math:`G(\nu) - F(\mu)` with :math:`G(\nu) = \nu + (e^\nu - 1)/(m - 1)` and
one F for each paradigm. So nu is an explicit function of mu, and time is one integral over mu,
:math:`t(\mu) = \int d\mu / \dot\mu`: a polynomial on each panel of mu, which is inverted on the
whole grid of times at once.
"""

from collections.abc import Callable
from typing import NamedTuple, assert_never

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike
from scipy.special import spence, wrightomega

from foveate.dynamics.vr23_rates import FloatArray, Paradigm, rates, rest, share

__all__ = [
    "classifier_potential",
    "exact",
    "exact_fixed",
    "focus_potential",
    "hybrid",
    "invert_potential",
]

NODES, WEIGHTS = legendre.leggauss(24)
# The integrands' nearest complex singularities lie about pi / log(m) off the real axis. On a panel
# of that width or less, a polynomial of degree 23 leaves about 1e-15 of the integrand.
WIDEST = 0.5
BLOCK = 16  # panels that are evaluated at a time
NEAR = 0.1  # below, a panel's digits are absolute ones: a Newton step makes them relative
# Values at the nodes -> Legendre coefficients of the interpolating polynomial's integral from -1.
_FIT = legendre.legvander(NODES, 23).T * WEIGHTS * (np.arange(24)[:, None] + 0.5)
INTEGRAL = legendre.legint(_FIT, lbnd=-1, axis=0)


def focus_potential(nu: ArrayLike, m: float) -> FloatArray:
    r""":math:`G(\nu) = \nu + (e^\nu - 1)/(m - 1)`, for ``nu`` of any shape."""
    nu = np.asarray(nu, float)
    return nu + np.expm1(nu) / (m - 1)


def invert_potential(value: ArrayLike, m: float) -> FloatArray:
    r"""The nu with :math:`G(\nu) =` ``value`` (any shape), by the Wright omega function.

    :math:`y + \log y = G + 1/(m-1) - \log(m-1)` has :math:`y = e^\nu/(m-1)`: Lambert's W in log
    space, which cannot overflow. Near 0, where its digits are absolute ones, the line
    :math:`\nu = G (m-1)/m` is the better start of the Newton step that ends both.
    """
    value = np.asarray(value, float)
    y = wrightomega(value + 1 / (m - 1) - np.log(m - 1))
    nu = np.where(np.abs(value) < 1e-5, value * (m - 1) / m, np.log(y) + np.log(m - 1))
    return nu - (focus_potential(nu, m) - value) / (1 + y)


def _quadrature(
    f: Callable[[FloatArray], FloatArray], low: FloatArray | float, high: FloatArray
) -> FloatArray:
    """The integral of f from ``low`` to ``high``, elementwise."""
    half = (high - low) / 2
    nodes = (low + half)[..., None] + half[..., None] * NODES
    return half * np.einsum("...n,n->...", f(nodes), WEIGHTS)  # too small for BLAS threads


def classifier_potential(paradigm: Paradigm, mu: ArrayLike, C: float) -> FloatArray:
    r"""F(mu), with :math:`F' = \dot\nu / ((1-\alpha)\dot\mu)` and F(0) = 0, for any shape of mu.

    .. math:: F^{SA} = \tfrac{C-1}{2C}\mu^2,\quad
        F^{LV} = \tfrac{C-1}{C^2}[e^\mu + (C-2)\mu + (C-1)e^{-\mu} - C],\quad
        F^{HA} = \tfrac1C \int_0^\mu (e^x + C - 1) \log(C\beta(x))\,dx

    The hard integral ends in a dilogarithm. Near 0 the closed forms cancel to
    :math:`\mu^2`, so there both integrate F' instead.
    """
    mu = np.asarray(mu, float)
    if paradigm == "soft":
        return (C - 1) / (2 * C) * mu**2
    near, potential = np.abs(mu) <= 1, np.empty(mu.shape)
    potential[near] = _quadrature(lambda x: _slope(paradigm, x, C), 0.0, mu[near])
    potential[~near] = _closed_potential(paradigm, mu[~near], C)
    return potential


def _slope(paradigm: Paradigm, x: FloatArray, C: float) -> FloatArray:
    if paradigm == "hard":
        return -(np.exp(x) + C - 1) / C * np.log1p((C - 1) / C * np.expm1(-x))
    return (C - 1) / C**2 * np.expm1(x) * (1 + (C - 1) * np.exp(-x))


def _closed_potential(paradigm: Paradigm, mu: FloatArray, C: float) -> FloatArray:
    if paradigm == "lvml":
        return (C - 1) / C**2 * (np.exp(mu) + (C - 2) * mu + (C - 1) * np.exp(-mu) - C)
    gain = -np.log1p((C - 1) / C * np.expm1(-mu))
    dilogarithms = spence(1 + np.exp(mu) / (C - 1)) - spence(C / (C - 1))
    bracket = mu * np.log(C / (C - 1)) + mu**2 / 2 + dilogarithms
    return ((np.exp(mu) + C - 1) * gain + (C - 1) * (bracket - mu)) / C


def _root(
    equation: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    guess: FloatArray,
    low: FloatArray,
    high: FloatArray,
) -> FloatArray:
    """The root of an increasing function between low and high: Newton, or halving where it leaps.

    ``equation`` gives value and slope; all arrays have one shape.
    """
    x = guess
    for _ in range(100):
        value, slope = equation(x)
        low, high = np.where(value < 0, x, low), np.where(value > 0, x, high)
        new = x - value / slope
        new = np.where((new < low) | (new > high), (low + high) / 2, new)
        close = np.abs(new - x) <= 1e-9 * np.abs(new)  # Newton then squares what is left
        x = new
        if close.all():
            break
    return x


class _Clock(NamedTuple):
    """Time as a function of mu: on each panel a polynomial.

    Args:
        edges: Panel edges, shape (P + 1,).
        times: Time at each edge, shape (P + 1,).
        series: Legendre coefficients of the time since the panel's left edge, shape (25, P).
    """

    edges: FloatArray
    times: FloatArray
    series: FloatArray

    @classmethod
    def integrate(
        cls, rate_of: Callable[[FloatArray], FloatArray], mu: float, horizon: float, width: float
    ) -> "_Clock":
        """Integrate dt/dmu = ``rate_of`` from ``mu`` on, block by block, until the horizon."""
        edges, times, series = np.array([mu]), np.zeros(1), np.empty((len(INTEGRAL), 0))
        while times[-1] <= horizon:
            following = edges[-1] + width * np.arange(1, BLOCK + 1)
            nodes = (following - width / 2)[:, None] + width / 2 * NODES
            # Not a matrix product: these sizes are too small for BLAS threads.
            terms = width / 2 * np.einsum("kn,pn->kp", INTEGRAL, rate_of(nodes))
            edges, series = np.append(edges, following), np.append(series, terms, axis=1)
            times = np.append(times, times[-1] + np.cumsum(terms.sum(0)))  # every P_k(1) is 1
        return cls(edges, times, series)

    def mu_at(self, t: FloatArray) -> FloatArray:
        """The mu that is reached at each time, shape (T,) -> (T,)."""
        panel = np.searchsorted(self.times, t, side="right") - 1
        series, since = self.series[:, panel], t - self.times[panel]
        slope = legendre.legder(series)
        half = (self.edges[panel + 1] - self.edges[panel]) / 2
        span = self.times[panel + 1] - self.times[panel]

        def equation(x: FloatArray) -> tuple[FloatArray, FloatArray]:
            value, rate = (legendre.legval(x, c, tensor=False) for c in (series, slope))
            return value - since, np.asarray(rate, float)

        x = _root(equation, 2 * since / span - 1, -np.ones_like(t), np.ones_like(t))
        return self.edges[panel] + half * (x + 1)


def exact(
    paradigm: Paradigm, t: ArrayLike, m: float, C: float, start: tuple[float, float] = (0.0, 0.0)
) -> tuple[FloatArray, FloatArray]:
    r"""The joint flow of classifier and focus, exact up to the rounding of one integral.

    :math:`G(\nu) - F(\mu)` stays what it is at the ``start``, and :math:`t = \int d\mu/\dot\mu`.
    ``t`` of any shape -> ``mu``, ``nu`` of that shape. [vr23] Theorem 2, Eqs (1)–(6)
    """
    t = np.asarray(t, float)
    constant = focus_potential(start[1], m) - classifier_potential(paradigm, start[0], C)

    def focus_at(mu: FloatArray) -> FloatArray:
        return invert_potential(constant + classifier_potential(paradigm, mu, C), m)

    def rate_of(mu: FloatArray) -> FloatArray:
        nu = focus_at(mu)
        return 1 / rates(paradigm, mu, share(nu, m), C, rest(nu, m))[0]

    width = min(WIDEST, float(np.pi / np.log(m)))
    clock = _Clock.integrate(rate_of, start[0], float(t.max()), width)
    mu = clock.mu_at(t.ravel()).reshape(t.shape)
    near = np.abs(mu) < NEAR
    passed = _quadrature(rate_of, start[0], mu[near])
    mu[near] -= (passed - t[near]) / rate_of(mu[near])
    return mu, focus_at(mu)


def exact_fixed(paradigm: Paradigm, t: ArrayLike, alpha: ArrayLike, C: float) -> FloatArray:
    r"""The classifier's flow from zero under a fixed focus.

    .. math:: \text{HA: } e^\mu - 1 + (C-1)\mu = \alpha t,\quad
        \text{SA: the same with } (\alpha\mu, \alpha^2 t),

    .. math:: \text{LV: } \alpha[e^\mu-1+(C-1)\mu] + \tfrac{1-\alpha}{C}
        [e^\mu-1+2(C-1)\mu-(C-1)^2(e^{-\mu}-1)] = \alpha t

    ``t`` and ``alpha`` broadcast -> ``mu``. [vr23] Theorem 1, Eqs (1)–(3)
    """
    t, alpha = np.broadcast_arrays(np.asarray(t, float), np.asarray(alpha, float))
    n = C - 1
    match paradigm:
        case "soft":
            margin = invert_potential(alpha**2 * t / n, C)
            return np.divide(margin, alpha, out=np.zeros_like(margin), where=alpha > 0)
        case "hard":
            return invert_potential(alpha * t / n, C)
        case "lvml":
            high = invert_potential(t / n, C)  # no flow is faster than the one of perfect focus

            def equation(x: FloatArray) -> tuple[FloatArray, FloatArray]:
                up, down, off = np.expm1(x), np.expm1(-x), (1 - alpha) / C
                value = alpha * (up + n * x) + off * (up + 2 * n * x - n**2 * down) - alpha * t
                return value, (up + C) * (alpha + off * (C + n * down))

            return _root(equation, np.minimum(alpha * t / C, high), np.zeros_like(t), high)
        case _:
            assert_never(paradigm)


def hybrid(t: ArrayLike, m: float, C: float, switch: float) -> tuple[FloatArray, FloatArray]:
    """The soft flow until ``switch``, then the hard flow from the state reached there.

    ``t`` (T,) -> ``mu`` (T,), ``nu`` (T,), both continuous at the switch. [vr23] Sec. 5
    """
    t = np.atleast_1d(np.asarray(t, float))
    mu, nu = exact("soft", np.append(np.minimum(t, switch), switch), m, C)
    state, mu, nu = (float(mu[-1]), float(nu[-1])), mu[:-1], nu[:-1]
    after_switch = t > switch
    if after_switch.any():
        mu[after_switch], nu[after_switch] = exact("hard", t[after_switch] - switch, m, C, state)
    return mu, nu
