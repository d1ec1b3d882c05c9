"""HMM and diagonal alignment models against enumeration of all alignments, and their laws."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import digamma

from foveate.errors import FoveateError
from foveate.text.statistics import hmm as hmm_module
from foveate.text.statistics import pair_batches as batches_module
from foveate.text.statistics import translation_table as table_module
from foveate.text.statistics.diagonal import DiagonalModel, fit_diagonal
from foveate.text.statistics.forward_backward import expected_jumps, forward_backward
from foveate.text.statistics.hmm import HMM, fit_hmm
from foveate.text.statistics.ibm1 import fit_ibm1
from foveate.text.statistics.translation_table import normalised, table_keys, table_positions
from foveate.text.tokens import Tokens

WORDS = 4
texts = st.lists(st.integers(0, WORDS - 1), min_size=1, max_size=3)
pairs = st.lists(st.tuples(texts, texts), min_size=1, max_size=5)
few = settings(max_examples=25)


def as_tokens(drawn):
    return tuple(Tokens.of([pair[k] for pair in drawn]) for k in (0, 1))


def random_table(rng):
    table = rng.random((WORDS + 1, WORDS)) + 0.05
    return table / table.sum(1, keepdims=True)


def transition(jumps, i, j, L, model):
    middle = len(jumps) // 2
    weight = jumps[np.clip(j - i, -middle, middle) + middle]
    reachable = sum(jumps[np.clip(k - i, -middle, middle) + middle] for k in range(L))
    return (1 - model.null) * ((1 - model.uniform) * weight / reachable + model.uniform / L)


def hmm_by_enumeration(model, table, x, y):
    """Posteriors (T, L + 1) and likelihood from all alignments; state (i, null) remembers i."""
    L, T = len(x), len(y)
    states = [(i, null) for i in range(L) for null in (False, True)]
    whole, posterior = 0.0, np.zeros((T, L + 1))
    for path in product(states, repeat=T):
        p, before = 1.0, None
        for t, (i, null) in enumerate(path):
            if before is None:
                p *= model.null / L if null else transition(model.jumps, -1, i, L, model)
            elif null:
                p *= model.null if i == before else 0.0
            else:
                p *= transition(model.jumps, before, i, L, model)
            p *= table[WORDS if null else x[i], y[t]]
            before = i
        whole += p
        for t, (i, null) in enumerate(path):
            posterior[t, L if null else i] += p
    return posterior / whole, whole


@few
@given(pairs, st.integers(0, 100), st.booleans())
def test_hmm_posteriors_are_those_of_all_alignments(drawn, seed, one_by_one):
    rng = np.random.default_rng(seed)
    table = random_table(rng)
    model = HMM(sparse.csr_array(table), rng.random(7) + 0.1, 0.3, 0.2, np.empty(0))
    with pytest.MonkeyPatch.context() as patch:
        if one_by_one:
            patch.setattr(batches_module, "CELLS", 1)
        tables = model.posteriors(*as_tokens(drawn))
    for k, (x, y) in enumerate(drawn):
        expected, _ = hmm_by_enumeration(model, table, x, y)
        np.testing.assert_allclose(tables[k], expected, atol=1e-12)


@few
@given(pairs, st.integers(0, 100))
def test_hmm_likelihood_is_that_of_all_alignments(drawn, seed):
    rng = np.random.default_rng(seed)
    table = random_table(rng)
    model = HMM(sparse.csr_array(table), rng.random(7) + 0.1, 0.3, 0.2, np.empty(0))
    form = sparse.csr_array(table)
    batches = list(batches_module.pair_batches(*as_tokens(drawn), table_keys(form), (WORDS, WORDS)))
    result = hmm_module._expected(batches, form.data, model.jump_model)
    expected = sum(np.log(hmm_by_enumeration(model, table, x, y)[1]) for x, y in drawn)
    assert result.log_likelihood == pytest.approx(expected, rel=1e-10)


@few
@given(pairs)
def test_hmm_expected_jumps_and_words_are_as_many_as_words(drawn):
    """Without uniform jumps every target word is either NULL or the end of one jump."""
    source, target = as_tokens(drawn)
    table = sparse.csr_array(random_table(np.random.default_rng(0)))
    model = HMM(table, np.ones(7), 0.3, 0.0, np.empty(0))
    for batch in batches_module.pair_batches(source, target, table_keys(table), (WORDS, WORDS)):
        passed = forward_backward(batch, hmm_module._extended(table.data), model.jump_model)
        np.testing.assert_allclose(passed.posterior.sum(1), 1)
        words, jumps = passed.posterior[:, :-1].sum(), expected_jumps(batch, passed, 7)
        assert jumps.sum() == pytest.approx(words, rel=1e-9)


def diagonal_by_enumeration(model, table, x, y):
    L, T = len(x), len(y)
    posterior = np.zeros((T, L + 1))
    for t, word in enumerate(y):
        near = np.exp([-model.tension * abs((t + 1) / T - (i + 1) / L) for i in range(L)])
        prior = [*((1 - model.null) * near / near.sum()), model.null]
        posterior[t] = [p * table[i, word] for p, i in zip(prior, [*x, WORDS], strict=True)]
    return posterior / posterior.sum(1, keepdims=True)


@few
@given(pairs, st.floats(0.1, 10))
def test_diagonal_posteriors_are_those_of_the_formula(drawn, tension):
    table = random_table(np.random.default_rng(1))
    model = DiagonalModel(sparse.csr_array(table), tension, 0.2, np.empty(0))
    tables = model.posteriors(*as_tokens(drawn))
    for k, (x, y) in enumerate(drawn):
        np.testing.assert_allclose(tables[k], diagonal_by_enumeration(model, table, x, y))


def monotone_corpus(seed=0, n=150):
    """Word i translates to (3 i + 1) mod 20, in order, with frequent repetitions within a pair."""
    rng = np.random.default_rng(seed)
    source = [np.sort(rng.integers(0, 20, rng.integers(2, 7))).tolist() for _ in range(n)]
    return Tokens.of(source), Tokens.of([[(3 * w + 1) % 20 for w in x] for x in source])


def test_both_models_find_a_monotone_dictionary():
    source, target = monotone_corpus()
    for fit in (fit_hmm, fit_diagonal):
        links = fit(source, target, iterations=5).align(source, target)
        right = sum(i == j for pair in links for i, j in pair)
        assert right / len(source.ids) > 0.95


def test_likelihood_rises_on_a_monotone_corpus():
    for fit in (fit_hmm, fit_diagonal):
        likelihood = fit(*monotone_corpus(), iterations=6, prior=0.0).log_likelihood
        assert len(likelihood) == 6
        assert (np.diff(likelihood) > -1e-6).all()


def test_a_diagonal_corpus_raises_the_tension():
    source, target = monotone_corpus()
    flipped = Tokens.of([y[::-1] for y in target])
    assert fit_diagonal(source, target).tension > fit_diagonal(source, flipped).tension


def test_unseen_words_do_not_break_the_models():
    source, target = monotone_corpus()
    for fit in (fit_hmm, fit_diagonal):
        model = fit(source, target, (25, 25))
        tables = model.posteriors(Tokens.of([[24, 1]]), Tokens.of([[23, 4]]))
        assert np.isfinite(tables.values).all()
        assert (1, 1) in model.align(Tokens.of([[24, 1]]), Tokens.of([[23, 4]]))[0]
        with pytest.raises(FoveateError, match="from 0 to 24"):
            model.align(Tokens.of([[25]]), Tokens.of([[0]]))
        with pytest.raises(FoveateError, match="1 or more, got 0"):
            fit(source, target, iterations=0)


def test_rows_longer_than_in_training_are_aligned():
    source, target = monotone_corpus()
    long = Tokens.of([list(range(20))]), Tokens.of([[(3 * w + 1) % 20 for w in range(20)]])
    links = fit_hmm(source, target).align(*long)[0]
    assert len(links & {(i, i) for i in range(20)}) >= 15


def test_variational_rows_are_the_published_formula():
    counts, sizes = np.array([2.0, 1.0, 0.5]), np.array([2, 0, 1])
    values = normalised(counts, sizes, 0.1)
    assert values[0] == pytest.approx(np.exp(digamma(2.1) - digamma(3.2)))
    assert values[2] == pytest.approx(np.exp(digamma(0.6) - digamma(0.6)))
    assert values.sum() < normalised(counts, sizes).sum() == pytest.approx(2)


@pytest.mark.parametrize("ratio", [0, 16])  # by sorting, by a table of all keys
def test_positions_of_missing_entries_are_past_the_end(monkeypatch, ratio):
    monkeypatch.setattr(table_module, "DENSE_RATIO", ratio)
    table = fit_ibm1(Tokens.of([[0, 2]]), Tokens.of([[1]]), (3, 2), iterations=1).table
    assert table_keys(table).tolist() == [1, 5]
    assert table_positions(table_keys(table), np.array([5, 0, 1, 9])).tolist() == [1, 2, 0, 2]
