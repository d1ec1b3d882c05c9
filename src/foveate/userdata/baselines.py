"""Baselines without attention: linear and boosted classifiers of pooled segments.

They go through the same folds as every attention model, and stand beside them in every table.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from foveate.bags.bag import Bag
from foveate.bags.mapped import note_read
from foveate.bags.segments import as_input
from foveate.text.tokens import MARKS
from foveate.types import Array, StepProgress
from foveate.userdata.boosted_trees import TREES, BoostedTrees, fit_boosted
from foveate.userdata.fold_draw import draw_folds
from foveate.userdata.folds import Folds
from foveate.userdata.prepare import Preparation

__all__ = [
    "BASELINES",
    "MEAN",
    "MIXED_BASELINES",
    "LinearModel",
    "baseline_names",
    "cross_fit_baselines",
    "fit_linear",
    "pooled",
    "segment_features",
    "word_shares",
]

MEAN = "mean-lr"
SMALL = 2_000  # bags up to which boosted trees are fitted
MAX_TREE_INPUTS = 4_000  # pooled numbers up to which boosted trees are fitted
PENALTIES = 10.0 ** np.arange(-3, 3)  # inverse strengths of L2 that inner folds choose from
BASELINES: dict[str, tuple[str, ...]] = {
    MEAN: ("mean",),
    "max-lr": ("max",),
    "mean-max-min-lr": ("mean", "max", "min"),
    TREES: ("mean", "max", "min"),
}
"""Names of the baselines, and how each pools the segments of a bag."""
MIXED_BASELINES = (MEAN, TREES)
"""Baselines that are parts of the default mixture, chosen on the design sets of ``real-bags``."""


@dataclass(frozen=True)
class LinearModel:
    r"""A softmax-linear classifier of standardised features.

    Args:
        weight: Weights on the features as they come, shape (C, d).
        bias: Intercepts, shape (C,).
    """

    weight: Array
    bias: Array

    def probabilities(self, x: Array) -> Array:
        """Probabilities of the classes, from features (n, d) to (n, C)."""
        logits = x @ self.weight.T + self.bias
        exponentials = np.exp(logits - logits.max(1, keepdims=True))
        p: Array = exponentials / exponentials.sum(1, keepdims=True)
        return p


def pooled(bag: Bag, preparation: Preparation, kinds: tuple[str, ...]) -> Array:
    """Mean, maximum or minimum of the segments of each bag, side by side, shape (n, d).

    Of texts, the mean is the share of each known word and the maximum its presence.

    Args:
        bag: Prepared bags.
        preparation: How they were prepared.
        kinds: Of "mean", "max" and "min".
    """
    functions: dict[str, Callable[[Array], Array]] = {
        "mean": lambda rows: rows.mean(0),
        "max": lambda rows: rows.max(0),
        "min": lambda rows: rows.min(0),
    }
    result = []
    for row in range(len(bag)):
        rows = segment_features(bag, row, preparation)
        result.append(np.concatenate([functions[k](rows) for k in kinds]))
        note_read(bag.bank, len(rows))
    return np.stack(result) if result else np.zeros((0, 0))


def baseline_names(n: int, width: int) -> list[str]:
    """The baselines that are fitted to n bags of a width; boosted trees only to small data."""
    small = n <= SMALL and 3 * width <= MAX_TREE_INPUTS
    return [name for name in BASELINES if small or name != TREES]


def fit_linear(
    x: Array,
    y: Array,
    classes: int,
    groups: Array | None = None,
    sample_weight: Array | None = None,
) -> LinearModel:
    """Logistic regression on standardised features, its L2 penalty chosen in inner folds.

    Args:
        x: Features, shape (n, d).
        y: Labels, shape (n,); every class occurs.
        classes: Number of classes C.
        groups: Groups that inner folds do not divide, shape (n,).
        sample_weight: Weights of the bags, shape (n,).
    """
    mean, scale = x.mean(0), x.std(0)
    scale = np.where(scale > 0, scale, 1.0)
    z = (x - mean) / scale
    penalty = _penalty(z, y, groups, sample_weight)
    model = _logistic(penalty).fit(z, y, sample_weight=sample_weight)
    weight, bias = model.coef_, model.intercept_
    if classes == 2:
        weight, bias = np.vstack([-weight, weight]) / 2, np.concatenate([-bias, bias]) / 2
    weight = weight / scale
    return LinearModel(weight, bias - weight @ mean)


def cross_fit_baselines(
    bag: Bag, test: Bag, preparation: Preparation, folds: Folds, progress: StepProgress
) -> tuple[dict[str, Array], dict[str, Array], dict[str, Tensor]]:
    """Out-of-fold probabilities of every baseline.

    Args:
        bag: Development bags, prepared.
        test: Test bags, prepared; may be empty.
        preparation: How they were prepared.
        folds: The folds of the development bags.
        progress: Called as ``progress(done, total)``.

    Returns:
        For each baseline its out-of-fold probabilities (n, C), mean over repeats; its
        probabilities of the test bags, mean over folds; what is stored: weights (P, C, d) and
        biases (P, C) of the mean-pooled linear models of all P folds, and boosted trees.
    """
    y, classes = bag.y.numpy(), len(preparation.classes)
    group, weight = (None if v is None else v.numpy() for v in (bag.group, bag.weight))
    width = pooled(bag.take(slice(0, 1)), preparation, ("mean",)).shape[1]
    names = baseline_names(len(bag), width)
    held = {name: np.zeros((len(bag), classes)) for name in names}
    tested = {name: np.zeros((len(test), classes)) for name in names}
    linear: list[LinearModel] = []
    trees: list[BoostedTrees] = []
    for number, name in enumerate(names):
        x, new = (pooled(part, preparation, BASELINES[name]) for part in (bag, test))
        for repeat, fold in folds.parts:
            rows, out = folds.training(repeat, fold), folds.held_out(repeat, fold)
            both = np.concatenate([x[out], new.reshape(-1, x.shape[1])])
            groups, weights = (_at(part, rows) for part in (group, weight))
            if name == TREES:
                trees.append(fit_boosted(x[rows], y[rows], fold, weights))
                p = trees[-1].probabilities(both)[0]
            else:
                model = fit_linear(x[rows], y[rows], classes, groups, weights)
                p = model.probabilities(both)
                linear += [model] if name == MEAN else []
            held[name][out] += p[: len(out)] / len(folds.fold)
            tested[name] += p[len(out) :] / len(folds.parts)
        progress(number + 1, len(names))
    stacked = torch.from_numpy(np.stack([model.weight for model in linear]))
    biases = torch.from_numpy(np.stack([model.bias for model in linear]))
    stored = {"weight": stacked, "bias": biases}
    return held, tested, stored | (BoostedTrees.joined(trees).tensors() if trees else {})


def _at(values: Array | None, rows: Array) -> Array | None:
    return None if values is None else values[rows]


def _logistic(penalty: float) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=penalty, max_iter=1000)


def _penalty(z: Array, y: Array, groups: Array | None, weight: Array | None = None) -> float:
    """The inverse penalty with the lowest log loss in inner folds; .01 where bags are too few."""
    units = np.arange(len(y)) if groups is None else groups
    folds = min(3, int(np.bincount(y).min()), len(np.unique(units)))
    if folds < 2:
        return 0.01
    fold = draw_folds(y, units, folds, 0)
    losses = np.zeros(len(PENALTIES))
    for k in range(folds):
        held_out = fold == k
        if len(np.unique(y[~held_out])) < len(np.unique(y)):
            return 0.01
        for i, penalty in enumerate(PENALTIES):
            model = _logistic(penalty).fit(
                z[~held_out], y[~held_out], sample_weight=_at(weight, ~held_out)
            )
            label_p = model.predict_proba(z[held_out])[np.arange(held_out.sum()), y[held_out]]
            logs = np.log(np.maximum(label_p, 1e-12))
            losses[i] -= float((logs if weight is None else logs * weight[held_out]).sum())
    return float(PENALTIES[losses.argmin()])


def segment_features(bag: Bag, row: int, preparation: Preparation) -> Array:
    """Segments of one bag as rows of numbers (m, d), without the null segment.

    Of texts, the numbers are the shares of all known words.
    """
    rows = bag.bank[bag.index[row]]
    if bag.mask is not None:
        rows = rows[bag.mask[row]]
    rows = rows[int(preparation.null) :]
    if preparation.vocabulary is None:
        values: Array = as_input(rows).flatten(1).double().numpy()
        return values
    shares: Array = word_shares(rows.flatten(1), len(preparation.vocabulary)).numpy()
    return shares


def word_shares(ids: Tensor, words: int) -> Tensor:
    """The share of each word in texts of word ids (m, length), without marks, shape (m, words)."""
    counts = torch.zeros(ids.shape[0], words, dtype=torch.float64)
    counts = counts.scatter_add(1, ids, torch.ones_like(ids, dtype=torch.float64))
    known = (torch.arange(words) >= len(MARKS)).double()
    counts = counts * known
    return counts / counts.sum(1, keepdim=True).clamp_min(1)
