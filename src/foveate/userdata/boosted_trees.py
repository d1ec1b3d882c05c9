"""Gradient-boosted trees as arrays: stored without pickles, read by torch, exported to ONNX."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from foveate.errors import FoveateError
from foveate.types import Array

__all__ = ["TREES", "BoostedTrees", "fit_boosted"]

TREES = "boosted-trees"  # the name of this baseline
CELLS = 2**22  # pairs of a bag and a tree that are read at a time
NEAR = 1e-9  # largest difference of probabilities from scikit-learn's own
PREFIX = "trees."


@dataclass(frozen=True)
class BoostedTrees:
    r"""Boosted trees of P folds, each I rounds of K trees: one of two classes, else one a class.

    .. math:: z_k(x) = s_k + \sum_{i=1}^I v_{ik}(\text{leaf of } x), \qquad
        p = \operatorname{softmax}(z) \;\text{ or, of two classes, }\; p_1 = \sigma(z_1)

    Both children of a leaf are the leaf itself, so that ``depth`` steps from the root end in one.

    Args:
        feature: Which number a node compares, shape (P, I, K, N).
        threshold: Up to which its left child is next, shape (P, I, K, N).
        left: Left children, shape (P, I, K, N).
        right: Right children, shape (P, I, K, N).
        value: What a leaf adds to the logit, shape (P, I, K, N).
        start: Logits before the first round, shape (P, K).
        depth: The largest number of steps from a root to a leaf, shape ().
    """

    feature: Tensor
    threshold: Tensor
    left: Tensor
    right: Tensor
    value: Tensor
    start: Tensor
    depth: Tensor

    @classmethod
    def joined(cls, parts: "Sequence[BoostedTrees]") -> Self:
        """Trees of several folds side by side."""
        nodes = max(part.value.shape[-1] for part in parts)
        names = [field.name for field in fields(cls)][:5]
        arrays = {
            name: torch.cat([_padded(getattr(part, name), nodes) for part in parts])
            for name in names
        }
        start = torch.cat([part.start for part in parts])
        depth = torch.stack([part.depth for part in parts]).max()
        return cls(**arrays, start=start, depth=depth)

    def of_folds(self, folds: Sequence[int]) -> "BoostedTrees":
        """The trees of some folds alone."""
        every = self.tensors()
        fold_arrays = {
            k.removeprefix(PREFIX): v if v.dim() == 0 else v[folds] for k, v in every.items()
        }
        return BoostedTrees(**fold_arrays)

    def tensors(self) -> dict[str, Tensor]:
        """What is stored."""
        return {PREFIX + field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def of_tensors(cls, stored: Mapping[str, Tensor]) -> "BoostedTrees | None":
        """Read what :meth:`tensors` gave; None if no trees are stored."""
        names = [field.name for field in fields(cls)]
        if not all(PREFIX + name in stored for name in names):
            return None
        return cls(**{name: stored[PREFIX + name] for name in names})

    def log_p(self, x: Tensor) -> Tensor:
        """Log-probabilities of features (n, d) in double precision, shape (P, n, C)."""
        size, nodes = self.value[..., 0].numel(), self.value.shape[-1]
        root = torch.arange(size) * nodes
        feature, threshold = self.feature.flatten(), self.threshold.flatten()
        left, right = ((root[:, None] + part.reshape(size, nodes)).flatten()
                       for part in (self.left, self.right))  # fmt: skip
        node = root.expand(len(x), size)
        for _ in range(int(self.depth)):
            below = x.gather(1, feature[node]) <= threshold[node]
            node = torch.where(below, left[node], right[node])
        added = self.value.flatten()[node].reshape(len(x), *self.value.shape[:3])
        logits = (added.sum(2) + self.start).transpose(0, 1)
        if logits.shape[-1] == 1:
            logits = torch.cat([torch.zeros_like(logits), logits], -1)
        return logits.log_softmax(-1)

    def probabilities(self, x: Array) -> Array:
        """Probabilities of features (n, d), shape (P, n, C); memory is bounded."""
        step = max(1, CELLS // self.value[..., 0].numel())
        rows = torch.from_numpy(np.ascontiguousarray(x, dtype=np.float64))
        parts = [self.log_p(part) for part in rows.split(step)]
        p: Array = torch.cat(parts, 1).exp().numpy()
        return p


def fit_boosted(x: Array, y: Array, seed: int, sample_weight: Array | None = None) -> BoostedTrees:
    """Fit gradient-boosted trees with scikit-learn and take them out of its classifier.

    The arrays must give the probabilities that the classifier gives, or an error is raised.

    Args:
        x: Features, shape (n, d).
        y: Labels, shape (n,); every class occurs.
        seed: Decides ties between splits.
        sample_weight: Weights of the bags, shape (n,).
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(
        max_iter=100, learning_rate=0.1, min_samples_leaf=5, random_state=seed
    ).fit(x, y, sample_weight=sample_weight)
    trees = _taken_out(model)
    gap = np.abs(trees.probabilities(x)[0] - model.predict_proba(x)).max()
    if not gap <= NEAR:
        raise FoveateError(
            f"the boosted trees are {gap:.1e} off scikit-learn's own probabilities: this version "
            "of scikit-learn stores trees in another way than foveate reads them"
        )
    return trees


def _taken_out(model: Any) -> BoostedTrees:
    """The nodes of a fitted classifier; scikit-learn has no public name for them."""
    rounds = [[tree.nodes for tree in trees] for trees in model._predictors]
    most = max(len(nodes) for trees in rounds for nodes in trees)
    shape = (1, len(rounds), len(rounds[0]), most)
    self_index = np.broadcast_to(np.arange(most), shape)
    feature, left, right = np.zeros(shape, np.int64), self_index.copy(), self_index.copy()
    threshold, value = np.zeros(shape), np.zeros(shape)
    depth = 0
    for i, trees in enumerate(rounds):
        for k, nodes in enumerate(trees):
            at, inner = (0, i, k, slice(len(nodes))), nodes["is_leaf"] == 0
            value[at] = nodes["value"]
            threshold[at] = np.where(inner, nodes["num_threshold"], 0.0)
            feature[at] = np.where(inner, nodes["feature_idx"], 0)
            left[at] = np.where(inner, nodes["left"], left[at])
            right[at] = np.where(inner, nodes["right"], right[at])
            depth = max(depth, int(nodes["depth"].max()))
    start = np.asarray(model._baseline_prediction, dtype=np.float64).reshape(1, -1)
    arrays = (feature, threshold, left, right, value, start, np.array(depth))
    return BoostedTrees(*(torch.from_numpy(np.array(part)) for part in arrays))


def _padded(values: Tensor, nodes: int) -> Tensor:
    """Nodes up to a number; those that are added are never reached."""
    return torch.nn.functional.pad(values, (0, nodes - values.shape[-1]))
