"""Mixture weights against a grid search; honest versions do not see their own fold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foveate.userdata.mixture import (
    PRIOR,
    cross_calibrate,
    cross_choose,
    cross_mix,
    lowest_loss,
    mix,
    mixture_weights,
)


def draw(seed, K=2, n=60, C=3):
    chance = np.random.default_rng(seed)
    y = chance.integers(C, size=n)
    logits = chance.normal(size=(K, n, C)) + 2 * np.eye(C)[y] * chance.random((K, 1, 1))
    p = np.exp(logits)
    return p / p.sum(-1, keepdims=True), y


def penalised(weights, p, y):
    likelihood = mix(weights, p)[np.arange(len(y)), y]
    return -np.log(likelihood).sum() - PRIOR * np.log(weights).sum()


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_em_finds_the_minimum_of_a_grid(seed):
    p, y = draw(seed)
    grid = np.linspace(0.001, 0.999, 999)
    costs = [penalised(np.array([w, 1 - w]), p, y) for w in grid]
    weights = mixture_weights(p, y)
    assert weights.sum() == pytest.approx(1)
    assert weights[0] == pytest.approx(grid[int(np.argmin(costs))], abs=2e-3)


def test_equal_classifiers_share_their_weight():
    p, y = draw(0, K=1)
    np.testing.assert_allclose(mixture_weights(np.concatenate([p, p, p]), y), 1 / 3)


def test_a_mixture_is_a_distribution_and_one_component_is_itself():
    p, y = draw(1, K=3)
    np.testing.assert_allclose(mix(mixture_weights(p, y), p).sum(1), 1)
    np.testing.assert_allclose(mix(np.array([0.0, 1.0, 0.0]), p), p[1])


def test_weights_and_temperatures_of_a_fold_ignore_its_labels():
    p, y = draw(2, K=2)
    fold = np.arange(len(y)) % 3
    other = np.where(fold == 0, (y + 1) % 3, y)
    here = fold == 0
    np.testing.assert_array_equal(cross_mix(p, y, fold)[here], cross_mix(p, other, fold)[here])
    first, second = (cross_calibrate(p[0], labels, fold)[here] for labels in (y, other))
    np.testing.assert_array_equal(first, second)


def test_each_fold_is_predicted_by_the_classifier_that_is_best_on_the_others():
    right, fold = np.array([[0.1, 0.9], [0.9, 0.1]]), np.array([0, 0, 1, 1])
    y = np.array([0, 1, 0, 1])
    first = np.concatenate([right[[1, 0]], right[[0, 1]]])  # right on fold 0, wrong on fold 1
    second = np.full((4, 2), 0.5)
    p = np.stack([first, second])
    assert lowest_loss(p[:, :2], y[:2]) == 0
    assert lowest_loss(p[:, 2:], y[2:]) == 1
    np.testing.assert_array_equal(cross_choose(p, y, fold), [*second[:2], *first[2:]])
    other = np.where(fold == 0, 1 - y, y)
    np.testing.assert_array_equal(cross_choose(p, other, fold)[:2], second[:2])
