r"""Likelihood ratios of single segments, estimated out of fold over bags.

A classifier sees ONE segment and says which class its bag has. Its calibrated probability
:math:`q_c(x)` gives the likelihood ratio

.. math:: r_c(x) = \frac{p(x \mid c)}{p(x \mid \neg c)}
                 = \frac{q_c(x)}{1 - q_c(x)} \cdot \frac{1 - p_c}{p_c},

with :math:`p_c` the share of class c among the weighted segments. Every bag is scored by
classifiers that were trained without it (and without its group, where groups are known). No model
that is to be examined takes part.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch

from foveate.randomness import generator
from foveate.trust.segment_classifiers import (
    BINS,
    CLASSIFIERS,
    TRAIN_ROWS,
    Classifier,
    boosting,
    count_words,
    mixture,
)
from foveate.trust.segment_rows import Rows
from foveate.types import Array

__all__ = ["enough_folds", "folds_of", "joined", "label_log_ratios", "log_ratios", "posterior",
           "projection"]  # fmt: skip

FOLDS = 3
MIXTURE_ROWS = 8_000  # segments of whole bags that the mixture is trained on, at most
COMPONENTS = 48  # segments with more than twice as many numbers are projected to so many
SMALLEST = 1e-3  # of a calibrated probability: bounds r from both sides


def folds_of(y: Array, group: Array | None, folds: int = FOLDS) -> Array:
    """The fold of every bag, shape (n,): stratified by class; whole groups where there are any."""
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    least = int(np.bincount(y)[np.unique(y)].min())
    parts = max(2, min(folds, least))
    if group is not None:
        parts = max(2, min(parts, len(np.unique(group))))
        split = StratifiedGroupKFold(parts, shuffle=True, random_state=0).split(y, y, group)
    elif least < 2:
        split = iter([(None, np.flatnonzero(np.arange(len(y)) % 2 == k)) for k in range(2)])
    else:
        split = StratifiedKFold(parts, shuffle=True, random_state=0).split(y, y)
    fold = np.zeros(len(y), int)
    for k, (_, held_out) in enumerate(split):
        fold[held_out] = k
    return fold


def enough_folds(rows: int) -> int:
    """How many folds are worth their time: two where half of the rows fill a training sample.

    Example:
        >>> enough_folds(1000), enough_folds(50_000)
        (3, 2)
    """
    return 2 if rows >= 2 * TRAIN_ROWS else FOLDS


def log_ratios(
    rows: Rows,
    y: Array,
    classes: int,
    *,
    fold: Array,
    more: tuple[Rows, Array] | None = None,
    classifier: str = "boosting",
) -> Array:
    """Out-of-fold log r of every row and class, shape (N, C); 0 for classes without bags.

    Args:
        rows: Segments of the bags that are scored.
        y: Their bags' labels, shape (n,).
        classes: Number of classes C.
        fold: Fold of each bag, shape (n,).
        more: Segments and labels of other bags, which train all classifiers and are not scored.
        classifier: A name in :data:`~foveate.trust.segment_classifiers.CLASSIFIERS`.
    """
    raw = np.zeros((len(rows.x), classes))
    y_rows = y[rows.bag]
    make = count_words if rows.words else CLASSIFIERS[classifier]
    prepare = _codes(rows.x) if make is boosting else _unchanged
    x = prepare(rows.x)
    other = None if more is None else _training_rows(more, prepare, len(y))
    for k in np.unique(fold):
        held_out = fold[rows.bag] == k
        parts = [tuple(part[~held_out] for part in (x, y_rows, rows.weight, rows.bag))]
        train = parts + ([other] if other is not None else [])
        raw[held_out] = _scores(make, train, x[held_out], classes, f"{classifier} {k}")
    return np.stack(
        [_calibrated(raw[:, c], y_rows == c, rows.weight) for c in range(classes)], axis=1
    )


def joined(ratios: Sequence[Array], rows: Rows, y: Array) -> Array:
    """Log r of several classifiers as one: their mean, calibrated again, shape (N, C).

    The mean of calibrated scores is not calibrated: it doubts what most of them are sure of.

    Args:
        ratios: What :func:`log_ratios` gave, by classifier.
        rows: The segments.
        y: Their bags' labels, shape (n,).
    """
    mean, y_rows = np.mean(ratios, axis=0), y[rows.bag]
    columns = range(mean.shape[1])
    return np.stack([_calibrated(mean[:, c], y_rows == c, rows.weight) for c in columns], axis=1)


def posterior(log_r: Array, kappa: Array | float) -> Array:
    """Probability of being evidence, e = max(0, 1 − κ / r).

    Example:
        >>> posterior(np.log([0.5, 1.0, 4.0]), 1.0)
        array([0.  , 0.  , 0.75])
    """
    return np.maximum(0.0, 1 - kappa * np.exp(-log_r))


def label_log_ratios(
    rows: Rows, labels: Array, *, fold: Array, more: tuple[Rows, Array] | None = None
) -> Array:
    """Out-of-fold log r of every row and label of its bag, shape (N, L); one forest for all labels.

    Args:
        rows: Segments of the bags that are scored.
        labels: Which labels their bags have, boolean (n, L).
        fold: Fold of each bag, shape (n,).
        more: Segments and labels of other bags, which train all forests and are not scored.
    """
    from sklearn.ensemble import ExtraTreesClassifier

    raw = np.zeros((len(rows.x), labels.shape[1]))
    for k in np.unique(fold):
        held_out = fold[rows.bag] == k
        parts = [(rows.x[~held_out], labels[rows.bag[~held_out]], rows.weight[~held_out])]
        parts += [] if more is None else [(more[0].x, more[1][more[0].bag], more[0].weight)]
        x, class_p, weight = _bounded(parts, f"labels {k}")
        class_p = class_p[:, 0] if class_p.shape[1] == 1 else class_p
        model = ExtraTreesClassifier(
            100, min_samples_leaf=5, max_features=0.5, random_state=0, bootstrap=True,
            max_samples=min(6000, len(x)),
        ).fit(x, class_p.astype(int), sample_weight=weight / weight.mean())  # fmt: skip
        probabilities = model.predict_proba(rows.x[held_out])
        probabilities = probabilities if isinstance(probabilities, list) else [probabilities]
        p = np.stack([p[:, 1] if p.shape[1] > 1 else 0 * p[:, 0] for p in probabilities], 1)
        p = np.clip(p, 1e-6, 1 - 1e-6)
        raw[held_out] = np.log(p) - np.log1p(-p)
    has = labels[rows.bag]
    columns = range(labels.shape[1])
    return np.stack([_calibrated(raw[:, j], has[:, j], rows.weight) for j in columns], 1)


def _training_rows(
    more: tuple[Rows, Array], prepare: Callable[[Array], Array], bags: int
) -> tuple[Array, ...]:
    """Segments, classes, weights and bags (numbered from ``bags``) that are only learnt from."""
    rows, y = more
    return prepare(rows.x), y[rows.bag], rows.weight, rows.bag + bags


def _bounded(parts: Sequence[tuple[Array, ...]], name: str) -> tuple[Array, ...]:
    """Training rows of several sources, at most :data:`TRAIN_ROWS` of them, drawn at random."""
    columns = tuple(np.concatenate(part) for part in zip(*parts, strict=True))
    if len(columns[0]) <= TRAIN_ROWS or columns[0].ndim == 1:
        return columns
    chance = generator("auditor", "rows", name)
    pick = torch.randperm(len(columns[0]), generator=chance)[:TRAIN_ROWS].numpy()
    return tuple(part[pick] for part in columns)


def _whole_bags(parts: Sequence[tuple[Array, ...]], name: str) -> tuple[Array, ...]:
    """Training rows of bags drawn at random, about :data:`MIXTURE_ROWS` rows at most."""
    columns = tuple(np.concatenate(part) for part in zip(*parts, strict=True))
    bags, index = np.unique(columns[-1], return_inverse=True)
    size = max(2, len(bags) * MIXTURE_ROWS // len(columns[0]))
    if size >= len(bags):
        return columns
    drawn = torch.randperm(len(bags), generator=generator("auditor", "mixture", name))[:size]
    rows = np.isin(index, drawn.numpy())
    return tuple(part[rows] for part in columns)


def _unchanged(x: Array) -> Array:
    return x


def _codes(x: Array) -> Callable[[Array], Array]:
    """Numbers of quantile bins in place of features, for all folds at once.

    Boosting would find the bins itself, in every fold, and slowly where rows have weights.
    """
    pick = torch.randperm(len(x), generator=generator("auditor", "bins"))[:5000].numpy()
    ends = np.quantile(x[pick], np.linspace(0, 1, BINS + 1)[1:-1], axis=0)
    columns = range(x.shape[1])

    def codes(rows: Array) -> Array:
        bins = [np.searchsorted(ends[:, j], rows[:, j]) for j in columns]
        return np.stack(bins, 1).astype(np.float32)

    return codes


def _scores(
    make: Classifier, parts: Sequence[tuple[Array, ...]], x: Array, classes: int, name: str
) -> Array:
    """Log-odds of every class against the rest, by a classifier of a bounded number of rows."""
    bound = _whole_bags if make is mixture else _bounded
    train_x, train_y, weight, bag = bound(parts, name)
    p = np.full((len(x), classes), SMALLEST)
    seen = np.unique(train_y)
    if len(seen) > 1:
        p[:, seen] = make(Rows(train_x, bag, weight / weight.mean()), train_y, x)
    p = np.clip(p, 1e-6, 1 - 1e-6)
    return np.log(p) - np.log1p(-p)


def _calibrated(score: Array, is_class: Array, weight: Array) -> Array:
    """Log r from scores by isotonic regression of the label on them, prior divided out."""
    from sklearn.isotonic import IsotonicRegression

    prior = float((weight * is_class).sum() / weight.sum())
    if not 0 < prior < 1:
        return np.zeros(len(score))
    balanced = np.where(is_class, weight / prior, weight / (1 - prior))
    fit = IsotonicRegression(y_min=SMALLEST, y_max=1 - SMALLEST, out_of_bounds="clip")
    q = fit.fit_transform(score, is_class.astype(float), sample_weight=balanced)
    return np.log(q) - np.log1p(-q)


def projection(x: Array) -> Callable[[Array], Array]:
    """Leading principal components where segments have many numbers, else the segments."""
    if x.ndim == 1 or x.shape[1] <= 2 * COMPONENTS:
        return _unchanged
    from sklearn.decomposition import PCA

    pick = torch.randperm(len(x), generator=generator("auditor", "components"))[:5000].numpy()
    size = min(COMPONENTS, len(pick) - 1)
    model = PCA(size, svd_solver="randomized", random_state=0, iterated_power=2).fit(x[pick])
    return lambda rows: model.transform(rows).astype(np.float32)
