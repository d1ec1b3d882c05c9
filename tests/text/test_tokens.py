"""Texts without padding, vocabularies, batches of like length."""

from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from foveate.errors import FoveateError
from foveate.randomness import generator
from foveate.text.tokens import END, MARKS, PAD, START, UNKNOWN, Tokens, Vocabulary, batches

texts = st.lists(st.lists(st.integers(1, 99), min_size=1, max_size=7), min_size=1, max_size=9)


@given(texts, st.data())
def test_texts_round_trip(rows, data):
    tokens = Tokens.of(rows)
    assert len(tokens) == len(rows)
    assert [tokens[i] for i in range(len(rows))] == rows
    assert [tokens[i - len(rows)] for i in range(len(rows))] == rows
    assert tokens.lengths.tolist() == [len(row) for row in rows]
    assert tokens.text.tolist() == [i for i, row in enumerate(rows) for _ in row]
    chosen = data.draw(st.lists(st.integers(-len(rows), len(rows) - 1), max_size=5))
    taken = tokens.take(torch.tensor(chosen, dtype=torch.int64))
    assert [taken[i] for i in range(len(taken))] == [rows[i] for i in chosen]
    mask = torch.tensor(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))))
    subset = tokens.take(mask)
    selected_rows = [row for row, keep in zip(rows, mask.tolist(), strict=True) if keep]
    assert [subset[i] for i in range(len(subset))] == selected_rows


@given(texts, st.data())
def test_padding_surrounds_the_texts_and_nothing_else(rows, data):
    chosen = data.draw(st.lists(st.integers(-len(rows), len(rows) - 1), min_size=1, max_size=5))
    ids, mask = Tokens.of(rows).padded(torch.tensor(chosen))
    longest = max(len(rows[i]) for i in chosen)
    assert ids.tolist() == [rows[i] + [PAD] * (longest - len(rows[i])) for i in chosen]
    real = [[k < len(rows[i]) for k in range(longest)] for i in chosen]
    assert mask.tolist() == real


@pytest.mark.parametrize(
    ("ids", "start", "why"),
    [
        ([4, 5], [0, 1, 1, 2], "text 1 has none"),
        ([4, 5], [0, 1], "last place is wrong"),
        ([4, 5], [1, 2], "begins with 0"),
        ([], [], "begins with 0"),
    ],
)
def test_what_is_no_row_of_texts_is_refused(ids, start, why):
    with pytest.raises(FoveateError, match=why):
        Tokens(torch.tensor(ids), torch.tensor(start))


words = st.lists(st.lists(st.sampled_from(["a", "b", "c", "<s>", "é"]), max_size=6), max_size=6)


@given(words, st.integers(1, 4))
def test_frequent_words_come_first_and_rare_ones_are_unknown(rows, least):
    vocabulary = Vocabulary.of(rows, least)
    counts = Counter(word for row in rows for word in row if word != "<s>")
    subset = [word for word, count in counts.items() if count >= least]
    assert vocabulary.words[:4] == MARKS
    assert list(vocabulary.words[4:]) == sorted(subset, key=lambda word: (-counts[word], word))
    for row in rows:
        back = vocabulary.decode(vocabulary.encode(row))
        assert back == [word if word in subset else "<unk>" for word in row]


def test_a_text_cannot_spell_a_mark():
    vocabulary = Vocabulary(["a"])
    assert vocabulary.encode([*MARKS, "a"]) == [UNKNOWN] * 4 + [4]
    for odd in (["a", "b", "a"], ["<pad>"]):
        with pytest.raises(FoveateError, match="must differ"):
            Vocabulary(odd)


def test_the_text_ends_where_the_end_is():
    whole = Vocabulary(["the", "end"])
    assert whole.text([START, 4, 5, PAD, UNKNOWN, END, 4, PAD]) == "the end <unk>"
    pieces = Vocabulary(["▁the", "▁e", "nd", "."], space="▁")
    assert pieces.text([4, 5, 6, 7]) == "the end."


lengths = st.lists(st.integers(1, 50), min_size=1, max_size=60).map(torch.tensor)


@given(lengths, st.integers(1, 9), st.booleans())
def test_batches_hold_every_row_once(lengths, size, shuffled):
    cut = batches(lengths, size, generator("test") if shuffled else None)
    assert sorted(torch.cat(cut).tolist()) == list(range(len(lengths)))
    assert sorted(map(len, cut))[1:] == [size] * (len(cut) - 1)
    for batch in cut:
        assert lengths[batch].diff().min() >= 0 if len(batch) > 1 else True
    if not shuffled:
        assert torch.equal(lengths[torch.cat(cut)], lengths.sort().values)


def test_batches_of_pairs_sort_by_the_first_column_then_the_second():
    pairs = torch.tensor([[2, 9], [1, 5], [2, 3], [1, 7], [1, 2]])
    assert [batch.tolist() for batch in batches(pairs, 2, None)] == [[4, 1], [3, 2], [0]]


def test_the_generator_alone_decides_the_batches():
    lengths = torch.randint(1, 99, (5000,), generator=generator("lengths"))  # several pools
    first, again, other = (batches(lengths, 8, generator("order", i)) for i in (0, 0, 1))
    assert sorted(torch.cat(first).tolist()) == list(range(5000))
    assert all(map(torch.equal, first, again))
    assert not all(map(torch.equal, first, other))
    # Different batches, not only in another order: what stands together changes too.
    assert {frozenset(b.tolist()) for b in first} != {frozenset(b.tolist()) for b in other}


def test_batches_of_nothing_are_refused():
    with pytest.raises(FoveateError, match="must have at least one text, got 0"):
        batches(torch.tensor([3]), 0, None)
