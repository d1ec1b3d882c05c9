"""AER and its kin by hand and by law; Pharaoh files there and back."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foveate.errors import FoveateError
from foveate.metrics import alignment as module
from foveate.metrics.alignment import (
    alignment_intervals,
    alignment_scores,
    pharaoh,
    read_pharaoh,
    write_pharaoh,
)

few = settings(max_examples=40)
link = st.tuples(st.integers(0, 4), st.integers(0, 4))
corpora = st.lists(
    st.tuples(st.sets(link), st.sets(link, min_size=1), st.sets(link)), min_size=1, max_size=5
)


def test_matches_manual_computation():
    result = [{(0, 0), (1, 1), (2, 2), (3, 0)}, {(0, 1)}]
    sure = [{(0, 0), (1, 2)}, {(0, 1), (1, 0)}]
    possible = [{(1, 1), (2, 0)}, set()]
    scores = alignment_scores(result, sure, possible)
    assert scores.precision == pytest.approx(3 / 5)
    assert scores.recall == pytest.approx(2 / 4)
    assert scores.aer == pytest.approx(1 - (2 + 3) / (5 + 4))
    assert scores.f1 == pytest.approx(2 * 0.6 * 0.5 / 1.1)


@few
@given(corpora)
def test_where_all_links_are_sure_the_error_is_what_f1_lacks(corpus):
    result, sure, _ = zip(*corpus, strict=True)
    scores = alignment_scores(result, sure)
    if any(a & s for a, s in zip(result, sure, strict=True)):
        assert scores.aer == pytest.approx(1 - scores.f1)
    else:
        assert scores.aer == 1


@few
@given(corpora)
def test_sure_links_may_be_repeated_among_the_possible_ones(corpus):
    result, sure, possible = zip(*corpus, strict=True)
    repeated = [s | p for s, p in zip(sure, possible, strict=True)]
    np.testing.assert_equal(
        alignment_scores(result, sure, possible), alignment_scores(result, sure, repeated)
    )


@few
@given(corpora)
def test_the_gold_has_no_error_and_nothing_is_all_error(corpus):
    _, sure, possible = zip(*corpus, strict=True)
    assert alignment_scores(sure, sure, possible) == (0, 1, 1, 1)
    nothing = alignment_scores([set()] * len(sure), sure, possible)
    assert nothing.aer == 1
    assert nothing.recall == 0
    assert math.isnan(nothing.precision)


def test_intervals_are_those_of_a_loop_over_resampled_corpora(monkeypatch):
    rng = np.random.default_rng(3)
    links = [[tuple(pair) for pair in rng.integers(0, 4, (6, 2))] for _ in range(90)]
    result, sure, possible = ([set(x) for x in links[k::3]] for k in range(3))
    seen = alignment_intervals(result, sure, possible, draws=3000)
    drawn = []
    for _ in range(1500):
        rows = rng.integers(30, size=30)
        drawn.append(alignment_scores(*([x[i] for i in rows] for x in (result, sure, possible))))
    expected = np.quantile(drawn, [0.025, 0.975], axis=0)
    for k, whole in enumerate(alignment_scores(result, sure, possible)):
        assert seen[k].mean == whole
        assert seen[k].low == pytest.approx(expected[0, k], abs=0.015)
        assert seen[k].high == pytest.approx(expected[1, k], abs=0.015)
    monkeypatch.setattr(module, "CELLS", 30 * 7)
    parts = alignment_intervals(result, sure, possible, draws=3000)
    np.testing.assert_allclose(np.array(parts), np.array(seen))
    assert alignment_intervals(result[:1], sure[:1]).aer.low is None


@few
@given(st.lists(st.sets(st.tuples(st.integers(0, 300), st.integers(0, 300))), max_size=4))
def test_pharaoh_there_and_back(tmp_path_factory, corpus):
    path = tmp_path_factory.mktemp("links") / "links.txt"
    write_pharaoh(path, corpus)
    assert read_pharaoh(path) == corpus
    assert path.read_text().splitlines() == [pharaoh(links) for links in corpus]


@pytest.mark.parametrize("word", ["3:4", "3", "3-", "-4", "3-4-5", "a-b", "-1-2", "1-²"])
def test_a_bad_link_is_named_with_its_line(tmp_path, word):
    path = tmp_path / "links.txt"
    path.write_text(f"0-0 1-1\n\n2-0 {word}\n")
    with pytest.raises(FoveateError, match=rf"links\.txt, line 3: .* got '{word}'"):
        read_pharaoh(path)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(FoveateError, match=r"cannot read .*nowhere"):
        read_pharaoh(tmp_path / "nowhere")
    (tmp_path / "latin").write_bytes(b"0-0\n\xe4")
    with pytest.raises(FoveateError, match="must be UTF-8: byte 4"):
        read_pharaoh(tmp_path / "latin")


def test_corpora_of_different_lengths():
    with pytest.raises(FoveateError, match="got 1, 2 and 2"):
        alignment_scores([set()], [set(), set()])
