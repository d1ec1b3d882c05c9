"""Decision thresholds for two classes, chosen on out-of-fold predictions."""

import re
from typing import Any

import numpy as np

from foveate.errors import FoveateError
from foveate.types import Array

__all__ = ["choose_threshold", "cross_decide", "parse_rule", "threshold_entry"]

COST = re.compile(r"cost=(\d+(?:\.\d+)?)")


def parse_rule(rule: str) -> tuple[str, float]:
    """The name of a threshold rule and the cost of a missed bag of the second class.

    Example:
        >>> parse_rule("youden"), parse_rule("cost=5")
        (('youden', 1.0), ('cost', 5.0))
    """
    if rule in ("none", "youden", "f1"):
        return rule, 1.0
    match = COST.fullmatch(rule)
    if match is None or float(match[1]) <= 0:
        raise FoveateError("threshold must be none, youden, f1 or cost=NUMBER above 0")
    return "cost", float(match[1])


def choose_threshold(p: Array, y: Array, rule: str) -> float:
    r"""The probability of the second class from which on it is predicted.

    ``youden`` maximises sensitivity + specificity, ``f1`` the F1 score of the second class, and
    ``cost=c`` minimises false alarms plus c times missed bags. Candidates lie halfway between
    neighbouring probabilities.

    Args:
        p: Probabilities of the second class, shape (n,).
        y: Labels 0 or 1, shape (n,).
        rule: See :func:`parse_rule`.

    Example:
        >>> choose_threshold(np.array([0.1, 0.2, 0.3, 0.9]), np.array([0, 0, 1, 1]), "youden")
        0.25
    """
    name, cost = parse_rule(rule)
    values = np.unique(p)
    candidates = np.concatenate([[0.0], (values[1:] + values[:-1]) / 2, [1.0]])
    called = p[None] >= candidates[:, None]
    hits, alarms = (called & (y == 1)).sum(1), (called & (y == 0)).sum(1)
    positives, negatives = int((y == 1).sum()), int((y == 0).sum())
    if name == "youden":
        gain = hits / max(1, positives) - alarms / max(1, negatives)
    elif name == "f1":
        gain = 2 * hits / np.maximum(1, hits + alarms + positives)
    else:
        gain = -(alarms + cost * (positives - hits)).astype(float)
    best = np.flatnonzero(gain >= gain.max() - 1e-12)
    return float(candidates[best[len(best) // 2]])


def cross_decide(p: Array, y: Array, fold: Array, rule: str) -> Array:
    """Whether the second class is predicted, each fold at the threshold of the other folds.

    Args:
        p: Out-of-fold probabilities of the second class, shape (n,).
        y: Labels 0 or 1, shape (n,).
        fold: Fold of each bag, shape (n,).
        rule: See :func:`parse_rule`; "none" decides at one half.

    Returns:
        Boolean, shape (n,).
    """
    if rule == "none":
        return p >= 0.5
    called = np.zeros(len(y), dtype=bool)
    for k in np.unique(fold):
        held_out = fold == k
        called[held_out] = p[held_out] >= choose_threshold(p[~held_out], y[~held_out], rule)
    return called


def threshold_entry(p: Array, y: Array, fold: Array, rule: str) -> dict[str, Any]:
    """The threshold for new bags, and its sensitivity and specificity out of fold.

    Each fold is decided at the threshold that the other folds choose.

    Args:
        p: Out-of-fold probabilities, shape (n, 2).
        y: Labels, shape (n,).
        fold: Fold of each bag, shape (n,).
        rule: See :func:`parse_rule`.
    """
    if p.shape[1] != 2:
        raise FoveateError(f"--threshold is for two classes, got {p.shape[1]}")
    called = cross_decide(p[:, 1], y, fold, rule)
    return {
        "rule": rule,
        "value": choose_threshold(p[:, 1], y, rule),
        "sensitivity": float(called[y == 1].mean()),
        "specificity": float((~called[y == 0]).mean()),
    }
