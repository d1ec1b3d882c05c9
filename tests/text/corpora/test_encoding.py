"""From texts to ids: what decides the draw, and what the vocabulary may see."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from foveate.errors import FoveateError
from foveate.io.tokenisation import whitespace_words
from foveate.text.corpora import LabelledTexts, Links, Pairs, TextsRequest
from foveate.text.corpora.encoding import Collection, Raw, held_out, labelled_texts, split_off
from foveate.text.tokens import Tokens, Vocabulary

rows = st.lists(
    st.lists(st.sampled_from(["a", "b", "c", "d", "<unk>", "</s>"]), min_size=1, max_size=6),
    min_size=1,
    max_size=8,
)


@given(rows, st.integers(1, 3), st.data())
def test_a_collection_encodes_as_a_vocabulary_would(rows, least, data):
    train = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    texts = Collection()
    for row in rows:
        texts.add(row)
    vocabulary, ids = texts.encoded(np.array(train), least)
    slow = Vocabulary.of([row for row, keep in zip(rows, train, strict=True) if keep], least)
    assert vocabulary.words == slow.words
    assert [ids[i] for i in range(len(rows))] == [slow.encode(row) for row in rows]


def texts_request(
    train: int | None = None, validation: int = 9, seed: int = 0, **more
) -> LabelledTexts:
    raw = Raw([f"t{i} same word{i % 3}" for i in range(20)], np.arange(20) % 2)
    other = Raw([f"t{i} same unseen{i}" for i in range(20, 40)], np.arange(20) % 2)
    expected = TextsRequest(train, validation, seed, least=1)
    return labelled_texts(
        "test", raw, other, expected, classes=("even", "odd"), words=whitespace_words, **more
    )


def first_words(texts: LabelledTexts, part: Tokens) -> list[str]:
    return [texts.vocabulary.words[part[i][0]] for i in range(len(part))]


def test_words_are_those_of_the_training_texts():
    texts = texts_request(train=5)
    seen = {word for i in range(5) for word in texts.vocabulary.decode(texts.train[i])}
    assert set(texts.vocabulary.words[4:]) == seen
    assert "<unk>" not in seen
    assert set(first_words(texts, texts.validation)) == {"<unk>"}
    assert texts.counts == {
        "train": 5,
        "validation": 9,
        "median length": 3,
        "vocabulary": len(seen) + 4,
    }


def test_labels_stay_with_their_texts():
    texts = texts_request(keep=lambda words: words[-1] != "word2")
    names = first_words(texts, texts.train)
    assert sorted(names) == sorted(f"t{i}" for i in range(20) if i % 3 != 2)
    assert [int(name[1:]) % 2 for name in names] == texts.y_train.tolist()


def test_a_smaller_draw_is_the_beginning_of_a_larger_one():
    few, many = texts_request(train=4), texts_request(train=11)
    assert first_words(few, few.train) == first_words(many, many.train)[:4]
    assert torch.equal(few.y_validation, many.y_validation)
    less = texts_request(train=4, validation=3)
    assert torch.equal(less.y_validation, few.y_validation[:3])


def test_the_seed_decides_who_is_drawn():
    draws = {seed: texts_request(train=8, seed=seed) for seed in (0, 1)}
    assert first_words(draws[0], draws[0].train) != first_words(draws[1], draws[1].train)
    again = texts_request(train=8)
    assert first_words(again, again.train) == first_words(draws[0], draws[0].train)
    sides = [split_off(Raw(list("abcdefgh"), np.arange(8)), 3, "test", seed) for seed in (0, 0, 1)]
    assert sides[0][0].texts == sides[1][0].texts != sides[2][0].texts
    for one, other in sides:
        assert len(one.texts) == 3
        assert sorted([*one.texts, *other.texts]) == list("abcdefgh")
        assert [ord(text) - ord("a") for text in one.texts] == one.y.tolist()


def test_removing_every_class_is_an_error():
    with pytest.raises(FoveateError, match="'test' has no train text"):
        texts_request(keep=lambda words: False)
    with pytest.raises(FoveateError, match="validation must be at least 1, got 0"):
        texts_request(validation=0)
    for share in (-0.1, 1.0):
        with pytest.raises(FoveateError, match="share held out"):
            held_out(5, share, "test")


def test_parts_must_fit_together():
    two, vocabulary = Tokens.of([[4], [4, 4]]), Vocabulary(["a"])
    y = torch.tensor([0, 1])
    for labels, why in ((y[:1], "2 texts need as many labels"), (y + 1, "labels must be 0 to 1")):
        with pytest.raises(FoveateError, match=why):
            LabelledTexts(two, labels, two, y, vocabulary, ("a", "b"), whitespace_words)
    with pytest.raises(FoveateError, match="2 source and 1 target"):
        Pairs(two, two.take(torch.tensor([0])))
    assert len(Pairs(two, two, Links.of([[(0, 0)], [(1, 1)]]))) == 2
    for sure in ([[(1, 0)]], [[], [(1, 2)]], [[], [], [(0, 0)]], [[(-1, 0)]]):
        with pytest.raises(FoveateError, match="outside its sentences"):
            Pairs(two, two, Links.of(sure))
    with pytest.raises(FoveateError, match="rows of three"):
        Pairs(two, two, Links(np.zeros((2, 2), np.int64), np.zeros((0, 3), np.int64)))


@given(st.permutations(range(4)), st.integers(0, 4))
def test_links_move_with_their_pairs(order, count):
    sure = [[(0, 0)], [(1, 2), (0, 1)], [], [(3, 3)]]
    possible = [[(5, 5)], [], [(2, 2)], []]
    chosen = np.array(order[:count], np.int64)
    taken = Links.of(sure, possible).take(chosen, 4).sets(count)
    assert taken == (
        [set(sure[i]) for i in chosen],
        [set(possible[i]) for i in chosen],
    )


def test_pairs_are_taken_by_number_or_by_mask():
    side = Tokens.of([[4], [5, 5], [6]])
    pairs = Pairs(side, side, Links.of([[(0, 0)], [(1, 0)], [(0, 0)]]))
    for rows in (torch.tensor([1, 2]), torch.tensor([False, True, True])):
        taken = pairs.take(rows)
        assert [taken.source[i] for i in range(2)] == [[5, 5], [6]]
        assert taken.links.sure.tolist() == [[0, 1, 0], [1, 0, 0]]
    assert pairs.lengths.tolist() == [[1, 1], [2, 2], [1, 1]]
