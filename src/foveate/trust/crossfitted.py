"""Cross-fitted models: every bag is read by models that did not train on it."""

from collections.abc import Sequence

import numpy as np
import torch

from foveate.bags.bag import Bag
from foveate.errors import FoveateError
from foveate.trust.subject import Reading, Subject
from foveate.types import Array

__all__ = ["CrossFitted"]


class CrossFitted(Subject):
    """Models of several folds, each with the bags that it did not train on, read as one.

    Args:
        folds: For each fold its models and the rows of the bags they did not train on. Together
            the rows must name every bag once; every fold has the same number of models.
    """

    fold: Array

    def __init__(self, folds: Sequence[tuple[Subject, Array]]) -> None:
        sizes = {subject.size for subject, _ in folds}
        if len(sizes) != 1:
            raise FoveateError(f"every fold must have the same number of models, got {sizes}")
        rows = np.concatenate([np.asarray(part) for _, part in folds])
        if not np.array_equal(np.sort(rows), np.arange(len(rows))):
            raise FoveateError("the folds must name every bag exactly once")
        self.folds = [(subject, np.asarray(part)) for subject, part in folds]
        self.size = sizes.pop()
        self.context_free = all(subject.context_free for subject, _ in folds)
        self.external = any(subject.external for subject, _ in folds)
        self.fold = np.empty(len(rows), int)
        for k, (_, part) in enumerate(self.folds):
            self.fold[part] = k

    def read(self, bags: Sequence[Bag]) -> Reading:
        parts = [subject.read([_take_bags(bags, rows)]) for subject, rows in self._rows(bags)]
        order = np.argsort(np.concatenate([rows for _, rows in self._rows(bags)]))
        return Reading(*(np.concatenate(part, 1)[:, order] for part in zip(*parts, strict=True)))

    def reread(self, bags: Sequence[Bag], keep: Array) -> Array:
        parts = [
            subject.reread([_take_bags(bags, rows)], keep[:, :, rows])
            for subject, rows in self._rows(bags)
        ]
        order = np.argsort(np.concatenate([rows for _, rows in self._rows(bags)]))
        return np.concatenate(parts, 2)[:, :, order]

    def forced(self, bag: Bag, position: Array) -> Array:
        parts = [
            subject.forced(bag.take(torch.from_numpy(rows)), position[rows])
            for subject, rows in self._rows([bag])
        ]
        order = np.argsort(np.concatenate([rows for _, rows in self.folds]))
        return np.concatenate(parts, 1)[:, order]

    def take(self, rows: Array) -> "CrossFitted":
        """The models for some of the bags, in the order of ``rows``."""
        fold = self.fold[rows]
        parts = [(subject, np.flatnonzero(fold == k)) for k, (subject, _) in enumerate(self.folds)]
        return CrossFitted([part for part in parts if len(part[1])])

    def _rows(self, bags: Sequence[Bag]) -> list[tuple[Subject, Array]]:
        if len(bags) != 1 or len(bags[0]) != len(self.fold):
            raise FoveateError(f"{len(self.fold)} cross-fitted bags are needed, in their order")
        return self.folds


def _take_bags(bags: Sequence[Bag], rows: Array) -> Bag:
    return bags[0].take(torch.from_numpy(rows))
