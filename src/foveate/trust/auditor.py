r"""The auditor: where evidence is, from bags and their labels alone.

Segments of bags of class c follow :math:`p(x|c) = (1-\pi_c)\, b(x) + \pi_c f_c(x)`, background and
evidence. From the likelihood ratio r of :mod:`~foveate.trust.density_ratio` follow, for a bag of c,

.. math:: e_j = \max(0, 1 - \kappa_c / r_c(x_j)), \qquad
          \mathrm{cov} = 1 - \prod_k (1 - e_k), \qquad a_j = e_j / \mathrm{cov}:

the probability that segment j is evidence, that at least one is seen, and that j is evidence given
that the bag has some. The estimated FT of any model is the mean of a at its top segments. The guide
derives this: docs/guide/auditor.md.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from foveate.bags.bag import Bag
from foveate.errors import FoveateError
from foveate.randomness import generator
from foveate.trust.density_ratio import (
    Rows,
    enough_folds,
    folds_of,
    label_log_ratios,
    log_ratios,
    projection,
    rows_of,
)
from foveate.trust.segment_evidence import masks
from foveate.types import Array

__all__ = ["Audit", "audit", "explain_away", "posterior"]

PROPENSITY = 1.0  # inverse strength of the penalty on the model of the class given other labels
WEIGHT = 10.0  # largest weight of a bag by its other labels, and one over the smallest
AUDITED = 50_000  # segments that are scored, at most; beyond, some of the bags are drawn


@dataclass(frozen=True)
class Audit:
    """What the auditor knows of K sets of bags; K is 1, or one set for each model.

    Args:
        picked: Which bags of each set were audited, shape (k,).
        y: Their labels, shape (K, k).
        there: Where segments exist, shape (K, k, m).
        log_r: Log likelihood ratio of every segment and class, shape (K, k, m, C).
        kappa: Background ratio of each class, shape (C,).
        shift: Median r in the class's own bags: 1 without confounding, shape (C,).
        least: The tenth percentile of r in the class's own bags, shape (C,).
        e: Probability of being evidence of the bag's own class, shape (K, k, m).
        opinions: The same by each classifier alone, and with other labels explained away where they
            are known, shape (V, K, k, m).
        bag_accuracy: Out-of-fold accuracy of labels read from single segments, shape (C,).
        group_drop: How much balanced accuracy of labels falls when whole groups are held out; None
            where there are no groups.
        segments: How many segments the bags have in all, audited or not.
        bags: Bags that the auditor learnt from, by class, shape (C,).
        matched: Whether bags were weighted by their other labels.
    """

    picked: Array
    y: Array
    there: Array
    log_r: Array
    kappa: Array
    shift: Array
    least: Array
    e: Array
    opinions: Array
    bag_accuracy: Array
    group_drop: float | None
    segments: int
    bags: Array
    matched: bool = False

    @property
    def cover(self) -> Array:
        """Probability that the bag has evidence that the auditor sees, shape (K, k)."""
        return _cover(self.e)

    @property
    def a(self) -> Array:
        """Probability of being evidence given that the bag has some, shape (K, k, m)."""
        return _given_some(self.e)

    def opinion(self, v: int) -> Array:
        """``a`` by classifier v alone, shape (K, k, m)."""
        return _given_some(self.opinions[v])

    @property
    def complete(self) -> bool:
        """Whether all bags were audited."""
        return bool(self.there.sum() >= self.segments)


def posterior(log_r: Array, kappa: Array | float) -> Array:
    """Probability of being evidence, e = max(0, 1 − κ / r).

    Example:
        >>> posterior(np.log([0.5, 1.0, 4.0]), 1.0)
        array([0.  , 0.  , 0.75])
    """
    return np.maximum(0.0, 1 - kappa * np.exp(-log_r))


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


def audit(
    bags: Sequence[Bag],
    classes: int,
    *,
    labels: Array | None = None,
    more: Bag | None = None,
    more_labels: Array | None = None,
    classifiers: Sequence[str] = ("boosting", "forest"),
) -> Audit:
    """Audit labelled bags; no model takes part.

    Args:
        bags: One set of bags, or several that are drawn alike.
        classes: Number of classes C.
        labels: Labels known of the bags beside their class, boolean (n, L). Bags are weighted so
            that these are equally frequent in all classes; a further opinion explains segments
            away that tell one of them. For one set of bags.
        more: Further labelled bags to learn from, such as those that models were trained on.
        more_labels: The other labels of those, boolean (n', L); without them ``more`` is not used
            where ``labels`` is given.
        classifiers: Names in :data:`~foveate.trust.density_ratio.CLASSIFIERS`.
    """
    if labels is not None and len(bags) > 1:
        raise FoveateError(f"labels are for one set of bags, got {len(bags)} sets")
    segments = int(masks(bags).sum())
    picked = _picked(bags)
    sets = [bag.take(torch.from_numpy(picked)) for bag in bags]
    there, y = masks(sets), np.stack([bag.y.numpy() for bag in sets])
    rows = _together([rows_of(bag) for bag in sets], len(picked))
    project = projection(rows.x)
    rows = rows._replace(x=project(rows.x))
    flat, group = y.ravel(), _groups(sets)
    unmatched = labels is not None and more_labels is None  # their labels cannot be compared
    extra = None if more is None or unmatched else (_some_rows(more, project), more.y.numpy())
    total = len(rows.x) + (0 if extra is None else len(extra[0].x))
    fold = folds_of(flat, group, enough_folds(total))
    if labels is not None:
        rows, extra = _matched(rows, flat, labels[picked], extra, more_labels)
    opinions = [
        log_ratios(rows, flat, classes, fold=fold, more=extra, classifier=name)
        for name in (classifiers if not rows.words else classifiers[:1])
    ]
    log_r = np.mean(opinions, 0)
    own = flat[rows.bag]
    kappa, shift, least = _background(log_r, own, classes)
    grid = _Grid(there)
    e = posterior(log_r, kappa)[np.arange(len(own)), own]
    alone = [_alone(part, own, classes) for part in opinions]
    if labels is not None:
        others = None if extra is None or more_labels is None else (extra[0], more_labels)
        alone.append(_beside(labels[picked], e, rows, fold, others))
    accuracy = _bag_accuracy(log_r, rows.bag, flat, classes, fold)
    return Audit(
        picked=picked,
        y=y,
        there=there,
        log_r=np.stack([grid.fill(log_r[:, c]) for c in range(classes)], -1),
        kappa=kappa,
        shift=shift,
        least=least,
        e=grid.fill(e),
        opinions=np.stack([grid.fill(part) for part in alone]),
        bag_accuracy=accuracy,
        group_drop=None if group is None else _group_drop(rows, flat, classes, extra, accuracy),
        segments=segments,
        bags=np.bincount(flat, minlength=classes)
        + (0 if extra is None else np.bincount(extra[1], minlength=classes)),
        matched=labels is not None,
    )


class _Grid:
    """Rows back into bags, where segments exist."""

    def __init__(self, there: Array) -> None:
        self.there = there

    def fill(self, values: Array) -> Array:
        grid = np.zeros(self.there.shape)
        grid[self.there] = values
        return grid


def _cover(e: Array) -> Array:
    return 1 - np.prod(1 - e, axis=-1)


def _given_some(e: Array) -> Array:
    cover = _cover(e)[..., None]
    return np.divide(e, cover, out=np.zeros_like(e), where=cover > 1e-9)


def _alone(log_r: Array, own: Array, classes: int) -> Array:
    kappa = _background(log_r, own, classes)[0]
    return posterior(log_r, kappa)[np.arange(len(own)), own]


def _background(log_r: Array, own: Array, classes: int) -> tuple[Array, Array, Array]:
    """κ = max(1, median r in own bags), that median, and the tenth percentile; 1 without bags."""
    shift, least = np.ones(classes), np.ones(classes)
    for c in range(classes):
        if (own == c).any():
            shift[c], least[c] = np.exp(np.quantile(log_r[own == c, c], [0.5, 0.1]))
    return np.maximum(1.0, shift), shift, least


def _odds(e: Array) -> Array:
    return e / np.maximum(1 - e, 1e-9)


def _matched(
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
    """
    from sklearn.linear_model import LogisticRegression

    both = more is not None and more_labels is not None
    have = np.concatenate([labels, more_labels]) if both and more_labels is not None else labels
    own = np.concatenate([y, more[1]]) if both and more is not None else y
    if len(np.unique(own)) < 2:
        return rows, more
    model = LogisticRegression(C=PROPENSITY).fit(have.astype(float), own)
    column = np.searchsorted(model.classes_, own)
    p = model.predict_proba(have.astype(float))[np.arange(len(own)), column]
    share = np.bincount(column)[column] / len(own)
    weight = np.clip(share / p, 1 / WEIGHT, WEIGHT)
    first = rows._replace(weight=rows.weight * weight[: len(y)][rows.bag])
    if not both or more is None:
        return first, more
    other = more[0]._replace(weight=more[0].weight * weight[len(y) :][more[0].bag])
    return first, (other, more[1])


def _beside(
    labels: Array, e: Array, rows: Rows, fold: Array, more: tuple[Rows, Array] | None
) -> Array:
    """Evidence of the bags' classes with their other labels explained away, shape (N,)."""
    log_r = label_log_ratios(rows, labels, fold=fold, more=more)
    has = labels[rows.bag]
    others = np.zeros(has.shape)
    for k in range(has.shape[1]):
        kappa = max(1.0, float(np.exp(np.median(log_r[has[:, k], k])))) if has[:, k].any() else 1.0
        others[:, k] = np.where(has[:, k], posterior(log_r[:, k], kappa), 0.0)
    return explain_away(e, others)


def _bag_accuracy(log_r: Array, bag: Array, y: Array, classes: int, fold: Array) -> Array:
    """Out-of-fold accuracy of each class from the largest and the summed evidence, shape (C,).

    What single segments tell of a bag's label, however they are combined; nan without bags.
    """
    from sklearn.linear_model import LogisticRegression

    features = np.zeros((len(y), 2 * classes))
    for c in range(classes):
        best = np.full(len(y), -np.inf)
        np.maximum.at(best, bag, log_r[:, c])
        features[:, 2 * c] = best
        features[:, 2 * c + 1] = np.log1p(np.bincount(bag, posterior(log_r[:, c], 1.0), len(y)))
    predicted = np.full(len(y), -1)
    for k in np.unique(fold):
        train = fold != k
        if len(np.unique(y[train])) > 1:
            model = LogisticRegression(C=1.0, class_weight="balanced", max_iter=1000)
            predicted[~train] = model.fit(features[train], y[train]).predict(features[~train])
    right = predicted == y
    return np.array([right[y == c].mean() if (y == c).any() else np.nan for c in range(classes)])


def _group_drop(
    rows: Rows, y: Array, classes: int, more: tuple[Rows, Array] | None, accuracy: Array
) -> float:
    """How much the balanced accuracy of labels falls when whole groups are held out."""
    fold = folds_of(y, None)
    log_r = log_ratios(rows, y, classes, fold=fold, more=more)
    plain = _bag_accuracy(log_r, rows.bag, y, classes, fold)
    return float(np.nanmean(plain) - np.nanmean(accuracy))


def _picked(bags: Sequence[Bag]) -> Array:
    """Which bags are audited: all, or as many as the bound on segments allows, drawn at random."""
    n, total = len(bags[0]), int(masks(bags).sum())
    if total <= AUDITED:
        return np.arange(n)
    size = max(2, int(n * AUDITED / total))
    drawn = torch.randperm(n, generator=generator("auditor", "bags"))[:size]
    return np.sort(drawn.numpy())


def _some_rows(more: Bag, project: Callable[[Array], Array]) -> Rows:
    """Rows of bags that are learnt from only; of many, those of some bags, drawn at random."""
    picked = _picked([more])
    rows = rows_of(more.take(torch.from_numpy(picked)))
    return Rows(project(rows.x), picked[rows.bag], rows.weight)


def _together(parts: Sequence[Rows], bags: int) -> Rows:
    """The rows of several sets of bags as those of one."""
    return Rows(
        np.concatenate([rows.x for rows in parts]),
        np.concatenate([rows.bag + k * bags for k, rows in enumerate(parts)]),
        np.concatenate([rows.weight for rows in parts]),
    )


def _groups(bags: Sequence[Bag]) -> Array | None:
    groups = [bag.group for bag in bags if bag.group is not None]
    return np.concatenate([group.numpy() for group in groups]) if len(groups) == len(bags) else None
