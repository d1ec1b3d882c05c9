r"""Abstention with a stated error: class-conditional conformal prediction on out-of-fold scores.

With the score :math:`s_i = 1 - p_i(y_i)` of bag i, class c stays in the prediction set of a new bag
if :math:`1 - p(c) \le q_c`, where :math:`q_c` is the
:math:`\lceil (n_c + 1)(1 - \varepsilon) \rceil`-th smallest score of the :math:`n_c` bags of class
c. If a new bag of class c and these bags are exchangeable, its set contains c with probability
:math:`1 - \varepsilon` or more, for every class (Vovk 2012, "Conditional validity of inductive
conformal predictors"). The bag is answered if its set has exactly one class. Here scores come from
models of single folds and new bags are read by all of them (cross-conformal prediction), for which
the guarantee holds approximately; the coverage is therefore measured too.
"""

from typing import Any

import numpy as np

from foveate.types import Array

__all__ = ["abstention_entry", "class_quantiles", "prediction_sets"]


def class_quantiles(p: Array, y: Array, error: float) -> Array:
    """The largest score of each class that is not excluded, shape (C,).

    It is 1, so that a class is never excluded, where the class has fewer than 1 / error − 1 bags.

    Args:
        p: Out-of-fold probabilities, shape (n, C).
        y: Labels, shape (n,).
        error: ε, the share of bags of a class whose set may lack it.

    Example:
        >>> p = np.array([[0.9, 0.1], [0.8, 0.2], [0.6, 0.4], [0.1, 0.9]])
        >>> class_quantiles(p, np.array([0, 0, 0, 1]), 0.5).round(1).tolist()
        [0.2, 0.1]
        >>> class_quantiles(p, np.array([0, 0, 0, 1]), 0.1).tolist()
        [1.0, 1.0]
    """
    quantiles = np.ones(p.shape[1])
    for c in range(p.shape[1]):
        scores = np.sort(1 - p[y == c, c])
        rank = int(np.ceil((len(scores) + 1) * (1 - error) - 1e-9))
        if 1 <= rank <= len(scores):
            quantiles[c] = scores[rank - 1]
    return quantiles


def prediction_sets(p: Array, quantiles: Array) -> Array:
    """Which classes are in the prediction set of each bag, boolean, shape (n, C).

    Args:
        p: Probabilities, shape (n, C).
        quantiles: From :func:`class_quantiles`, shape (C,).

    Example:
        >>> prediction_sets(np.array([[0.9, 0.1], [0.5, 0.5]]), np.array([0.3, 0.2])).tolist()
        [[True, False], [False, False]]
    """
    sets: Array = 1 - p <= quantiles + 1e-12
    return sets


def abstention_entry(p: Array, y: Array, fold: Array, error: float) -> dict[str, Any]:
    """Quantiles for new bags, and what they give out of fold.

    Each fold is decided by the quantiles of the other folds.

    Args:
        p: Out-of-fold probabilities, shape (n, C).
        y: Labels, shape (n,).
        fold: Fold of each bag, shape (n,).
        error: ε.

    Returns:
        ``quantiles`` for new bags; out of fold the ``coverage`` of each class, the share of bags
        that is ``answered``, and the share of all bags that gets a ``wrong_answer``.
    """
    sets = np.zeros(p.shape, dtype=bool)
    for k in np.unique(fold):
        held_out = fold == k
        sets[held_out] = prediction_sets(
            p[held_out], class_quantiles(p[~held_out], y[~held_out], error)
        )
    covered, single = sets[np.arange(len(y)), y], sets.sum(1) == 1
    return {
        "error": error,
        "quantiles": class_quantiles(p, y, error).tolist(),
        "coverage": [float(covered[y == c].mean()) for c in range(p.shape[1])],
        "answered": float(single.mean()),
        "wrong_answer": float((single & ~covered).mean()),
    }
