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
    enough_folds,
    folds_of,
    joined,
    log_ratios,
    posterior,
    projection,
)
from foveate.trust.other_labels import explained, matched
from foveate.trust.segment_evidence import masks
from foveate.trust.segment_rows import Rows, rows_of
from foveate.types import Array

__all__ = ["Audit", "audit"]

AUDITED = 50_000  # segments that are scored, at most; beyond, some of the bags are drawn


@dataclass(frozen=True)
class Audit:
    """What the auditor knows of K sets of bags; K is 1, or one set for each model.

    Args:
        bag_index: Which bags of each set were audited, shape (k,).
        y: Their labels, shape (K, k).
        mask: Where segments exist, shape (K, k, m).
        log_r: Log likelihood ratio of every segment and class, shape (K, k, m, C).
        kappa: Background ratio of each class, shape (C,).
        shift: Median r in the class's own bags: 1 without confounding, shape (C,).
        least: The tenth percentile of r in the class's own bags, shape (C,).
        e: Probability of being evidence of the bag's own class, shape (K, k, m).
        opinions: The same by two auditors, trees of one kind each and the mixture, and with other
            labels explained away where they are known, shape (V, K, k, m).
        bag_accuracy: Out-of-fold accuracy of labels read from single segments, shape (C,).
        group_drop: How much balanced accuracy of labels falls when whole groups are held out; None
            where there are no groups.
        segments: How many segments the bags have in all, audited or not.
        bags: Bags that the auditor learnt from, by class, shape (C,).
        matched: Whether bags were weighted by their other labels.
    """

    bag_index: Array
    y: Array
    mask: Array
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
        """``a`` by auditor v alone, shape (K, k, m)."""
        return _given_some(self.opinions[v])

    @property
    def complete(self) -> bool:
        """Whether all bags were audited."""
        return bool(self.mask.sum() >= self.segments)


def audit(
    bags: Sequence[Bag],
    classes: int,
    *,
    labels: Array | None = None,
    more: Bag | None = None,
    more_labels: Array | None = None,
    classifiers: Sequence[str] = ("boosting", "forest", "mixture"),
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
        classifiers: Names in :data:`~foveate.trust.segment_classifiers.CLASSIFIERS`; the last one
            takes part in every opinion.
    """
    if labels is not None and len(bags) > 1:
        raise FoveateError(f"labels are for one set of bags, got {len(bags)} sets")
    segments = int(masks(bags).sum())
    bag_index = _choose_bags(bags)
    sets = [bag.take(torch.from_numpy(bag_index)) for bag in bags]
    mask, y = masks(sets), np.stack([bag.y.numpy() for bag in sets])
    rows = _together([rows_of(bag) for bag in sets], len(bag_index))
    project = projection(rows.x)
    rows = rows._replace(x=project(rows.x))
    flat, group = y.ravel(), _groups(sets)
    unmatched = labels is not None and more_labels is None  # their labels cannot be compared
    extra = None if more is None or unmatched else (_some_rows(more, project), more.y.numpy())
    total = len(rows.x) + (0 if extra is None else len(extra[0].x))
    fold = folds_of(flat, group, enough_folds(total))
    if labels is not None:
        rows, extra = matched(rows, flat, labels[bag_index], extra, more_labels)
    ratios = [
        log_ratios(rows, flat, classes, fold=fold, more=extra, classifier=name)
        for name in (classifiers if not rows.words else classifiers[:1])
    ]
    log_r = joined(ratios, rows, flat)
    opinions = [joined([part, ratios[-1]], rows, flat) for part in ratios[:-1]] or [log_r]
    is_class = flat[rows.bag]
    kappa, shift, least = _background(log_r, is_class, classes)
    grid = _Grid(mask)
    e = posterior(log_r, kappa)[np.arange(len(is_class)), is_class]
    alone = [_alone(part, is_class, classes) for part in opinions]
    if labels is not None:
        others = None if extra is None or more_labels is None else (extra[0], more_labels)
        alone.append(explained(labels[bag_index], e, rows, fold, others))
    accuracy = _bag_accuracy(log_r, rows.bag, flat, classes, fold)
    return Audit(
        bag_index=bag_index,
        y=y,
        mask=mask,
        log_r=np.stack([grid.fill(log_r[:, c]) for c in range(classes)], -1),
        kappa=kappa,
        shift=shift,
        least=least,
        e=grid.fill(e),
        opinions=np.stack([grid.fill(part) for part in alone]),
        bag_accuracy=accuracy,
        group_drop=None
        if group is None
        else _group_drop(rows, flat, classes, extra, fold, ratios[0]),
        segments=segments,
        bags=np.bincount(flat, minlength=classes)
        + (0 if extra is None else np.bincount(extra[1], minlength=classes)),
        matched=labels is not None,
    )


class _Grid:
    """Rows back into bags, where segments exist."""

    def __init__(self, mask: Array) -> None:
        self.mask = mask

    def fill(self, values: Array) -> Array:
        grid = np.zeros(self.mask.shape)
        grid[self.mask] = values
        return grid


def _cover(e: Array) -> Array:
    return 1 - np.prod(1 - e, axis=-1)


def _given_some(e: Array) -> Array:
    cover = _cover(e)[..., None]
    return np.divide(e, cover, out=np.zeros_like(e), where=cover > 1e-9)


def _alone(log_r: Array, is_class: Array, classes: int) -> Array:
    kappa = _background(log_r, is_class, classes)[0]
    return posterior(log_r, kappa)[np.arange(len(is_class)), is_class]


def _background(log_r: Array, is_class: Array, classes: int) -> tuple[Array, Array, Array]:
    """κ = max(1, median r in own bags), that median, and the tenth percentile; 1 without bags."""
    shift, least = np.ones(classes), np.ones(classes)
    for c in range(classes):
        if (is_class == c).any():
            shift[c], least[c] = np.exp(np.quantile(log_r[is_class == c, c], [0.5, 0.1]))
    return np.maximum(1.0, shift), shift, least


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
    rows: Rows,
    y: Array,
    classes: int,
    more: tuple[Rows, Array] | None,
    grouped: Array,
    log_r: Array,
) -> float:
    """How much the balanced accuracy of labels falls when whole groups are held out.

    Args:
        rows: Segments of the bags.
        y: Their bags' labels, shape (n,).
        classes: Number of classes.
        more: Segments and labels of other bags.
        grouped: Folds of whole groups, shape (n,).
        log_r: Log r of the first classifier with these folds, shape (N, C).
    """
    fold = folds_of(y, None)
    plain = log_ratios(rows, y, classes, fold=fold, more=more)
    by_bags = _bag_accuracy(plain, rows.bag, y, classes, fold)
    by_groups = _bag_accuracy(log_r, rows.bag, y, classes, grouped)
    return float(np.nanmean(by_bags) - np.nanmean(by_groups))


def _choose_bags(bags: Sequence[Bag]) -> Array:
    """Which bags are audited: all, or as many as the bound on segments allows, drawn at random."""
    n, total = len(bags[0]), int(masks(bags).sum())
    if total <= AUDITED:
        return np.arange(n)
    size = max(2, int(n * AUDITED / total))
    drawn = torch.randperm(n, generator=generator("auditor", "bags"))[:size]
    return np.sort(drawn.numpy())


def _some_rows(more: Bag, project: Callable[[Array], Array]) -> Rows:
    """Rows of bags that are learnt from only; of many, those of some bags, drawn at random."""
    bag_index = _choose_bags([more])
    rows = rows_of(more.take(torch.from_numpy(bag_index)))
    return Rows(project(rows.x), bag_index[rows.bag], rows.weight)


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
