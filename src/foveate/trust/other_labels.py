"""Other labels of bags: matching bags by them, and explaining segments away."""

import numpy as np

from foveate.trust.density_ratio import label_log_ratios, posterior
from foveate.trust.segment_rows import Rows
from foveate.types import Array

__all__ = ["explain_away", "explained", "matched"]

PROPENSITY = 1.0  # inverse strength of the penalty on the model of the class given other labels
WEIGHT = 10.0  # largest weight of a bag by its other labels, and one over the smallest


def explain_away(e: Array, others: Array) -> Array:
    r"""Probability of being evidence of a class beside other labels of the same bag.

    With odds :math:`o = e / (1 - e)` a segment is evidence of one of the labels that its bag has,
    or background: :math:`e' = o / (1 + o + \sum_k o_k)`.

    Args:
        e: Probability of being evidence of the class, by itself, shape (…).
        others: The same of other labels, 0 where the bag does not have them, shape (…, L).

    Example:
        >>> float(explain_away(np.array(0.75), np.array([0.75])).round(3))
        0.429
    """
    odds, rest = _odds(e), _odds(others).sum(-1)
    return odds / (1 + odds + rest)


def matched(
    rows: Rows,
    y: Array,
    labels: Array,
    more: tuple[Rows, Array] | None,
    more_labels: Array | None,
) -> tuple[Rows, tuple[Rows, Array] | None]:
    r"""Rows weighted so that bags of all classes have their other labels equally often.

    A bag of class y with other labels l gets the weight :math:`p(y) / p(y \mid l)` (inverse
    propensity), by logistic regression. What a class shares with a label that accompanies it then
    no longer tells the class. Weights are bounded, since few bags have rare pairs of labels.

    Args:
        rows: Segments of the bags that are scored.
        y: Their bags' classes, shape (n,).
        labels: Their bags' other labels, boolean (n, L).
        more: Segments and classes of further bags.
        more_labels: Their other labels, boolean (n', L).
    """
    from sklearn.linear_model import LogisticRegression

    both = more is not None and more_labels is not None
    have = np.concatenate([labels, more_labels]) if both and more_labels is not None else labels
    all_labels = np.concatenate([y, more[1]]) if both and more is not None else y
    if len(np.unique(all_labels)) < 2:
        return rows, more
    model = LogisticRegression(C=PROPENSITY).fit(have.astype(float), all_labels)
    column = np.searchsorted(model.classes_, all_labels)
    p = model.predict_proba(have.astype(float))[np.arange(len(all_labels)), column]
    share = np.bincount(column)[column] / len(all_labels)
    weight = np.clip(share / p, 1 / WEIGHT, WEIGHT)
    first = rows._replace(weight=rows.weight * weight[: len(y)][rows.bag])
    if not both or more is None:
        return first, more
    other = more[0]._replace(weight=more[0].weight * weight[len(y) :][more[0].bag])
    return first, (other, more[1])


def explained(
    labels: Array, e: Array, rows: Rows, fold: Array, more: tuple[Rows, Array] | None
) -> Array:
    """Evidence of the bags' classes with their other labels explained away, shape (N,).

    Args:
        labels: The bags' other labels, boolean (n, L).
        e: Probability of being evidence of the bag's class, shape (N,).
        rows: Segments of the bags.
        fold: Fold of each bag, shape (n,).
        more: Segments and other labels of further bags.
    """
    log_r = label_log_ratios(rows, labels, fold=fold, more=more)
    has = labels[rows.bag]
    others = np.zeros(has.shape)
    for k in range(has.shape[1]):
        kappa = max(1.0, float(np.exp(np.median(log_r[has[:, k], k])))) if has[:, k].any() else 1.0
        others[:, k] = np.where(has[:, k], posterior(log_r[:, k], kappa), 0.0)
    return explain_away(e, others)


def _odds(e: Array) -> Array:
    return e / np.maximum(1 - e, 1e-9)
