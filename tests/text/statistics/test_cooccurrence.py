"""The count table by loops; smoothing; what sentences tell of their positions, and what chance."""

from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from foveate.errors import FoveateError
from foveate.metrics.agreement import fair_agreement, random_level
from foveate.text.statistics import word_pairs as cells
from foveate.text.statistics.cooccurrence import (
    bags,
    count_table,
    label_targets,
    lookup,
    permuted,
    translation_probabilities,
    translations,
)
from foveate.text.statistics.information import (
    by_word,
    crossed,
    information,
    shared_information,
    shared_terms,
    terms,
)
from foveate.text.statistics.pair_tables import Tables
from foveate.text.tokens import Tokens

few = settings(max_examples=20)
texts = st.lists(st.integers(0, 4), min_size=1, max_size=6)
pairs = st.lists(st.tuples(texts, texts), min_size=1, max_size=8)


def as_tokens(drawn):
    return tuple(Tokens.of([pair[k] for pair in drawn]) for k in (0, 1))


def by_loops(drawn):
    table = np.zeros((5, 5))
    for x, y in drawn:
        for i in x:
            for o in y:
                table[i, o] += 1 / len(x)
    return table


def permutations(n, words, length, rng, sets=1):
    """Sources that are ``length`` of ``words`` words in random order; the target is a copy."""
    rows = torch.stack([torch.randperm(words, generator=rng)[:length] for _ in range(n)])
    rows = rows + words * torch.randint(sets, (n, 1), generator=rng)
    tokens = Tokens(rows.flatten(), torch.arange(n + 1) * length)
    return tokens, tokens


@few
@given(pairs)
def test_the_count_table_is_the_sum_over_pairs_and_positions(drawn):
    source, target = as_tokens(drawn)
    result = count_table(source, target, (5, 5))
    np.testing.assert_allclose(result.toarray(), by_loops(drawn), rtol=1e-12)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells.chunks, "__defaults__", (7,))
        parts = count_table(source, target, (5, 5))
    np.testing.assert_allclose(parts.toarray(), result.toarray(), rtol=1e-12)


@few
@given(pairs)
def test_every_text_adds_as_much_as_it_has_output_words(drawn):
    table = count_table(*as_tokens(drawn), (5, 5))
    assert table.sum() == pytest.approx(sum(len(y) for _, y in drawn))
    counts = Counter(o for _, y in drawn for o in y)
    np.testing.assert_allclose(table.sum(0), [counts[o] for o in range(5)])


@few
@given(pairs, pairs, st.sampled_from([0.0, 0.5, 3.0]))
def test_beliefs_are_smoothed_translations(seen, query, kappa):
    """The table comes from other pairs than those it is asked of, so that entries are missing."""
    table = by_loops(seen)
    result = translation_probabilities(
        count_table(*as_tokens(seen), (5, 5)), *as_tokens(query), smoothing=kappa
    )
    prior = table.sum(0) / table.sum()
    for n, (x, y) in enumerate(query):
        for t, o in enumerate(y):
            for k, i in enumerate(x):
                total = table[i].sum() + kappa
                expected = (table[i, o] + kappa * prior[o]) / total if total else 0.0
                assert result[n][t, k] == pytest.approx(expected)


@few
@given(pairs)
def test_looking_up_translations_is_beliefs_without_smoothing(drawn):
    source, target = as_tokens(drawn)
    table = count_table(source, target, (5, 5))
    rows = translations(table)
    np.testing.assert_allclose(rows.sum(1)[table.sum(1) > 0], 1)
    np.testing.assert_allclose(
        lookup(rows, source, target).values, translation_probabilities(table, source, target).values
    )


def test_counting_leaves_the_tokens_as_they_were():
    tokens = Tokens(torch.tensor([3, 1, 3, 0, 2]), torch.tensor([0, 3, 5]))
    assert bags(tokens, 4).toarray().tolist() == [[0, 1, 0, 2], [1, 0, 1, 0]]
    assert tokens.ids.tolist() == [3, 1, 3, 0, 2]
    short = Tokens(tokens.ids.int(), tokens.start.int())
    bags(short, 4)
    assert short.ids.tolist() == [3, 1, 3, 0, 2]


def test_ids_beyond_the_table_are_named():
    one = Tokens.of([[0, 7]])
    with pytest.raises(FoveateError, match="from 0 to 4, got 0 to 7"):
        count_table(one, one, (5, 8))
    with pytest.raises(FoveateError, match="got -1 to 0"):
        count_table(Tokens.of([[0, -1]]), one)
    with pytest.raises(FoveateError, match="from 0 to 4, got 0 to 7"):
        lookup(count_table(one, one, (8, 8))[:, :5], one, one)


def test_labels_are_targets_of_one_token():
    source = Tokens.of([[0, 1, 1], [0, 2]])
    table = count_table(source, label_targets(torch.tensor([1, 0])), (3, 2))
    np.testing.assert_allclose(table.toarray(), [[1 / 2, 1 / 3], [0, 2 / 3], [1 / 2, 0]])


