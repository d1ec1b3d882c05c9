"""Corpora that need no files: keyword sentences and a made-up pair of languages."""

from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from foveate.errors import FoveateError
from foveate.randomness import generator
from foveate.text.corpora import load_pairs, load_texts
from foveate.text.corpora.keywords import KEYWORD, keyword_sentences
from foveate.text.corpora.synthetic_language import ARTICLE, KINDS, PARTICLE, dictionary, sentences


@given(st.integers(0, 40), st.integers(1, 50), st.integers(2, 60), st.integers(0, 5))
def test_a_sentence_is_positive_if_the_keyword_is_in_it(n, length, vocabulary, seed):
    x, y = keyword_sentences(n, generator("test", seed), length, vocabulary)
    assert x.shape == (n, length)
    assert torch.equal((x == KEYWORD).sum(1), y)
    assert int(y.sum()) == n // 2
    if n:
        assert x.min() >= KEYWORD
        assert x.max() < KEYWORD + vocabulary


def test_keywords_are_at_any_position_among_uninformative_words():
    x, y = keyword_sentences(6000, generator("fair"), length=10, vocabulary=12)
    position = (x[y == 1] == KEYWORD).int().argmax(1)
    assert chisquare(torch.bincount(position, minlength=10).numpy()).pvalue > 1e-6
    for label in (0, 1):
        others = x[y == label]
        others = others[others != KEYWORD] - KEYWORD - 1
        assert chisquare(torch.bincount(others, minlength=11).numpy()).pvalue > 1e-6
    assert (x[0] != x[1]).any()


def test_keyword_texts_have_the_published_sizes():
    texts = load_texts("keywords")
    assert texts.counts == {
        "train": 4000,
        "validation": 1000,
        "median length": 40,
        "vocabulary": 44,
    }
    assert texts.vocabulary.words[KEYWORD] == "1"
    assert texts.y_train.sum() == 2000
    has_one = torch.zeros(4000, dtype=torch.int64)
    has_one[texts.train.text[texts.train.ids == KEYWORD]] = 1
    assert torch.equal(has_one, texts.y_train)
    with pytest.raises(FoveateError, match="1 word of 2 at least, got 40 words of 1"):
        keyword_sentences(3, generator("x"), vocabulary=1)


def translated(source: list[str]) -> tuple[list[str], set[tuple[int, int]]]:
    """The rule of the language, said another way: cut into parts of speech, then translate."""
    kind = {word: kind for kind, words in dictionary().items() for word in words}
    meaning = {word: other for words in dictionary().values() for word, other in words.items()}
    target: list[tuple[str, int | None]] = []
    for position, word in enumerate(source):
        if word == ARTICLE:
            continue
        if kind[word] == "noun" and position and kind.get(source[position - 1]) == "adjective":
            target.insert(-1, (meaning[word], position))
        else:
            target.append((meaning[word], position))
        if kind[word] == "verb":
            target.append((PARTICLE, None))
    links = {(position, at) for at, (_, position) in enumerate(target) if position is not None}
    return [word for word, _ in target], links


@settings(max_examples=10)
@given(st.integers(1, 60), st.integers(0, 9))
def test_the_made_up_language_keeps_its_rules(n, seed):
    drawn = sentences(n, generator("test", seed))
    assert len({" ".join(one.source) for one in drawn}) == n
    for one in drawn:
        assert 4 <= len(one.source) <= 9
        target, links = translated(one.source)
        assert one.target == target
        assert set(one.links) == links
        assert len(one.links) == len(links)


def test_the_hidden_dictionary_is_one_to_one_and_pronounceable():
    pairs = [pair for words in dictionary().values() for pair in words.items()]
    assert len(pairs) == sum(KINDS.values()) == 60
    source, target = (set(side) for side in zip(*pairs, strict=True))
    assert len(source) == len(target) == 60
    assert not (source | {ARTICLE}) & (target | {PARTICLE})
    assert all(word[1] in "aeiou" and word[3] in "aeiou" and len(word) == 4 for word in source)


def test_words_follow_zipf():
    drawn = sentences(4000, generator("zipf"))
    counts = Counter(word for one in drawn for word in one.source)
    nouns = [counts[word] for word in dictionary()["noun"]]
    total = sum(1 / rank for rank in range(1, 27))
    share = torch.tensor([1 / rank / total for rank in range(1, 27)]).double()
    # different sentences are drawn, which takes a little from the commonest words
    seen = torch.tensor(nouns).double() / sum(nouns)
    assert (seen - share).abs().max() < 0.02
    assert min(nouns) > 20


def test_made_up_pairs_carry_their_alignments():
    pairs = load_pairs("made-up")
    assert pairs.counts == {
        "train": 4000,
        "validation": 500,
        "test": 500,
        "median source": 7,
        "median target": 6,
        "source vocabulary": 65,
        "target vocabulary": 65,
    }
    parts = (pairs.train, pairs.validation, pairs.test)
    spelt = [
        {tuple(part.source[i]) for i in range(len(part))} for part in parts
    ]  # no sentence is in two parts
    assert len(set.union(*spelt)) == 5000
    for part in parts:
        sure, possible = part.links.sets(len(part))
        assert not any(possible)
        for i in range(0, len(part), 97):
            words = pairs.source_vocabulary.decode(part.source[i])
            target, links = translated(words)
            assert pairs.target_vocabulary.decode(part.target[i]) == target
            assert sure[i] == links


def test_held_out_pairs_do_not_depend_on_the_number_of_training_pairs():
    few, many = load_pairs("made-up", train=50), load_pairs("made-up", train=60)
    assert len(few.train) == 50
    words = [
        [side.decode(part[i]) for i in range(40)]
        for pairs in (few, many)
        for part, side in ((pairs.validation.source, pairs.source_vocabulary),)
    ]
    known = set(few.source_vocabulary.words)
    assert [[w if w in known else "<unk>" for w in row] for row in words[1]] == words[0]
    with pytest.raises(FoveateError, match="between words"):
        load_pairs("made-up", unit="pieces")
