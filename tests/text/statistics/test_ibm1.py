"""IBM Model 1 against loops, NLTK and its own laws; symmetrised alignments by their definition."""

from collections import defaultdict

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from foveate.errors import FoveateError
from foveate.text.statistics import cell_groups
from foveate.text.statistics.cooccurrence import count_table
from foveate.text.statistics.ibm1 import fit_ibm1, with_null
from foveate.text.statistics.symmetrisation import (
    flipped,
    grow_diag_final_and,
    intersection,
)
from foveate.text.tokens import Tokens

few = settings(max_examples=20)
texts = st.lists(st.integers(0, 4), min_size=1, max_size=5)
pairs = st.lists(st.tuples(texts, texts), min_size=1, max_size=6)
links = st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=14)


def as_tokens(drawn):
    return tuple(Tokens.of([pair[k] for pair in drawn]) for k in (0, 1))


def by_loops(drawn, iterations, null):
    """EM as the textbook writes it; NULL is word 5."""
    trans = defaultdict(lambda: 1 / 5)
    history = []
    for _ in range(iterations):
        counts, totals, log_likelihood = defaultdict(float), defaultdict(float), 0.0
        for x, y in drawn:
            words = [*x, 5] if null else x
            for o in y:
                whole = sum(trans[i, o] for i in words)
                log_likelihood += np.log(whole / len(words))
                for i in words:
                    counts[i, o] += trans[i, o] / whole
                    totals[i] += trans[i, o] / whole
        trans = {(i, o): count / totals[i] for (i, o), count in counts.items()}
        history.append(log_likelihood)
    return trans, counts, history


