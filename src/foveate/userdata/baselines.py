"""Baselines without attention: linear and boosted classifiers of pooled segments.

They go through the same folds as every attention model, and stand beside them in every table.
"""

import numpy as np
from torch import Tensor

from foveate.bags.bag import Bag
from foveate.types import Array, StepProgress
from foveate.userdata.boosted_trees import TREES, BoostedTrees, fit_boosted
from foveate.userdata.folds import Folds
from foveate.userdata.linear_models import LinearModel, PooledLinear, fit_linear, rows_at
from foveate.userdata.pooled_segments import pooled
from foveate.userdata.prepare import Preparation

__all__ = ["BASELINES", "LINEAR", "MEAN", "baseline_names", "cross_fit_baselines"]

MEAN = "mean-lr"
SMALL = 2_000  # bags up to which boosted trees are fitted
MAX_TREE_INPUTS = 4_000  # pooled numbers up to which boosted trees are fitted
BASELINES: dict[str, tuple[str, ...]] = {
    MEAN: ("mean",),
    "max-lr": ("max",),
    "mean-max-min-lr": ("mean", "max", "min"),
    TREES: ("mean", "max", "min"),
}
"""Names of the baselines, and how each pools the segments of a bag."""
LINEAR = tuple(name for name in BASELINES if name != TREES)
"""Logistic regressions, which together are one part of the default mixture."""


def baseline_names(n: int, width: int) -> list[str]:
    """The baselines that are fitted to n bags of a width; boosted trees only to small data."""
    small = n <= SMALL and 3 * width <= MAX_TREE_INPUTS
    return [name for name in BASELINES if small or name != TREES]


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
        probabilities of the test bags, mean over folds; what is stored: the linear models and
        boosted trees of all folds.
    """
    y, classes = bag.y.numpy(), len(preparation.classes)
    group, weight = (None if v is None else v.numpy() for v in (bag.group, bag.weight))
    width = pooled(bag.take(slice(0, 1)), preparation, ("mean",)).shape[1]
    names = baseline_names(len(bag), width)
    held = {name: np.zeros((len(bag), classes)) for name in names}
    tested = {name: np.zeros((len(test), classes)) for name in names}
    stored: dict[str, Tensor] = {}
    for number, name in enumerate(names):
        linear: list[LinearModel] = []
        trees: list[BoostedTrees] = []
        x, new = (pooled(part, preparation, BASELINES[name]) for part in (bag, test))
        for repeat, fold in folds.parts:
            rows, out = folds.training(repeat, fold), folds.held_out(repeat, fold)
            both = np.concatenate([x[out], new.reshape(-1, x.shape[1])])
            groups, weights = (rows_at(part, rows) for part in (group, weight))
            if name == TREES:
                trees.append(fit_boosted(x[rows], y[rows], fold, weights))
                p = trees[-1].probabilities(both)[0]
            else:
                model = fit_linear(x[rows], y[rows], classes, groups, weights)
                p = model.probabilities(both)
                linear.append(model)
            held[name][out] += p[: len(out)] / len(folds.fold)
            tested[name] += p[len(out) :] / len(folds.parts)
        stored |= BoostedTrees.joined(trees).tensors() if trees else {}
        stored |= PooledLinear.tensors(name, linear) if linear else {}
        progress(number + 1, len(names))
    return held, tested, stored
