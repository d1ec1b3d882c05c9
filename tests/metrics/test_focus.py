import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from foveate.metrics.focus import (
    EDGES,
    QUADRANTS,
    attention_on,
    focus_true,
    heat_map,
    quadrants,
    released_heat_map,
    saif,
    threshold_curve,
)

ON_THE_GRID = st.sampled_from([0.0, 0.1, 0.2, 0.4, 0.6, 0.79, 0.8, 0.9, 1.0])
pairs = st.lists(st.tuples(ON_THE_GRID, ON_THE_GRID), min_size=1, max_size=12)


def only(j, m=4):
    return np.arange(m) == j


def test_focus_is_true_only_strictly_above_all_others():
    s = np.array([[1.0, 3.0, 2.0, 0.0], [1.0, 3.0, 3.0, 0.0], [1.0, 2.0, 3.0, 0.0]])
    z = np.stack([only(1)] * 3)
    assert focus_true(s, z).tolist() == [True, False, False]


def test_the_best_of_several_relevant_segments_decides():
    s = np.array([[0.0, 5.0, 1.0, 4.0]])
    assert focus_true(s, np.array([[True, True, False, False]])).all()
    assert focus_true(s, np.array([[True, True, False, True]])).all()  # a tie among them is none
    assert not focus_true(s, np.array([[True, False, True, True]])).any()
    tie = np.array([[5.0, 5.0, 1.0, 1.0]])
    assert focus_true(tie, np.array([[True, True, False, False]])).all()


def test_segments_that_are_not_there_do_not_compete():
    s = np.array([[2.0, 1.0, 9.0, 9.0]])
    mask = np.array([[True, True, False, False]])
    assert focus_true(s, only(0)[None], mask).all()
    assert not focus_true(s, only(0)[None]).any()
    assert not focus_true(s, only(2)[None], mask).any()  # nor do they win


def test_a_bag_without_a_relevant_segment_is_not_focused():
    assert not focus_true(np.ones((1, 3)), np.zeros((1, 3), bool)).any()
    assert focus_true(np.ones((1, 3)), np.ones((1, 3), bool)).all()


@given(st.integers(1, 6), st.integers(0, 10**6))
def test_focus_true_by_loop(m, seed):
    rng = np.random.default_rng(seed)
    s = rng.integers(0, 4, (2, 8, m)).astype(float)  # few values, many ties
    z, mask = rng.random((2, 8, m)) < 0.4, rng.random((2, 8, m)) < 0.8
    expected = [
        [oracles.focus_true_loop(s[i, k], z[i, k], mask[i, k]) for k in range(8)] for i in range(2)
    ]
    assert focus_true(s, z, mask).tolist() == expected


def test_attention_on_sums_the_relevant_weights_and_never_exceeds_one():
    alpha = np.array([[[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]], [[0.0, 0.0, 1.0], [0.2, 0.3, 0.5]]])
    z = np.array([[True, False, True], [False, True, False]])
    np.testing.assert_allclose(attention_on(alpha, z), [[0.8, 0.25], [1.0, 0.3]])
    rounded_up = np.full((1, 3), np.float32(1 / 3)) * np.float32(1.000001)
    assert attention_on(rounded_up, np.ones((1, 3), bool)).tolist() == [1.0]


@given(pairs)
def test_heat_map_by_loop_and_its_corner_is_saif(points):
    a_z, p_y = np.array(points).T
    share = heat_map(a_z, p_y)
    np.testing.assert_allclose(share, oracles.heat_map_loop(a_z, p_y, EDGES))
    np.testing.assert_allclose(share.sum(), 1)
    assert share[-1, -1] == pytest.approx(saif(a_z, p_y))


@pytest.mark.parametrize(
    ("value", "cell"), [(0.0, 0), (0.2, 1), (0.4, 2), (0.6, 3), (0.8, 4), (1.0, 4), (0.7999, 3)]
)
def test_cells_hold_their_lower_edge_and_the_last_holds_one(value, cell):
    expected = np.zeros((5, 5))
    expected[4, cell] = 1  # rows follow the prediction, columns the focus
    assert heat_map(np.array([value]), np.array([1.0])).tolist() == expected.tolist()
    single = np.float32(value)
    assert heat_map(single[None], np.ones(1)).tolist() == expected.tolist()


