"""Ragged tables against lists of matrices, and cells against loops over (t, l)."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from foveate.errors import FoveateError
from foveate.text.statistics.pair_tables import Tables
from foveate.text.statistics.word_pairs import chunks, number, word_pairs
from foveate.text.tokens import Tokens

few = settings(max_examples=25)
sizes = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 6)), min_size=1, max_size=7)


def drawn(shapes, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.integers(0, 4, shape).astype(float) for shape in shapes]


@few
@given(sizes)
def test_tables_are_the_matrices_they_were_made_of(shapes):
    grids = drawn(shapes)
    tables = Tables.of(grids)
    for i, grid in enumerate(grids):
        np.testing.assert_array_equal(tables[i], grid)
    rows = [row for grid in grids for row in grid]
    assert [len(row) for row in rows] == tables.lengths.tolist()
    np.testing.assert_array_equal(tables.sums(), [row.sum() for row in rows])
    np.testing.assert_array_equal(tables.best(), [row.argmax() for row in rows])
    shares = [row / row.sum() if row.any() else np.full(len(row), 1 / len(row)) for row in rows]
    np.testing.assert_allclose(tables.shares().values, np.concatenate(shares))
    assert tables.pair.tolist() == [i for i, (T, _) in enumerate(shapes) for _ in range(T)]


@few
@given(sizes)
def test_padding_and_cutting_it_off_again_changes_nothing(shapes):
    grids = drawn(shapes)
    longest = np.max(shapes, 0)
    padded = np.full((len(grids), *longest), np.nan)
    for i, grid in enumerate(grids):
        padded[i, : grid.shape[0], : grid.shape[1]] = grid
    target, source = np.array(shapes).T
    np.testing.assert_array_equal(
        Tables.unpadded(padded, source, target).values, Tables.of(grids).values
    )


@few
@given(sizes, st.randoms(use_true_random=False))
def test_taking_and_joining(shapes, rng):
    grids = drawn(shapes)
    order = rng.sample(range(len(grids)), len(grids))
    tables = Tables.of(grids)
    taken = tables.take(np.array(order))
    expected = Tables.of([grids[i] for i in order])
    np.testing.assert_array_equal(taken.values, expected.values)
    both = Tables.join([tables, taken])
    assert len(both) == 2 * len(grids)
    np.testing.assert_array_equal(both[len(grids)], expected[0])


@few
@given(sizes)
def test_cells_name_the_words_that_meet(shapes):
    rng = np.random.default_rng(1)
    y, x = ([rng.integers(0, 9, shape[k]).tolist() for shape in shapes] for k in (0, 1))
    cells = word_pairs(Tokens.of(x), Tokens.of(y), 9)
    expected = [i * 9 + o for a, b in zip(x, y, strict=True) for o in b for i in a]
    assert cells.values.tolist() == expected
    short = (Tokens(t.ids.int(), t.start.int()) for t in (Tokens.of(x), Tokens.of(y)))
    large = word_pairs(*short, 2**30)
    assert large.values.max() == max(a * 2**30 + o for a, o in (divmod(w, 9) for w in expected))


@few
@given(sizes, st.integers(1, 40))
def test_chunks_hold_all_pairs_in_order_within_their_bound(shapes, cells):
    y, x = ([[i] * shape[k] for i, shape in enumerate(shapes)] for k in (0, 1))
    parts = list(chunks(Tokens.of(x), Tokens.of(y), cells))
    assert [part[i] for part, _ in parts for i in range(len(part))] == x
    assert [part[i] for _, part in parts for i in range(len(part))] == y
    for a, b in parts:
        assert len(a) == 1 or int((a.lengths * b.lengths).sum()) <= cells


@few
@given(arrays(np.int64, st.integers(0, 30), elements=st.integers(0, 9) | st.integers(0, 2**62)))
def test_numbers_are_those_of_unique(keys):
    result, positions = number(keys)
    expected, back = np.unique(keys, return_inverse=True)
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(positions, back)


def test_tables_that_do_not_fit_are_refused():
    one = np.array([1])
    with pytest.raises(FoveateError, match="tables of 1 cells have 2 values"):
        Tables(np.ones(2), one, one)
    with pytest.raises(FoveateError, match="1 sources have 2 targets"):
        Tables(np.ones(2), one, np.array([1, 1]))
    with pytest.raises(FoveateError, match="every text needs a token"):
        Tables(np.ones(0), one, np.array([0]))
    with pytest.raises(FoveateError, match="got 1 and 2"):
        list(chunks(Tokens.of([[1]]), Tokens.of([[1], [1]])))


def test_blank_tables_take_no_room():
    blank = Tables.blank(np.array([10**6]), np.array([10**6]))
    assert blank.values.base is not None
    assert blank.values.strides == (0,)
    assert torch.tensor(blank.first).tolist() == [0, 10**12]
