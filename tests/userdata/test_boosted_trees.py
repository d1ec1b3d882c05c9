"""Boosted trees as arrays: against scikit-learn, a walk from node to node, and what is stored."""

import numpy as np
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingClassifier

from foveate.errors import FoveateError
from foveate.records.record import load_checkpoint, save_checkpoint
from foveate.userdata import boosted_trees
from foveate.userdata.boosted_trees import BoostedTrees, fit_boosted


def draw(classes, seed=0, n=80, d=4):
    chance = np.random.default_rng(seed)
    x = chance.normal(size=(n, d))
    y = np.argmax(x[:, :classes] + chance.normal(size=(n, classes)) / 2, 1)
    return x, y, chance.normal(size=(50, d))


@pytest.mark.parametrize("classes", [2, 3])
def test_new_bags_get_the_probabilities_of_scikit_learn(classes):
    x, y, new = draw(classes)
    weight = np.random.default_rng(1).random(len(y)) + 0.5
    model = HistGradientBoostingClassifier(
        max_iter=100, learning_rate=0.1, min_samples_leaf=5, random_state=0
    ).fit(x, y, sample_weight=weight)
    trees = fit_boosted(x, y, 0, weight)
    np.testing.assert_allclose(trees.probabilities(new)[0], model.predict_proba(new), atol=1e-12)


def test_probabilities_equal_a_walk_through_every_tree():
    x, y, new = draw(3)
    trees = fit_boosted(x, y, 0)
    feature, threshold, left, right, value = (
        part[0].numpy()
        for part in (trees.feature, trees.threshold, trees.left, trees.right, trees.value)
    )
    for row, p in zip(new[:10], trees.probabilities(new[:10])[0], strict=True):
        logits = trees.start[0].numpy().copy()
        for i in range(value.shape[0]):
            for k in range(3):
                node = 0
                while left[i, k, node] != node:
                    below = row[feature[i, k, node]] <= threshold[i, k, node]
                    node = (left if below else right)[i, k, node]
                logits[k] += value[i, k, node]
        np.testing.assert_allclose(p, np.exp(logits) / np.exp(logits).sum())


def test_trees_of_folds_are_joined_stored_and_taken_apart(tmp_path, monkeypatch):
    parts = [fit_boosted(*draw(2, seed, n)[:2], 0) for seed, n in ((0, 40), (1, 200))]
    assert parts[0].value.shape != parts[1].value.shape
    new = draw(2, 9)[2]
    save_checkpoint(tmp_path / "trees", BoostedTrees.joined(parts).tensors(), {})
    read = BoostedTrees.of_tensors(load_checkpoint(tmp_path / "trees")[0])
    monkeypatch.setattr(boosted_trees, "CELLS", 1000)  # five bags at a time
    for k, part in enumerate(parts):
        np.testing.assert_array_equal(read.probabilities(new)[k], part.probabilities(new)[0])
        alone = read.of_folds([k])
        np.testing.assert_array_equal(alone.probabilities(new)[0], part.probabilities(new)[0])
    assert BoostedTrees.of_tensors({"weight": torch.zeros(1)}) is None


def test_trees_that_are_read_wrongly_are_refused(monkeypatch):
    taken_out = boosted_trees._taken_out

    def damaged(model):
        trees = taken_out(model)
        trees.value.add_(0.01)
        return trees

    monkeypatch.setattr(boosted_trees, "_taken_out", damaged)
    with pytest.raises(FoveateError, match="off scikit-learn's own"):
        fit_boosted(*draw(2)[:2], 0)
