"""Cells grouped by the words that meet in them, against a loop over all cells."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foveate.errors import FoveateError
from foveate.text.statistics import cell_groups as module
from foveate.text.statistics.cell_groups import cell_groups, row_order
from foveate.text.tokens import Tokens

texts = st.lists(st.integers(0, 6), min_size=1, max_size=6)
pairs = st.lists(st.tuples(texts, texts), min_size=1, max_size=7)


@settings(max_examples=40)
@given(pairs, st.booleans())
def test_groups_hold_every_cell_once(drawn, held):
    source, target = (Tokens.of([pair[k] for pair in drawn]) for k in (0, 1))
    rows = row_order(target, 7)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CELLS", 0)
        patch.setattr(module, "MAX_HELD_CELLS", 1 << 20 if held else 0)
        groups = cell_groups(source, target, (7, 7), rows)
        all_groups = list(groups())
        again = list(groups())
    assert np.array_equal(rows.words, np.sort(target.ids.numpy()))
    counts = Counter()
    for group in all_groups:
        cells = group.cells.tocoo()
        assert np.array_equal(group.by_row.toarray(), group.cells.toarray().T)
        for k, row, times in zip(*cells.coords, cells.data, strict=True):
            i, o = divmod(int(group.keys[k]), 7)
            assert o == rows.words[row]
            counts[i, o, int(rows.pair[row])] += int(times)
    expected = Counter((i, o, n) for n, (x, y) in enumerate(drawn) for o in y for i in x)
    assert counts == expected
    keys = np.concatenate([group.keys for group in all_groups])
    assert (np.diff(keys) > 0).all()
    assert np.array_equal(keys, np.concatenate([group.keys for group in again]))


def test_large_vocabularies_are_ordered_too():
    target = Tokens.of([[70_000, 3], [65_536, 2]])
    assert row_order(target, 70_001).words.tolist() == [2, 3, 65_536, 70_000]


def test_source_and_target_must_be_pairs():
    one, two = Tokens.of([[1]]), Tokens.of([[1], [2]])
    with pytest.raises(FoveateError, match="got 1 and 2"):
        cell_groups(one, two, (3, 3), row_order(two, 3))