@pytest.mark.parametrize("null", [False, True])
@pytest.mark.parametrize("small", [False, True])
@few
@given(pairs, st.integers(1, 4))
def test_em_is_the_textbooks(null, small, drawn, iterations):
    with pytest.MonkeyPatch.context() as patch:
        if small:  # many groups, made again in every iteration
            patch.setattr(cell_groups, "CELLS", 0)
            patch.setattr(cell_groups, "MAX_HELD_CELLS", 0)
        model = fit_ibm1(*as_tokens(drawn), (5, 5), iterations=iterations, null=null)
    trans, counts, history = by_loops(drawn, iterations, null)
    for expected, result in ((trans, model.table), (counts, model.counts)):
        full = np.zeros((5 + null, 5))
        for cell, value in expected.items():
            full[cell] = value
        np.testing.assert_allclose(result.toarray(), full, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(model.log_likelihood, history, rtol=1e-12)


@few
@given(pairs)
def test_the_first_counts_are_the_count_table(drawn):
    """[snell21] C9: from a uniform start, the E step of IBM Model 1 gives C."""
    source, target = as_tokens(drawn)
    result = fit_ibm1(source, target, (5, 5), iterations=1).counts
    expected = count_table(source, target, (5, 5))
    np.testing.assert_allclose(result.toarray(), expected.toarray(), rtol=1e-13)


@pytest.mark.parametrize("null", [False, True])
@few
@given(pairs)
def test_likelihood_never_falls_and_rows_are_distributions(null, drawn):
    model = fit_ibm1(*as_tokens(drawn), (5, 5), iterations=12, null=null)
    assert (np.diff(model.log_likelihood) > -1e-9).all()
    totals = model.table.sum(1)
    np.testing.assert_allclose(totals[totals > 0], 1)


def test_nltk_learns_the_same_table():
    """Where no target repeats a word: NLTK divides by the sum over repetitions once more."""
    nltk = pytest.importorskip("nltk.translate")
    rng = np.random.default_rng(0)
    drawn = [(rng.integers(0, 9, 5).tolist(), rng.permutation(9)[:4].tolist()) for _ in range(30)]
    source, target = as_tokens(drawn)
    model = fit_ibm1(source, target, (9, 9), iterations=5, null=True)
    corpus = [nltk.AlignedSent([*map(str, y)], [*map(str, x)]) for x, y in drawn]
    table = nltk.IBMModel1(corpus, 5).translation_table
    result = model.table.toarray()
    for i in range(10):
        for o in range(9):
            expected = table[str(o)][None if i == 9 else str(i)]
            if result[i, o] > 0:
                assert result[i, o] == pytest.approx(expected, abs=1e-9)


def hidden_dictionary(rng, pairs=400, words=30, length=7):
    """Each word has one translation; the target's order is random, and known."""
    source = torch.randint(words, (pairs, length), generator=rng)
    order = torch.stack([torch.randperm(length, generator=rng) for _ in range(pairs)])
    target = source.gather(1, order)
    target = (7 * target + 3) % words
    start = torch.arange(pairs + 1) * length
    return Tokens(source.flatten(), start), Tokens(target.flatten(), start), order


def test_a_hidden_dictionary_is_found(rng):
    source, target, _ = hidden_dictionary(rng)
    model = fit_ibm1(source, target, iterations=10)
    assert (model.table.toarray().argmax(1) == (7 * np.arange(30) + 3) % 30).all()
    forward = model.align(source, target)
    backward = flipped(fit_ibm1(target, source, iterations=10).align(target, source))
    for links, x, y in zip(forward, source, target, strict=False):
        assert all((7 * x[i] + 3) % 30 == y[j] for i, j in links)
        assert {j for _, j in links} == set(range(7))
    for links, x, y in zip(backward, source, target, strict=False):
        assert all((7 * x[i] + 3) % 30 == y[j] for i, j in links)
        assert {i for i, _ in links} == set(range(7))


def test_posteriors_are_the_shares_of_the_table(rng):
    source, target, _ = hidden_dictionary(rng, pairs=5)
    for null in (False, True):
        model = fit_ibm1(source, target, null=null)
        table = model.table.toarray()
        words = [*source[3], 30] if null else source[3]
        expected = table[np.ix_(words, target[3])].T
        result = model.posteriors(source, target)[3]
        np.testing.assert_allclose(result, expected / expected.sum(1, keepdims=True))


def test_ties_go_to_the_first_position_and_never_to_null():
    source, target = Tokens.of([[0, 1], [2, 2, 3]]), Tokens.of([[0, 1], [2]])
    for null in (False, True):
        result = fit_ibm1(source, target, (4, 3), null=null).align(source, target)
        assert result == [{(0, 0), (0, 1)}, {(0, 0)}]


def test_words_without_origin_are_not_linked():
    """Word 9 stands in every target, words 0, …, 7 have their copies: NULL takes it."""
    texts = [[i, (i + k) % 8] for i in range(8) for k in (1, 2, 3)]
    source, target = Tokens.of(texts), Tokens.of([[*text, 9] for text in texts])
    model = fit_ibm1(source, target, (8, 10), iterations=20, null=True)
    assert model.align(source, target) == [{(0, 0), (1, 1)}] * len(texts)
    assert model.align(Tokens.of([[0]]), Tokens.of([[8, 0]])) == [{(0, 1)}]  # 8 was never seen
    with pytest.raises(FoveateError, match="from 0 to 7"):
        model.align(Tokens.of([[8]]), Tokens.of([[0]]))


def test_null_stands_at_the_end_of_every_text():
    tokens = with_null(Tokens.of([[3, 4], [5]]), 9)
    assert [tokens[0], tokens[1]] == [[3, 4, 9], [5, 9]]


def test_no_iteration_is_refused():
    with pytest.raises(FoveateError, match="1 or more, got 0"):
        fit_ibm1(Tokens.of([[0]]), Tokens.of([[0]]), iterations=0)


def by_scanning_the_grid(forward, backward):
    """Koehn's pseudo-code: every cell of the grid in turn, until a scan adds nothing."""
    aligned, union = forward & backward, forward | backward
    near = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]
    added = True
    while added:
        added = False
        for i in range(6):
            for j in range(6):
                for a, b in near:
                    new = (i + a, j + b)
                    free = all(new[0] != x for x, _ in aligned) or all(
                        new[1] != y for _, y in aligned
                    )
                    if (i, j) in aligned and new in union and free:
                        aligned |= {new}
                        added = True
    for one in (forward, backward):
        for i in range(6):
            for j in range(6):
                free = all(i != x and j != y for x, y in aligned)
                if (i, j) in one and free:
                    aligned |= {(i, j)}
    return aligned


@few
@given(links, links)
def test_growing_follows_the_pseudo_code(forward, backward):
    (result,) = grow_diag_final_and([forward], [backward])
    assert result == by_scanning_the_grid(set(forward), set(backward))
    assert forward & backward <= result <= forward | backward
    assert intersection([forward], [backward]) == [forward & backward]
    assert flipped(flipped([forward])) == [forward]
