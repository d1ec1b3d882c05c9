"""Calibration of probabilities by a temperature, and its error."""

import numpy as np

from foveate.types import Array

__all__ = ["calibrated", "calibration_error", "cross_calibrated", "temperature"]

BINS = 10


def calibrated(p: Array, temperature: float) -> Array:
    r"""Probabilities at a temperature, :math:`p_c^{1/T} / \sum_k p_k^{1/T}`, shape (n, C).

    Example:
        >>> calibrated(np.array([[0.8, 0.2]]), 0.5).round(3).tolist()
        [[0.941, 0.059]]
    """
    logits = np.log(np.maximum(p, np.finfo(float).tiny)) / temperature
    powers = np.exp(logits - logits.max(1, keepdims=True))
    scaled: Array = powers / powers.sum(1, keepdims=True)
    return scaled


def temperature(p: Array, y: Array) -> float:
    r"""The temperature under which labels are most likely, with a weak prior around 1.

    Minimises :math:`-\sum_i \log p_i(y_i; T) + \tfrac12 (\log T)^2`; without the second term the
    temperature of a model that makes no mistake would fall to 0.

    Args:
        p: Probabilities on validation bags, shape (n, C).
        y: Their labels, shape (n,).
    """
    from scipy.optimize import minimize_scalar

    log_p = np.log(np.maximum(p, np.finfo(float).tiny))

    def cost(log_t: float) -> float:
        logits = log_p * np.exp(-log_t)
        highest = logits.max(1)
        spread = np.log(np.exp(logits - highest[:, None]).sum(1))
        label_log_p = logits[np.arange(len(y)), y] - highest - spread
        return float(-label_log_p.sum() + log_t**2 / 2)

    start = min(np.linspace(-3, 3, 61), key=cost)  # there may be more than one local minimum
    best = minimize_scalar(cost, bounds=(start - 0.1, start + 0.1), method="bounded")
    return float(np.exp(best.x))


def cross_calibrated(p: Array, y: Array) -> Array:
    """Probabilities (n, C) of each half of the bags at the temperature of the other half."""
    even = np.arange(len(y)) % 2 == 0
    result = np.empty_like(p)
    for half in (even, ~even):
        result[half] = calibrated(p[half], temperature(p[~half], y[~half]))
    return result


def calibration_error(p: Array, y: Array, bins: int = BINS) -> float:
    r"""Expected calibration error, :math:`\sum_b \frac{n_b}{n} |\mathrm{acc}_b - \mathrm{conf}_b|`.

    Bags are sorted into bins of equal width by the probability of their predicted class.
    """
    confidence, correct = p.max(1), p.argmax(1) == y
    bin_index = np.minimum((confidence * bins).astype(int), bins - 1)
    gaps = []
    for b in np.unique(bin_index):
        inside = bin_index == b
        gaps.append(abs(correct[inside].mean() - confidence[inside].mean()) * inside.mean())
    return float(sum(gaps))
