import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from foveate.metrics.focus import distance, entropy_bits, nonzeros


def attention(m, seed, sharpness):
    s = sharpness * np.random.default_rng(seed).normal(size=(2, 5, m))
    weights = np.exp(s - s.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


attentions = st.builds(attention, st.integers(1, 12), st.integers(0, 10**6), st.floats(0, 30))


def test_nnz_is_a_count_of_weights_strictly_above_a_hundredth():
    alpha = np.array([[0.01, 0.0101, 0.9799, 0.0], [1.0, 0.0, 0.0, 0.0], [0.25] * 4])
    assert nonzeros(alpha).tolist() == [2, 1, 4]
    assert nonzeros(alpha, above=0.5).tolist() == [1, 1, 0]


@given(attentions)
def test_distance_is_the_least_over_all_corners(alpha):
    expected = [[oracles.corner_distance_loop(row) for row in rows] for rows in alpha]
    np.testing.assert_allclose(distance(alpha), expected, atol=3e-8)


@pytest.mark.parametrize("m", [1, 2, 8, 20])
def test_distance_at_a_corner_and_in_the_middle(m):
    assert distance(np.eye(m)).tolist() == [0.0] * m
    assert distance(np.full(m, 1 / m)) == pytest.approx(np.sqrt(1 - 1 / m))


@given(attentions)
def test_entropy_by_loop(alpha):
    expected = [[oracles.entropy_bits_loop(row) for row in rows] for rows in alpha]
    np.testing.assert_allclose(entropy_bits(alpha), expected, atol=1e-14)


def test_entropy_is_in_bits():
    assert entropy_bits(np.full(8, 1 / 8)) == pytest.approx(3)
    assert entropy_bits(np.array([0.5, 0.5, 0, 0])) == pytest.approx(1)
    assert entropy_bits(np.eye(5)).tolist() == [0.0] * 5


def test_padding_changes_nothing():
    alpha = attention(6, 0, 2.0)
    padded = np.concatenate([alpha, np.zeros((2, 5, 3))], -1)
    for measure in (nonzeros, distance, entropy_bits):
        np.testing.assert_allclose(measure(padded), measure(alpha))


def test_attention_that_is_not_a_number_is_not_sparse():
    alpha = np.array([[np.nan, np.nan]])
    assert np.isnan(distance(alpha)).all()
    assert np.isnan(entropy_bits(alpha)).all()
