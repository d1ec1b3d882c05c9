import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from foveate.metrics.intervals import (
    Interval,
    difference_interval,
    ends_of_mean,
    mean_interval,
)
from foveate.metrics.metric import summarise
from foveate.records.record import Record

numbers = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=15)


def width(values, **settings):
    interval = mean_interval(np.asarray(values), **settings)
    return interval.high - interval.low


@given(st.floats(-1e3, 1e3), st.integers(2, 20))
def test_the_interval_of_a_constant_is_that_constant(value, n):
    interval = mean_interval(np.full(n, value))
    assert interval == pytest.approx((value, value, value), rel=1e-12, abs=1e-9)
    assert interval.low == interval.high


def test_one_seed_has_no_interval():
    assert mean_interval(np.array([0.25])) == Interval(0.25, None, None)
    assert difference_interval(np.array([1.0]), np.array([0.0, 2.0])) == Interval(0.0, None, None)


@given(numbers)
def test_it_is_students_interval(values):
    interval = mean_interval(np.array(values))
    assert interval.mean == pytest.approx(np.mean(values))
    if np.std(values) > 1e-6:
        expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
        assert interval[1:] == pytest.approx(tuple(expected), rel=1e-6, abs=1e-6)


def test_all_rows_at_once_are_each_alone():
    values = np.random.default_rng(1).normal(size=(2, 3, 4))
    low, high = ends_of_mean(values)
    for position in np.ndindex(2, 3):
        assert (low[position], high[position]) == pytest.approx(mean_interval(values[position])[1:])
    for end in ends_of_mean(values[..., :1]):
        np.testing.assert_array_equal(end, values[..., 0])


def test_wider_with_spread_and_level_narrower_with_seeds():
    values = np.random.default_rng(0).normal(size=20)
    assert width(10 * values) == pytest.approx(10 * width(values))
    assert width(values, level=0.5) < width(values, level=0.8) < width(values, level=0.95)
    assert width(np.tile(values, 16)) == pytest.approx(width(values) / 4, rel=0.1)


def test_what_no_mean_can_be_is_cut_off():
    shares = np.array([100.0, 100.0, 97.0])
    interval = mean_interval(shares, within=(0, 100))
    assert interval.high == 100
    assert interval.low == mean_interval(shares).low
    beyond = mean_interval(np.array([101.0, 103.0]), within=(0, 100))
    assert beyond.low <= beyond.mean <= beyond.high == 102


@pytest.mark.parametrize("seeds", [2, 3, 5, 10])
def test_intervals_have_nominal_coverage_from_two_seeds_on(seeds):
    values = np.random.default_rng(2).normal(size=(4000, seeds))
    low, high = ends_of_mean(values)
    assert np.mean((low <= 0) & (high >= 0)) == pytest.approx(0.95, abs=0.012)


def test_a_difference_of_two_means_is_welchs():
    rng = np.random.default_rng(4)
    one, other = rng.normal(1, 1, size=4), rng.normal(0, 3, size=7)
    expected = stats.ttest_ind(one, other, equal_var=False).confidence_interval(0.95)
    result = difference_interval(one, other)
    assert result.mean == pytest.approx(one.mean() - other.mean())
    assert result[1:] == pytest.approx(tuple(expected))


def record(**values):
    meta = {"seeds": [0, 1, 2], "cpu_seconds": 6.0, "classifier_calls": [100, 200, 600]}
    return Record(np.array([0, 5]), {k: np.array(v) for k, v in values.items()}, meta=meta)


def test_a_summary_is_the_last_row_in_percent_and_the_mean_cost():
    last = [0.5, 0.75, 1.0]
    summary = summarise(record(accuracy=[[0, 0, 0], last], ft=[[1, 1, 1], [0.25] * 3]))
    assert summary["accuracy"] == mean_interval(100 * np.array(last), within=(0, 100))
    assert summary["accuracy"].mean == pytest.approx(75)
    assert summary["ft"] == Interval(25, 25, 25)
    assert "saif" not in summary  # without z there is none
    assert (summary["cpu_seconds"], summary["classifier_calls"]) == (2, 300)
