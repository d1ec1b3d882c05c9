r"""Minima of proxy and logistic regression, two parametrisations of a problem. [snell21] A.10

With x the share of each word in a text, the proxy's scores are :math:`WEx` and those of logistic
regression :math:`Bx`; every B of two rows is a product WE once d ≥ 2. Two classes see only the
difference of rows, :math:`δ = b_1 - b_0`. Under a penalty :math:`\tfrac λ2(\|W\|^2 + \|E\|^2)` the
cheapest factors of a product cost its nuclear norm, λ‖WE‖_*, and the cheapest product with a given
δ is :math:`(-δ/2, δ/2)`, which costs :math:`λ\|δ\|/\sqrt2`. So the proxy minimises

.. math:: f(δ) + \tfrac{λ}{\sqrt2} \|δ\|,

logistic regression under a norm that is not squared. Where its minimum δ is not 0, it is also that
of ridge regression, :math:`f(δ) + \tfrac1{2nC}\|δ\|^2` with :math:`C = \sqrt2\,\|δ\|/(nλ)`: both
have the same gradient there. Above :math:`λ_{max} = \sqrt2\,\|∇f(0)\|` the proxy stays at 0, which
no ridge does. Without a penalty the two minima are the same wherever there is one.
"""

from typing import Any

import numpy as np

from foveate.types import Array

__all__ = ["factored_minimum", "largest_penalty", "logistic_weights", "ridge_strength"]


def factored_minimum(x: Array, y: Array, penalty: float, d: int, start: Array) -> Array:
    """Word logits δ = γ₁ − γ₀ of the proxy at its minimum, shape (V,).

    Args:
        x: Share of each word in each text, shape (n, V).
        y: Labels 0 or 1, shape (n,).
        penalty: λ.
        d: Size of an embedding.
        start: Numbers to begin with, W first, shape (2 d + d V,).
    """
    from scipy.optimize import minimize

    n, words = x.shape

    def value_and_gradient(flat: Array) -> tuple[float, Array]:
        w, e = flat[: 2 * d].reshape(2, d), flat[2 * d :].reshape(d, words)
        scores = x @ (w @ e).T
        margin = (2 * y - 1) * (scores[:, 1] - scores[:, 0])
        margin_grad = -(2 * y - 1) / (1 + np.exp(margin)) / n  # ∂f/∂(score of 1 − score of 0)
        slope = margin_grad @ x
        product = np.stack([-slope, slope])
        value = np.logaddexp(0, -margin).mean() + penalty / 2 * (flat @ flat)
        return value, np.r_[(product @ e.T).ravel(), (w.T @ product).ravel()] + penalty * flat

    options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 0.0, "gtol": 1e-10, "maxcor": 50}
    flat = minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options=options).x
    rows = flat[: 2 * d].reshape(2, d) @ flat[2 * d :].reshape(d, words)
    return np.asarray(rows[1] - rows[0])


def largest_penalty(x: Array, y: Array) -> float:
    """λ_max = √2 ‖∇f(0)‖: from here on the proxy's minimum is 0."""
    slope = -((2 * y - 1) / 2) @ x / len(y)
    return float(np.sqrt(2) * np.linalg.norm(slope))


def ridge_strength(delta: Array, penalty: float, n: int) -> float:
    """C of the ridge regression with the same minimum δ, infinite without a penalty."""
    return float(np.sqrt(2) * np.linalg.norm(delta) / (n * penalty)) if penalty else np.inf


def logistic_weights(x: Any, y: Array, strength: float, tol: float = 1e-4) -> Array:
    """Weights of scikit-learn's logistic regression without an intercept, shape (V,).

    Args:
        x: Share of each word in each text, dense or sparse, shape (n, V).
        y: Labels 0 or 1, shape (n,).
        strength: C; infinite for none.
        tol: Largest entry of the gradient to stop at.
    """
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=strength, fit_intercept=False, tol=tol, max_iter=10_000)
    return np.asarray(model.fit(x, y).coef_[0])
