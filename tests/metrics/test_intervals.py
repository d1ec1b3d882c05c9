import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.metrics.intervals import Interval, bootstrap
from foveate.metrics.summary import summarise
from foveate.record import Record

numbers = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=15)


def width(values, **settings):
    interval = bootstrap(np.asarray(values), **settings)
    return interval.high - interval.low


@given(st.floats(-1e3, 1e3), st.integers(2, 20))
def test_the_interval_of_a_constant_is_that_constant(value, n):
    interval = bootstrap(np.full(n, value))
    assert interval.low == interval.mean == interval.high
    assert interval.mean == pytest.approx(value)


def test_one_seed_has_no_interval():
    assert bootstrap(np.array([0.25])) == Interval(0.25, None, None)


@given(numbers)
def test_the_mean_lies_inside_and_the_ends_among_the_values(values):
    interval = bootstrap(np.array(values))
    slack = 1e-9
    assert interval.mean == pytest.approx(np.mean(values))
    assert min(values) - slack <= interval.low <= interval.high <= max(values) + slack
    assert interval.low - slack <= interval.mean <= interval.high + slack


def test_wider_with_spread_and_level_narrower_with_seeds():
    values = np.random.default_rng(0).normal(size=20)
    assert width(10 * values) == pytest.approx(10 * width(values))
    assert width(values, level=0.5) < width(values, level=0.8) < width(values, level=0.95)
    assert width(np.tile(values, 16)) == pytest.approx(width(values) / 4, rel=0.1)


def test_two_seeds_span_their_interval():
    assert bootstrap(np.array([1.0, 3.0])) == Interval(2.0, 1.0, 3.0)


def test_it_is_the_normal_interval_for_many_seeds():
    values = np.random.default_rng(1).normal(5, 2, size=400)
    expected = 2 * 1.96 * values.std() / np.sqrt(400)
    assert width(values) == pytest.approx(expected, rel=0.05)


def test_it_covers_the_truth_about_as_often_as_it_says():
    chance = np.random.default_rng(2)
    intervals = [bootstrap(chance.normal(size=30), draws=400, seed=i) for i in range(300)]
    covered = np.mean([i.low <= 0 <= i.high for i in intervals])
    assert 0.9 < covered < 0.98  # a little below .95: the percentile bootstrap is optimistic


def test_the_same_seed_gives_the_same_ends():
    values = np.random.default_rng(3).normal(size=10)
    assert bootstrap(values) == bootstrap(values)
    assert bootstrap(values, seed=1) != bootstrap(values, seed=2)


def record(**values):
    meta = {"seeds": [0, 1, 2], "cpu_seconds": 6.0, "classifier_calls": [100, 200, 600]}
    return Record(np.array([0, 5]), {k: np.array(v) for k, v in values.items()}, meta=meta)


def test_a_summary_is_the_last_row_in_percent_and_the_mean_cost():
    last = [0.5, 0.75, 1.0]
    summary = summarise(record(accuracy=[[0, 0, 0], last], ft=[[1, 1, 1], [0.25] * 3]))
    assert summary["accuracy"] == bootstrap(100 * np.array(last))
    assert summary["accuracy"].mean == pytest.approx(75)
    assert summary["ft"] == Interval(25, 25, 25)
    assert "saif" not in summary  # without z there is none
    assert (summary["cpu_seconds"], summary["classifier_calls"]) == (2, 300)
