"""Agreement by enumeration of every way to break ties, τ-b against SciPy, ξ by its rule."""

from itertools import permutations, product
from math import ceil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau

from foveate.errors import FoveateError
from foveate.metrics import ragged
from foveate.metrics.agreement import (
    agreement,
    contextual,
    fair_agreement,
    random_level,
)
from foveate.metrics.kendall import kendall
from foveate.metrics.ragged import top

few = settings(max_examples=50)
few_values = st.integers(0, 3).map(float)
rows_of = st.lists(
    st.integers(1, 9).flatmap(
        lambda n: st.tuples(*[st.lists(few_values, min_size=n, max_size=n)] * 2)
    ),
    min_size=1,
    max_size=6,
)


def flat(rows):
    start = np.cumsum([0, *(len(u) for u, _ in rows)])
    return *(np.array([x for row in rows for x in row[k]]) for k in (0, 1)), start


def paper_form(u, v, share):
    chosen = u.index(max(u))
    return sum(x > v[chosen] for x in v) < share * len(u)


def by_enumeration(u, v, positions):
    """Mean over all ways to order equal values of u and, independently, of v."""
    hits = []
    for one, other in product(permutations(range(len(u))), repeat=2):
        chosen = max(range(len(u)), key=lambda j: (u[j], one[j]))
        ranking = sorted(range(len(v)), key=lambda j: (-v[j], other[j]))
        hits.append(ranking.index(chosen) < positions)
    return np.mean(hits)


@few
@given(rows_of, st.sampled_from([0.05, 0.3, 0.5]))
def test_the_papers_form(rows, share):
    u, v, start = flat(rows)
    expected = [paper_form(*row, share) for row in rows]
    np.testing.assert_array_equal(agreement(u, v, start, share), expected)


@pytest.mark.parametrize("length", [1, 2, 3, 4])
@pytest.mark.parametrize("share", [0.05, 0.34, 0.5, 0.75])
def test_fair_ties_are_the_mean_over_every_way_to_break_them(length, share):
    values = [*product((0.0, 1.0), repeat=length), tuple(map(float, range(length)))]
    rows = list(product(values, repeat=2))
    if length == 4:
        rows = rows[::7]
    u, v, start = flat(rows)
    expected = [by_enumeration(*row, ceil(share * length)) for row in rows]
    np.testing.assert_allclose(fair_agreement(u, v, start, share), expected, atol=1e-12)


@few
@given(rows_of)
def test_grouping_rows_changes_nothing(rows):
    u, v, start = flat(rows)
    whole = fair_agreement(u, v, start, 0.3), kendall(u, v, start)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ragged, "CELLS", 5)
        parts = fair_agreement(u, v, start, 0.3), kendall(u, v, start)
    np.testing.assert_array_equal(whole, parts)


@few
@given(rows_of)
def test_a_constant_row_gets_exactly_the_random_level(rows):
    u, v, start = flat(rows)
    level = random_level(np.diff(start), 0.3)
    flat_row = np.ones_like(u)
    np.testing.assert_allclose(fair_agreement(u, flat_row, start, 0.3), level, rtol=1e-15)
    np.testing.assert_allclose(fair_agreement(flat_row, v, start, 0.3), level, rtol=1e-12)
    assert agreement(u, flat_row, start, 0.3).all()


@pytest.mark.parametrize("share", [0.05, 0.1, 0.2, 0.5])
def test_random_level_counts_the_positions_that_would_agree(share):
    """A one-hot u at every position in turn; .05 L is whole at 20, 40, 60, 140, …"""
    rng = np.random.default_rng(0)
    for length in (1, 2, 3, 5, 19, 20, 21, 39, 40, 41, 60, 140, 280):
        v = np.tile(rng.permutation(length), length)
        start = np.arange(length + 1) * length
        agreed = agreement(np.eye(length).ravel(), v, start, share).mean()
        assert agreed == pytest.approx(random_level(np.array([length]), share)[0], abs=1e-15)
    assert random_level(np.array([20, 21, 140]), 0.05).tolist() == [1 / 20, 2 / 21, 7 / 140]


def test_without_ties_both_forms_agree():
    rng = np.random.default_rng(1)
    start = np.cumsum([0, *rng.integers(1, 90, 50)])
    u, v = rng.random((2, start[-1]))
    np.testing.assert_array_equal(agreement(u, v, start), fair_agreement(u, v, start))
    assert 0 < agreement(u, v, start).mean() < 1


def test_top_is_the_first_of_several():
    values = np.array([1, 3, 3, 2, -1, -np.inf, -np.inf, 7])
    assert top(values, np.array([0, 4, 5, 7, 8])).tolist() == [1, 0, 0, 0]


@few
@given(rows_of)
def test_tau_b_is_scipys(rows):
    u, v, start = flat(rows)
    with np.errstate(all="ignore"):
        expected = [kendalltau(*row).statistic if len(row[0]) > 1 else np.nan for row in rows]
    np.testing.assert_allclose(kendall(u, v, start), expected, atol=1e-14)


@pytest.mark.parametrize("step", [1e-9, 0.05, 0.3])
def test_tau_b_of_long_rows_is_scipys(step):
    rng = np.random.default_rng(2)
    lengths = np.array([700, 2, 256, 255, 254, 31, 700])
    start = np.cumsum([0, *lengths])
    u = rng.random(start[-1])
    v = np.round((u + rng.random(start[-1])) / step) * step
    parts = zip(np.split(u, start[1:-1]), np.split(v, start[1:-1]), strict=True)
    expected = [kendalltau(*pair).statistic for pair in parts]
    np.testing.assert_allclose(kendall(u, v, start), expected, atol=1e-13)


def test_tau_b_of_a_row_too_long_for_small_numbers():
    positions = np.arange(33_000.0)
    assert kendall(positions, -positions, np.array([0, len(positions)]))[0] == pytest.approx(
        -1, abs=1e-12
    )


def test_rows_without_order_have_no_value():
    u = np.array([1.0, 1.0, 1.0, 2.0, 5.0])
    v = np.array([1.0, 2.0, 1.0, 2.0, 5.0])
    tau = kendall(u, v, np.array([0, 2, 4, 5]))
    np.testing.assert_array_equal(tau, [np.nan, 1.0, np.nan])


def test_what_is_not_a_number_is_refused():
    good, bad, start = np.ones(3), np.array([1.0, np.nan, 2.0]), np.array([0, 3])
    for measure in (agreement, fair_agreement, kendall):
        for pair in ((good, bad), (bad, good)):
            with pytest.raises(FoveateError, match="value 1 is not a number"):
                measure(*pair, start)


def test_context_is_the_first_checkpoint_above_the_level():
    curve, performance = np.array([0.1, 0.4, 0.3, 0.6]), np.array([0.5, 0.6, 0.7, 0.8])
    assert contextual(0.3, curve, performance) == (0.6, 1, True)
    assert contextual(0.4, curve, performance) == (0.8, 3, True)  # strictly above
    assert contextual(0.0, curve, performance) == (0.5, 0, True)
    assert contextual(0.6, curve, performance) == (0.8, 3, False)
    with pytest.raises(FoveateError, match="got 4 and 3"):
        contextual(0.3, curve, performance[:3])