def test_permuting_deals_the_same_targets_again():
    target = Tokens.of([[i] * (i + 1) for i in range(20)])
    mixed = permuted(target, 0)
    assert sorted(mixed[i] for i in range(20)) == [target[i] for i in range(20)]
    assert mixed.ids.tolist() != target.ids.tolist()
    assert (
        permuted(target, 0).ids.tolist() == mixed.ids.tolist() != permuted(target, 1).ids.tolist()
    )


@few
@given(pairs)
def test_information_is_the_divergence_from_uniform(drawn):
    source, target = as_tokens(drawn)
    alpha = translation_probabilities(count_table(source, target, (5, 5)), source, target).shares()
    expected = [
        sum(a * np.log(a * len(row)) for a in row if a > 0)
        for i in range(len(alpha))
        for row in alpha[i]
    ]
    np.testing.assert_allclose(information(alpha), expected, atol=1e-12)
    assert by_word(terms(alpha), source, 5).sum() == pytest.approx(np.mean(expected), abs=1e-12)


def test_shared_information_of_a_table_with_itself_is_half_of_chi_squared():
    rng = np.random.default_rng(0)
    source = Tokens.of([[0, 1, 2], [3, 4]])
    near = Tables.of([1 + 0.01 * rng.standard_normal((2, 3)), 1 + 0.01 * rng.random((1, 2))])
    alpha = near.shares()
    result = shared_information(alpha, alpha)
    squares = alpha.filled((alpha.values - alpha.spread(1 / alpha.lengths)) ** 2).sums()
    np.testing.assert_allclose(result, alpha.lengths * squares / 2)
    np.testing.assert_allclose(result, information(alpha), rtol=0.05)
    by_words = by_word(shared_terms(alpha, alpha), source, 5)
    assert by_words.sum() == pytest.approx(result.mean())


@pytest.mark.parametrize(
    ("words", "sets", "informed"), [(40, 1, False), (40, 2, False), (60, 1, True)]
)
def test_permutations_are_uninformative_within_a_sentence(words, sets, informed, rng):
    """A flat table, two flat blocks, and 40 of 60, where copies meet their originals more often."""
    source, target = permutations(500, words, 40, rng, sets)
    size = (words * sets, words * sets)
    two = crossed(source, target, size, 0)
    shared = shared_information(*two).mean()
    plain = information(
        translation_probabilities(count_table(source, target, size), source, target).shares()
    ).mean()
    repeated = fair_agreement(two[0].values, two[1].values, two[0].start).mean()
    level = random_level(two[0].lengths).mean()
    if not informed:
        assert abs(shared) < 1e-12
        assert abs(plain) < 1e-12
        assert repeated == pytest.approx(level)
        return
    assert shared == pytest.approx(0.0031, rel=0.1)
    assert repeated > 0.99
    pretended = permuted(target, 0)
    control = crossed(source, pretended, size, 0)
    flat = translation_probabilities(
        count_table(source, pretended, size), source, pretended
    ).shares()
    assert abs(shared_information(*control).mean()) < 3e-5  # a hundredth of the data's
    assert information(flat).mean() > 2e-4  # where one table alone shows chance as information


def test_the_table_of_a_mixture_is_not_flat(rng):
    source, target = permutations(200, 40, 40, rng, sets=2)
    table = count_table(source, target, (80, 80)).toarray()
    assert table[:40, :40].min() > 1
    assert table[:40, 40:].max() == 0


def test_crossed_tables_exclude_the_pairs_they_measure():
    """One pair alone holds the words 3 and 3; no other pair can vouch for them."""
    source = Tokens.of([[0, 1]] * 8 + [[0, 3]])
    target = Tokens.of([[0, 1]] * 8 + [[0, 3]])
    for alpha in crossed(source, target, (4, 4), 0):
        np.testing.assert_allclose(alpha[8][1], [0.5, 0.5])
    both = crossed(source, target, (4, 4), 0)
    assert not np.array_equal(crossed(source, target, (4, 4), 1)[0].values, both[1].values)


def test_words_that_determine_the_label_are_detected(rng):
    """Word 1 decides the label, words 2, …, 9 do not."""
    y = torch.randint(2, (600,), generator=rng)
    fill = torch.randint(2, 10, (600, 7), generator=rng)
    source = torch.cat([fill, torch.where(y == 1, 1, fill[:, 0])[:, None]], 1)
    tokens = Tokens(source.flatten(), torch.arange(601) * 8)
    two = crossed(tokens, label_targets(y), (10, 2), 0)
    carried = by_word(shared_terms(*two), tokens, 10)
    assert carried.argmax() == 1
    assert carried[1] > 0.8 * carried.sum()
    assert carried[3:].max() < 0.1 * carried[1]