def test_saif_counts_both_scores_from_tau_on():
    a_z, p_y = np.array([0.8, 0.8, 0.79, 1.0, 0.3]), np.array([0.8, 0.79, 0.8, 1.0, 0.3])
    assert saif(a_z, p_y) == pytest.approx(2 / 5)
    assert saif(a_z, p_y, tau=0.3) == 1
    assert saif(a_z, p_y, tau=0.9) == pytest.approx(1 / 5)


def test_what_is_not_a_number_is_in_no_cell():
    a_z, p_y = np.array([np.nan, 1.0, 0.1]), np.array([np.nan, np.nan, 0.1])
    share = heat_map(a_z, p_y)
    assert share[0, 0] == pytest.approx(1 / 3)
    assert share.sum() == pytest.approx(1 / 3)
    assert share[-1, -1] == saif(a_z, p_y) == 0


def test_leading_axes_are_carried_along():
    rng = np.random.default_rng(0)
    a_z, p_y = rng.random((3, 2, 50)), rng.random((3, 2, 50))
    share, by_saif = heat_map(a_z, p_y), saif(a_z, p_y)
    curve = threshold_curve(a_z, np.array([0.5, 0.9]))
    for i, k in np.ndindex(3, 2):
        assert (share[i, k] == heat_map(a_z[i, k], p_y[i, k])).all()
        assert by_saif[i, k] == saif(a_z[i, k], p_y[i, k])
        assert (curve[i, k] == threshold_curve(a_z[i, k], np.array([0.5, 0.9]))).all()


def test_other_edges():
    share = heat_map(np.array([0.1, 0.6, 0.9]), np.array([0.9, 0.9, 0.4]), np.array([0, 0.5, 1]))
    np.testing.assert_allclose(share, [[0, 1 / 3], [1 / 3, 1 / 3]])


@given(st.integers(2, 40), st.integers(0, 10**6))
def test_the_released_map_bins_the_range_of_the_data(n, seed):
    rng = np.random.default_rng(seed)
    a_z, p_y = rng.random(n), rng.random(n)
    counts, rows, columns = np.histogram2d(p_y, a_z, bins=5)
    np.testing.assert_allclose(released_heat_map(a_z, p_y), counts / n)
    assert (rows[0], rows[-1]) == pytest.approx((p_y.min(), p_y.max()))
    assert (columns[0], columns[-1]) == pytest.approx((a_z.min(), a_z.max()))


def test_the_released_map_calls_the_best_of_the_weak_strong():
    weak = np.array([0.1, 0.12, 0.2])
    assert released_heat_map(weak, weak)[-1, -1] == pytest.approx(1 / 3)
    assert heat_map(weak, weak)[-1, -1] == 0


@given(st.lists(ON_THE_GRID, min_size=1, max_size=20))
def test_threshold_curve_falls_from_those_above_zero_to_none(values):
    a_z, thresholds = np.array(values), np.linspace(0, 1, 11)
    curve = threshold_curve(a_z, thresholds)
    expected = [sum(v > t for v in values) / len(values) for t in thresholds]
    np.testing.assert_allclose(curve, expected)
    assert (np.diff(curve) <= 0).all()
    assert curve[-1] == 0


def test_threshold_curve_is_strict():
    curve = threshold_curve(np.array([0.5, 0.5, 0.75, 0.0]), [0.0, 0.25, 0.5, 0.75])
    assert curve.tolist() == [0.75, 0.75, 0.25, 0.0]


@given(st.integers(1, 30), st.integers(0, 10**6))
def test_quadrants_sum_to_one_and_their_margins_are_accuracy_and_ft(n, seed):
    rng = np.random.default_rng(seed)
    focused, correct = rng.random((3, n)) < 0.6, rng.random((3, n)) < 0.3
    parts = quadrants(focused, correct)
    assert tuple(parts) == QUADRANTS
    np.testing.assert_allclose(sum(parts.values()), 1)
    np.testing.assert_allclose(parts["ftpt"] + parts["ffpt"], correct.mean(-1))
    np.testing.assert_allclose(parts["ftpt"] + parts["ftpf"], focused.mean(-1))


def test_each_quadrant_matches_manual_computation():
    focused = np.array([True, True, True, True, False, False, False, True, False, False])
    correct = np.array([True, True, True, True, True, True, True, False, False, False])
    parts = {name: float(value) for name, value in quadrants(focused, correct).items()}
    assert parts == {"ftpt": 0.4, "ffpt": 0.3, "ftpf": 0.1, "ffpf": 0.2}
