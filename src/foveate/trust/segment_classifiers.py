r"""Classifiers of single segments by the labels of their bags.

Trees and word counts are trained on the bags' labels as they are. The *mixture* knows that most
segments of a bag are background: linear logits tell background from the evidence of each class, and
EM alternates between them and the posterior of being evidence,

.. math:: e_j = \frac{p(c \mid x_j)}{p(c \mid x_j) + p(\text{background} \mid x_j)}, \qquad
          a_j = \frac{e_j}{1 - \prod_k (1 - e_k)}

for segment j of a bag of class c, which has some evidence. It starts from the posterior of a
classifier of the labels. Whatever a classifier gives is a score: calibrated out of fold, it bounds
the evidence however wrong it is (docs/guide/auditor.md).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from foveate.trust.segment_rows import Rows
from foveate.types import Array

__all__ = ["BINS", "CLASSIFIERS", "TRAIN_ROWS", "Classifier", "boosting", "count_words", "mixture"]

TRAIN_ROWS = 20_000  # segments that one classifier is trained on, at most
BINS = 64  # quantile bins of a feature for boosting
PENALTY = 0.02  # inverse strength of the penalty on the weights of the mixture
ROUNDS = 6  # of EM
LEAST_WEIGHT = 1e-4  # rows of less are left out

Classifier = Callable[[Rows, Array, Array], Array]
"""From rows, the class of each, and other segments: a probability by class that has rows."""


def boosting(train: Rows, y: Array, x: Array) -> Array:
    """Histogram gradient boosting, on numbers of quantile bins."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(
        max_iter=60,
        max_leaf_nodes=15,
        max_bins=BINS,
        learning_rate=0.1,
        min_samples_leaf=10,
        l2_regularization=1.0,
        early_stopping=False,
        random_state=0,
    )
    return np.asarray(model.fit(train.x, y, sample_weight=train.weight).predict_proba(x))


def forest(train: Rows, y: Array, x: Array) -> Array:
    """Extremely randomised trees."""
    from sklearn.ensemble import ExtraTreesClassifier

    few = len(train.x) < TRAIN_ROWS
    trees, most, features = (100, 6000, 0.5) if few else (25, 4000, 0.25)
    model = ExtraTreesClassifier(
        trees,
        min_samples_leaf=5,
        bootstrap=True,
        max_samples=min(most, len(train.x)),
        max_features=features,
        random_state=0,
    )
    return np.asarray(model.fit(train.x, y, sample_weight=train.weight).predict_proba(x))


def count_words(train: Rows, y: Array, x: Array) -> Array:
    """Share of each class among the bags that a word occurs in, one pseudo-count to all classes."""
    seen, label = np.unique(y, return_inverse=True)
    size = int(max(train.x.max(), x.max())) + 1
    prior = np.bincount(label, minlength=len(seen)) / len(label)
    counts = np.zeros((size, len(seen)))
    np.add.at(counts, (train.x, label), 1.0)
    return np.asarray((counts[x] + prior) / (counts[x].sum(1, keepdims=True) + 1))


def mixture(train: Rows, y: Array, x: Array) -> Array:
    """Probability of being evidence of each class, against background, by EM."""
    mean, scale = train.x.mean(0), train.x.std(0) + 1e-6
    segments, other = (train.x - mean) / scale, (x - mean) / scale
    seen, label = np.unique(y, return_inverse=True)
    bag = np.unique(train.bag, return_inverse=True)[1]
    e = _labelled_evidence(segments, label, train.weight)
    background = len(seen)
    for _ in range(ROUNDS):
        a = _some_in_every_bag(e, bag)
        target = np.concatenate([np.full(len(label), background), label])
        weight = np.concatenate([train.weight * (1 - a), train.weight * a])
        model = _logistic(np.concatenate([segments, segments]), target, weight)
        p = _probabilities(model, segments, background + 1)
        own = p[np.arange(len(label)), label]
        e = own / (own + p[:, background])
    p = _probabilities(model, other, background + 1)
    return p[:, :background] / (p[:, :background] + p[:, background:])


def _labelled_evidence(x: Array, y: Array, weight: Array) -> Array:
    """Posterior of being evidence by a linear classifier of the bags' labels, shape (N,)."""
    share = np.bincount(y, weight) / weight.sum()
    p = np.clip(_probabilities(_logistic(x, y, weight), x, len(share)), 1e-6, 1 - 1e-6)
    log_r = np.log(p) - np.log1p(-p) - np.log(share) + np.log1p(-share)
    own = log_r[np.arange(len(y)), y]
    usual = np.array([max(0.0, float(np.median(own[y == c]))) for c in range(len(share))])
    return np.maximum(0.0, 1 - np.exp(usual[y] - own))


def _some_in_every_bag(e: Array, bag: Array) -> Array:
    """Probability of being evidence given that its bag has some, shape (N,)."""
    none = np.bincount(bag, np.log1p(-np.minimum(e, 1 - 1e-9)))
    return np.minimum(1.0, e / np.maximum(-np.expm1(none), 1e-9)[bag])


def _logistic(x: Array, y: Array, weight: Array) -> Any:
    """Logistic regression; a constant where only one class has weight, as without any evidence."""
    from sklearn.dummy import DummyClassifier
    from sklearn.linear_model import LogisticRegression

    rows = weight > LEAST_WEIGHT
    constant = len(np.unique(y[rows])) == 1
    model = DummyClassifier() if constant else LogisticRegression(C=PENALTY, max_iter=100)
    return model.fit(x[rows], y[rows], sample_weight=weight[rows])


def _probabilities(model: Any, x: Array, classes: int) -> Array:
    """Shape (N, classes), almost zero for classes that no row was left of."""
    p = np.full((len(x), classes), 1e-9)
    p[:, model.classes_] = model.predict_proba(x)
    return np.maximum(p, 1e-9)


CLASSIFIERS: dict[str, Classifier] = {"boosting": boosting, "forest": forest, "mixture": mixture}
