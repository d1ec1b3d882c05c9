"""A small pair of synthetic languages: hidden dictionary, known alignments, nothing to download.

Sentences follow one pattern, NOUN-PHRASE VERB NOUN-PHRASE [PREPOSITION NOUN-PHRASE] [ADVERB], with
NOUN-PHRASE = [article] [adjective] noun, 4 to 9 words. Words of a kind follow Zipf's law. The
translation is decided by the sentence: word for word, but the adjective follows its noun, the
article has no counterpart, and a particle without one precedes the object.
"""

from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
import torch

from foveate.errors import FoveateError
from foveate.io.tokenisation import whitespace_words
from foveate.randomness import generator
from foveate.text.corpora import PAIRS, PairsRequest, SentencePairs
from foveate.text.corpora.links import Links
from foveate.text.corpora.pair_encoding import RawPairs, sentence_pairs

__all__ = ["ARTICLE", "KINDS", "PARTICLE", "Sentence", "dictionary", "made_up", "sentences"]

KINDS = {"noun": 26, "adjective": 12, "verb": 12, "adverb": 6, "preposition": 4}
"""Number of words of each kind, 60 in all."""
ARTICLE, PARTICLE = "ta", "vu"
SHORTEST, LONGEST = 4, 9
OPTIONAL_PROBABILITY = 0.5  # probability of an article, an adjective, a preposition, an adverb
DRAWS, ROUNDS = 17, 50  # random numbers of the longest sentence; retries
TRAIN, HELD_OUT = 4000, 500
ONSETS = ("ptkmnslr", "bdgfvzhj")  # what syllables of each language begin with
VOWELS = "aeiou"


@cache
def dictionary() -> dict[str, dict[str, str]]:
    """Translations of the words of each kind; the same in every run."""
    words_needed = sum(KINDS.values())
    random = generator("made-up", "dictionary")
    source, target = (_draw_words(onsets, words_needed, random) for onsets in ONSETS)
    pairs = iter(zip(source, target, strict=True))
    return {kind: dict(next(pairs) for _ in range(count)) for kind, count in KINDS.items()}


def _draw_words(onsets: str, count: int, random: torch.Generator) -> list[str]:
    """Different words of two syllables, a consonant and a vowel each."""
    syllables = [onset + vowel for onset in onsets for vowel in VOWELS]
    order = torch.randperm(len(syllables) ** 2, generator=random)[:count]
    first, second = order // len(syllables), order % len(syllables)
    return [syllables[i] + syllables[j] for i, j in zip(first, second, strict=True)]


class Sentence(NamedTuple):
    """A sentence, its translation, and the places of words that belong together."""

    source: list[str]
    target: list[str]
    links: list[tuple[int, int]]


def sentences(n: int, random: torch.Generator) -> list[Sentence]:
    """n different sentences.

    Example:
        >>> one = sentences(1, generator("doctest"))[0]
        >>> " ".join(one.source), " ".join(one.target)
        ('tisa laro ta tise tola muki', 'zuzu zefa vu hoba vija fuvi')
    """
    sentences: dict[str, Sentence] = {}
    for _ in range(ROUNDS):
        for row in torch.rand(2 * n, DRAWS, generator=random, dtype=torch.float64).tolist():
            if len(sentences) == n:
                return list(sentences.values())
            one = _sentence(iter(row))
            if SHORTEST <= len(one.source) <= LONGEST:
                sentences.setdefault(" ".join(one.source), one)
    raise FoveateError(f"the made-up language does not have {n:,} different sentences")


def _sentence(draws: Iterator[float]) -> Sentence:
    """The sentence determined by uniform random numbers."""
    sentence = Sentence([], [], [])
    _noun_phrase(sentence, draws)
    _append(sentence, _word("verb", draws))
    sentence.target.append(PARTICLE)
    _noun_phrase(sentence, draws)
    if next(draws) < OPTIONAL_PROBABILITY:
        _append(sentence, _word("preposition", draws))
        _noun_phrase(sentence, draws)
    if next(draws) < OPTIONAL_PROBABILITY:
        _append(sentence, _word("adverb", draws))
    return sentence


def _noun_phrase(sentence: Sentence, draws: Iterator[float]) -> None:
    if next(draws) < OPTIONAL_PROBABILITY:
        sentence.source.append(ARTICLE)
    has_adjective = next(draws) < OPTIONAL_PROBABILITY
    adjective, noun = _word("adjective", draws), _word("noun", draws)
    _append(sentence, adjective, noun) if has_adjective else _append(sentence, noun)


def _append(sentence: Sentence, *words: tuple[str, str]) -> None:
    """Append words, and their translations the other way round."""
    i, j, last = len(sentence.source), len(sentence.target), len(words) - 1
    sentence.source.extend(word for word, _ in words)
    sentence.target.extend(translation for _, translation in reversed(words))
    sentence.links.extend((i + offset, j + last - offset) for offset in range(len(words)))


def _word(kind: str, draws: Iterator[float]) -> tuple[str, str]:
    """A word of a kind and its translation, the r-th with probability in proportion to 1/r."""
    words, chances = _zipf(kind)
    return words[bisect_right(chances, next(draws))]


@cache
def _zipf(kind: str) -> tuple[list[tuple[str, str]], list[float]]:
    share = 1 / np.arange(1, KINDS[kind] + 1)
    return list(dictionary()[kind].items()), (share.cumsum() / share.sum())[:-1].tolist()


@PAIRS.register("made-up")
def made_up(request: PairsRequest) -> SentencePairs:
    """4,000 training pairs by default, 500 and 500 held out; no sentence occurs twice."""
    train = request.train or TRAIN
    # Held-out sentences come first, so that they do not depend on the number of the others.
    generated = sentences(2 * HELD_OUT + train, generator("made-up", "sentences", request.seed))
    cuts = {
        "train": generated[2 * HELD_OUT :],
        "validation": generated[:HELD_OUT],
        "test": generated[HELD_OUT : 2 * HELD_OUT],
    }
    parts = {
        name: RawPairs(
            [one.source for one in part],
            [one.target for one in part],
            Links.of(one.links for one in part),
        )
        for name, part in cuts.items()
    }
    return sentence_pairs("made-up", parts, request, unit="words", words=whitespace_words)
