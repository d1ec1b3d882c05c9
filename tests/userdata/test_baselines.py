"""Pooled features against plain loops, and linear models against their definition."""

import numpy as np
import pytest
import torch

from foveate.userdata.baselines import baseline_names
from foveate.userdata.boosted_trees import TREES
from foveate.userdata.linear_models import LinearModel, PooledLinear, fit_linear
from foveate.userdata.pooled_segments import pool_rows, pooled, segment_features
from foveate.userdata.prepare import Preparation
from foveate.userdata.settings import FitSettings

from .made import numbers, texts


def prepared(collection, **settings):
    rows = torch.arange(len(collection))
    preparation = Preparation.learn(collection, rows, FitSettings(**settings))
    return preparation, preparation.apply(collection)


@pytest.mark.parametrize("null", [False, True])
def test_pooled_numbers_equal_a_loop_over_bags(null):
    preparation, bag = prepared(numbers(12), null_segment=null)
    x = pooled(bag, preparation, ("mean", "max", "min"))
    for row in range(12):
        rows = bag.x.bank[bag.x.index[row]][bag.mask[row]][int(null) :].double().numpy()
        expected = np.concatenate([rows.mean(0), rows.max(0), rows.min(0)])
        np.testing.assert_allclose(x[row], expected)


def test_words_are_pooled_to_their_shares():
    preparation, bag = prepared(texts(6, words_per_segment=2))
    rows = segment_features(bag, 0, preparation)
    assert rows.shape[1] == len(preparation.vocabulary)
    np.testing.assert_allclose(rows.sum(1).max(), 1)
    np.testing.assert_allclose(pooled(bag, preparation, ("mean",))[0], rows.mean(0))


def test_a_linear_model_reads_features_as_they_come():
    chance = np.random.default_rng(0)
    x = chance.normal(size=(80, 3)) * (1, 100, 1) + (0, 500, 0)
    y = (x[:, 0] + chance.normal(size=80) / 2 > 0).astype(int)
    model = fit_linear(x, y, 2)
    p = model.probabilities(x)
    np.testing.assert_allclose(p.sum(1), 1)
    assert np.mean(p.argmax(1) == y) > 0.8
    scaled = fit_linear(x * (5, 0.1, 2), y, 2).probabilities(x * (5, 0.1, 2))
    np.testing.assert_allclose(scaled, p, atol=1e-3)


def test_probabilities_of_a_linear_model_matches_manual_computation():
    model = LinearModel(np.array([[0.0], [1.0]]), np.array([0.0, np.log(2)]))
    np.testing.assert_allclose(model.probabilities(np.zeros((1, 1))), [[1 / 3, 2 / 3]])


def test_trees_are_for_small_data():
    assert TREES in baseline_names(100, 10)
    assert TREES not in baseline_names(100_000, 10)
    assert TREES not in baseline_names(100, 10_000)


def test_evidence_of_pooled_linear_models_sums_to_the_logits_and_a_single_segment_is_a_bag():
    chance = np.random.default_rng(1)
    kinds, rows = ("mean", "max", "min"), torch.from_numpy(chance.normal(size=(5, 4)))
    rows[1] = rows[3]  # ties are shared
    models = [LinearModel(chance.normal(size=(3, 12)), chance.normal(size=3)) for _ in range(2)]
    stored = PooledLinear.tensors("x", models)
    linear = PooledLinear.of_tensors(stored, "x", kinds, [0, 1])

    def logits(part):
        total = np.mean([model.weight for model in models], 0) @ pool_rows(part, kinds).numpy()
        return total - total.mean()

    share, alone = linear.evidence(rows), linear.alone(rows)
    np.testing.assert_allclose(share.sum(0), logits(rows), rtol=1e-12)
    for j in range(5):
        single = pool_rows(rows[j : j + 1], kinds).numpy()[None]
        expected = np.mean([model.probabilities(single)[0] for model in models], 0)
        np.testing.assert_allclose(alone[j], expected, rtol=1e-12)
    np.testing.assert_allclose(share[1], share[3])
    x = pool_rows(rows, kinds)[None]
    for k, model in enumerate(models):
        expected = model.probabilities(x.numpy())
        np.testing.assert_allclose(linear.probabilities(x)[k], expected, rtol=1e-12)
        alone_k = PooledLinear.of_tensors(stored, "x", kinds, [k]).probabilities(x)[0]
        np.testing.assert_allclose(alone_k, expected, rtol=1e-12)
