"""Imputation by medians, against NumPy."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from foveate.bags.imputation import Imputation


@given(st.integers(1, 40), st.integers(1, 5), st.floats(0, 1), st.integers(0, 99))
def test_medians_ignore_missing_numbers(n, d, share, seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, d)).astype(np.float32)
    missing = rng.random((n, d)) < share
    rows = torch.from_numpy(np.where(missing, 0, values))
    imputation = Imputation.of(rows, torch.from_numpy(missing))
    for k in range(d):
        present = values[~missing[:, k], k].astype(np.float64)
        expected = np.median(present) if len(present) else 0.0
        np.testing.assert_allclose(imputation.medians[k], expected, rtol=1e-6)
    applied = imputation.apply(rows, torch.from_numpy(missing)).numpy()
    medians = np.broadcast_to(imputation.medians.numpy(), values.shape)
    np.testing.assert_array_equal(applied[:, :d], np.where(missing, medians, values))
    np.testing.assert_array_equal(applied[:, d:], missing[:, imputation.indicators.numpy()])


def test_only_training_rows_count_and_rare_gaps_have_no_indicator():
    rows = torch.arange(600.0).reshape(300, 2)
    missing = torch.zeros(300, 2, dtype=torch.bool)
    missing[0, 0] = missing[:50, 1] = True
    imputation = Imputation.of(rows, missing, torch.arange(200))
    assert imputation.indicators.tolist() == [1]
    assert imputation.medians.tolist() == [200.0, 249.0 + 1]
    assert imputation.apply(rows, None).shape == (300, 3)


def test_rows_without_gaps_stay_as_they_are():
    rows = torch.arange(36.0).reshape(9, 4)
    assert Imputation.of(rows).apply(rows, None) is rows
