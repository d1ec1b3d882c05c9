"""Mixture weights against a grid search; honest versions do not see their own fold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foveate.userdata.mixture import (
    PRIOR,
    cross_calibrate,
    cross_mix,
    mix,
    mixture_weights,
    part_weights,
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
    of_fold = fold == 0
    np.testing.assert_array_equal(
        cross_mix(p, y, fold)[of_fold], cross_mix(p, other, fold)[of_fold]
    )
    first, second = (cross_calibrate(p[0], labels, fold)[of_fold] for labels in (y, other))
    np.testing.assert_array_equal(first, second)


def test_linear_classifiers_are_one_part_of_the_mixture():
    p, y = draw(3, K=4)
    linear = np.array([False, True, True, False])
    weights = part_weights(p, y, linear)
    assert weights.sum() == pytest.approx(1)
    of_linear = mixture_weights(p[1:3], y)
    np.testing.assert_allclose(weights[1:3] / weights[1:3].sum(), of_linear)
    of_parts = mixture_weights(np.stack([p[0], p[3], mix(of_linear, p[1:3])]), y)
    np.testing.assert_allclose([weights[0], weights[3], weights[1:3].sum()], of_parts)
    twice = np.concatenate([p[:2], p[1:2], p[3:]])  # a copy of a linear one changes nothing
    one = part_weights(np.delete(p, 2, 0), y, np.array([False, True, False]))
    copied = part_weights(twice, y, linear)
    np.testing.assert_allclose([copied[0], copied[1:3].sum(), copied[3]], one, atol=1e-9)
