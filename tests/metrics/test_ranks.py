"""Ranks within bags against SciPy, row by row."""

import numpy as np
import pytest
from scipy.stats import rankdata, spearmanr

from foveate.metrics.ranks import from_the_top, ranks, spearman


@pytest.fixture
def ragged():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 5, size=(40, 9)).astype(float)  # many ties
    other = rng.normal(size=(40, 9))
    mask = np.arange(9) < rng.integers(2, 10, size=40)[:, None]
    return values, other, mask


def test_ranks_are_scipys_average_ranks_of_what_is_there(ragged):
    values, _, mask = ragged
    mine = ranks(values, mask)
    for row, exists, got in zip(values, mask, mine, strict=True):
        np.testing.assert_array_equal(got[exists], rankdata(row[exists]))
        assert (got[~exists] == 0).all()


def test_spearman_is_scipys(ragged):
    values, other, mask = ragged
    mine = spearman(values, other, mask)
    for row, twin, exists, got in zip(values, other, mask, mine, strict=True):
        if len(set(row[exists])) > 1:
            np.testing.assert_allclose(got, spearmanr(row[exists], twin[exists])[0], atol=1e-12)
        else:
            assert np.isnan(got)


def test_order_from_the_top_breaks_ties_and_puts_padding_last():
    values = np.array([[1.0, 3.0, 3.0, 9.0]])
    tie = np.array([[0.0, 1.0, 2.0, 0.0]])
    mask = np.array([[True, True, True, False]])
    assert from_the_top(values, tie, mask).tolist() == [[2, 1, 0, 3]]
