"""Validation of the estimator's inputs: bags, labels, relevance, weights, seeds."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import column_or_1d
from torch import Tensor

from foveate.bags.bag import Bag, pad
from foveate.errors import FoveateError
from foveate.io.collection import Collection, Kind, numbered
from foveate.types import Array

__all__ = [
    "Bags",
    "as_bag",
    "as_collection",
    "bag_weights",
    "class_labels",
    "known_relevance",
    "multi_labels",
    "shape_text",
    "whole_seed",
    "with_extras",
]

Bags = Sequence[Any] | Array | Bag


def multi_labels(y: Any, bags: Bags) -> Array | None:
    """Labels of multi-label bags, 0 or 1, shape (n, L); None if y has one label per bag.

    Args:
        y: What the user gives.
        bags: The bags.
    """
    labels = np.asarray(y)
    if labels.ndim != 2 or labels.shape[1] < 2 or len(labels) != len(bags):
        return None
    if not np.isin(labels, (0, 1)).all():
        raise FoveateError("labels of multi-label bags must be 0 or 1, one column per label")
    for k, column in enumerate(labels.T):
        if len(np.unique(column)) < 2:
            raise FoveateError(f"label {k} is {int(column[0])} in all bags: leave its column out")
    return labels.astype(np.int64)


def with_extras(bag: Bag, weight: Tensor | None = None, groups: Any = None) -> Bag:
    """The bags with weights, shape (n,), and groups, where these are given."""
    weight = bag.weight if weight is None else weight
    group = bag.group
    if groups is not None:
        named = [str(name) for name in np.asarray(groups).tolist()]
        if len(named) != len(bag):
            raise FoveateError(f"{len(bag)} bags need a group each, got {len(named)}")
        group = numbered(named)[0]
    return Bag(bag.x, bag.y, bag.z, bag.mask, group, weight)


def bag_weights(weights: Any, n: int) -> Tensor:
    """Weights of n bags, those above 0 scaled to mean 1, shape (n,)."""
    weight = np.asarray(weights, dtype=np.float64)
    if weight.shape != (n,):
        raise FoveateError(f"sample_weight must have one number for {n} bags, got {weight.shape}")
    if not (np.isfinite(weight) & (weight >= 0)).all():
        odd = int(np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))[0])
        raise FoveateError(
            f"sample_weight must be finite and not negative, that of bag {odd} is {weight[odd]}"
        )
    if not weight.any():
        raise FoveateError("sample_weight must not be zero for all bags")
    return torch.from_numpy(weight / weight[weight > 0].mean())


def class_labels(y: Any, bags: Bags) -> tuple[Array, Array]:
    """The classes in order, and each bag's number among them; a column (n, 1) is one label each."""
    if y is None:
        raise FoveateError("a classifier requires y to be passed, but the target y is None")
    target = np.asarray(y)
    if target.ndim == 2 and target.shape[1] == 1:
        target = column_or_1d(target, warn=True)
    if target.ndim != 1 or len(target) != len(bags):
        raise FoveateError(f"{len(bags)} bags need one label each, got shape {target.shape}")
    if target.dtype.kind == "f" and not np.isfinite(target).all():
        raise FoveateError(f"labels must be known: that of bag {_first_odd(target)} is not")
    if target.dtype.kind == "f" and (target != np.floor(target)).any():
        odd = float(target[np.argmax(target != np.floor(target))])
        raise FoveateError(
            f"labels must be classes, whole numbers or names, got the continuous target {odd}: "
            "ordinal, regression and survival targets are not fitted; cut the target into classes"
        )
    classes, labels = np.unique(target, return_inverse=True)
    if len(classes) < 2:
        raise FoveateError(f"there must be two classes at least, got one class: {classes.tolist()}")
    return classes, labels.astype(np.int64)


def _first_odd(values: Array) -> int:
    return int(np.flatnonzero(~np.isfinite(values))[0])


def as_collection(bag: Bag, classes: Array, accepted: Sequence[str]) -> Collection:
    """Bags from Python as a collection, to be checked as bags from files are."""
    names = tuple(f"x{k}" for k in range(int(np.prod(bag.segment_shape))))
    kind: Kind = "features" if len(bag.segment_shape) == 1 else "image"
    return Collection(
        bag,
        tuple(map(str, range(len(bag)))),
        tuple(map(str, classes)),
        names if kind == "features" else (),
        kind,
        source="the bags",
        accepted=tuple(accepted),
    )


def as_bag(bags: Bags, y: Tensor | None, relevance: Sequence[Any] | None = None) -> Bag:
    """Lists of arrays as one Bag, with errors that name the bag."""
    if isinstance(bags, Bag):
        label = bags.y if y is None else y
        return Bag(bags.x, label, bags.z, bags.mask, bags.group, bags.weight)
    if not len(bags):
        raise FoveateError("at least one bag is needed, got none")
    rows = [_segments(i, bag) for i, bag in enumerate(bags)]
    for i, bag in enumerate(rows):
        if bag.shape[1:] != rows[0].shape[1:]:
            widths = (
                f"bag {i} has {shape_text(bag.shape[1:])}, bag 0 {shape_text(rows[0].shape[1:])}"
            )
            raise FoveateError(f"all segments must have as many numbers: {widths}")
    z = None if relevance is None else _relevance(relevance, rows)
    return pad(rows, torch.zeros(len(rows), dtype=torch.long) if y is None else y, z)


def _segments(i: int, bag: Any) -> Tensor:
    try:
        values = torch.as_tensor(np.asarray(bag, dtype=np.float32))
    except (TypeError, ValueError):
        raise FoveateError(f"bag {i} must be an array of numbers (segments, columns)") from None
    if values.dim() < 2 or not len(values):
        shape = f"got shape {tuple(values.shape)}"
        raise FoveateError(f"bag {i} must be an array (segments, columns) with a segment, {shape}")
    if not bool(torch.isfinite(values).all()):
        row = int((~torch.isfinite(values.flatten(1))).any(1).nonzero()[0])
        raise FoveateError(f"bag {i}: segment {row} holds NaN or infinity")
    return values


def _relevance(relevance: Sequence[Any], rows: Sequence[Tensor]) -> list[Tensor]:
    if len(relevance) != len(rows):
        raise FoveateError(f"relevance must be given for {len(rows)} bags, got {len(relevance)}")
    rows_of_relevance = []
    for i, (bag_relevance, bag) in enumerate(zip(relevance, rows, strict=True)):
        z = (
            torch.zeros(len(bag))
            if bag_relevance is None
            else torch.as_tensor(np.asarray(bag_relevance, dtype=float))
        )
        if z.shape != (len(bag),):
            shape = f"{len(bag)} segments, got shape {tuple(z.shape)}"
            raise FoveateError(f"relevance of bag {i} must be None or name its {shape}")
        rows_of_relevance.append(z > 0)
    return rows_of_relevance


def known_relevance(relevance: Sequence[Any]) -> Tensor:
    """Which bags have known relevance, boolean, shape (n,)."""
    return torch.tensor([bag_relevance is not None for bag_relevance in relevance])


def whole_seed(random_state: Any) -> int:
    """A whole number as a seed; a random one for None."""
    if random_state is None:
        return int(np.random.default_rng().integers(2**31))
    if not isinstance(random_state, int | np.integer) or random_state < 0:
        raise FoveateError(f"random_state must be a whole number from 0, got {random_state!r}")
    return int(random_state)


def shape_text(shape: Sequence[int]) -> str:
    """A shape in words, such as 3×32×32."""
    return "×".join(map(str, shape))
