r"""Mixtures of classifiers, weighed by their out-of-fold log loss.

.. math:: p(c) = \sum_k w_k p_k(c), \quad w \ge 0, \quad \sum_k w_k = 1
"""

from collections.abc import Callable, Mapping

import numpy as np

from foveate.metrics.calibration import calibrated, temperature
from foveate.types import Array
from foveate.userdata.boosted_trees import TREES

__all__ = [
    "cross_calibrate",
    "cross_mix",
    "mix",
    "mixture_weights",
    "unmapped_note",
]

ROUNDS, TOLERANCE = 500, 1e-9
PRIOR = 1.0  # pseudo-bags per component: keeps weights of few bags away from 0 and 1


def mixture_weights(p: Array, y: Array) -> Array:
    r"""Weights that make the labels most likely, by EM, with a weak Dirichlet prior.

    .. math:: w_k \leftarrow \frac{a + \sum_i r_{ik}}{K a + n}, \quad
        r_{ik} = \frac{w_k p_k(y_i)}{\sum_l w_l p_l(y_i)}

    Args:
        p: Probabilities of K classifiers, shape (K, n, C).
        y: Labels, shape (n,).

    Example:
        >>> good, bad = np.array([[0.9, 0.1], [0.1, 0.9]]), np.full((2, 2), 0.5)
        >>> weights = mixture_weights(np.stack([np.tile(good, (50, 1)), np.tile(bad, (50, 1))]),
        ...                           np.tile([0, 1], 50))
        >>> weights.round(1).tolist()
        [1.0, 0.0]
    """
    likelihood = np.maximum(p[:, np.arange(len(y)), y], 1e-12)
    weights = np.full(len(p), 1 / len(p))
    for _ in range(ROUNDS):
        joint = weights[:, None] * likelihood
        counts = (joint / joint.sum(0)).sum(1)
        new = (PRIOR + counts) / (PRIOR * len(p) + len(y))
        if np.abs(new - weights).max() < TOLERANCE:
            break
        weights = new
    result: Array = new
    return result


def mix(weights: Array, p: Array) -> Array:
    """The mixture of probabilities (K, n, C), shape (n, C)."""
    mixed: Array = np.einsum("k,knc->nc", weights, p)
    return mixed


def cross_calibrate(p: Array, y: Array, fold: Array) -> Array:
    """Probabilities (n, C) of each fold at the temperature fitted on the other folds."""
    result = np.empty_like(p)
    for k in np.unique(fold):
        held_out = fold == k
        result[held_out] = calibrated(p[held_out], temperature(p[~held_out], y[~held_out]))
    return result


def part_weights(p: Array, y: Array, linear: Array) -> Array:
    """Weights of classifiers of which the linear ones are one part of the mixture.

    The linear classifiers are mixed first; their mixture is then a part beside the others.

    Args:
        p: Probabilities of K classifiers, shape (K, n, C).
        y: Labels, shape (n,).
        linear: Which are linear, boolean, shape (K,).
    """
    of_linear = mixture_weights(p[linear], y)
    part = mix(of_linear, p[linear])
    of_parts = mixture_weights(np.concatenate([p[~linear], part[None]]), y)
    weights = np.empty(len(p))
    weights[~linear], weights[linear] = of_parts[:-1], of_parts[-1] * of_linear
    return weights


def cross_mix(
    p: Array, y: Array, fold: Array, weigh: Callable[[Array, Array], Array] = mixture_weights
) -> Array:
    """The mixture (n, C) of probabilities (K, n, C), each fold weighed by the other folds.

    Args:
        p: Probabilities of K classifiers, shape (K, n, C).
        y: Labels, shape (n,).
        fold: Fold of each bag, shape (n,).
        weigh: Weights (K,) from probabilities and labels.
    """
    result = np.empty_like(p[0])
    for k in np.unique(fold):
        held_out = fold == k
        result[held_out] = mix(weigh(p[:, ~held_out], y[~held_out]), p[:, held_out])
    return result


def unmapped_note(weights: Mapping[str, float]) -> str:
    """How much of a mixture comes from parts that have no map of segments; "" if nothing does.

    Args:
        weights: The weight of each part by its name.

    Example:
        >>> unmapped_note({"soft": 0.75, "boosted-trees": 0.25})[:52]
        '25 % of the weight of the mixture is that of boosted'
    """
    if TREES not in weights:
        return ""
    return (
        f"{100 * weights[TREES]:.0f} % of the weight of the mixture is that of boosted trees of "
        "pooled segments, which have no map: attention and evidence of segments are those of the "
        "other parts."
    )
