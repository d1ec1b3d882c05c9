"""Encoding of sentence pairs as ids of words or of shared pieces."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from foveate.errors import FoveateError
from foveate.randomness import generator
from foveate.text.corpora import Pairs, PairsRequest, SentencePairs, Unit, Words
from foveate.text.corpora.encoding import Collection, held_out
from foveate.text.corpora.links import Links
from foveate.text.corpora.pieces import in_pieces
from foveate.text.tokens import MARKS, UNKNOWN, Tokens

__all__ = ["PARTS", "RawPairs", "parted_pairs", "sentence_pairs"]

PARTS = ("train", "validation", "test")


class RawPairs(NamedTuple):
    """Sentences and translations as read: texts, or lists of words if there are links."""

    source: Sequence[Any]
    target: Sequence[Any]
    links: Links | None = None

    def take(self, rows: Tensor) -> "RawPairs":
        """The pairs at ``rows``, each once."""
        links = None if self.links is None else self.links.take(rows.numpy(), len(self.source))
        source, target = ([side[row] for row in rows.tolist()] for side in self[:2])
        return RawPairs(source, target, links)


NONE = RawPairs((), ())


def parted_pairs(raw: RawPairs, share: float, *stream: str | int) -> dict[str, RawPairs]:
    """Training pairs and a random share of validation pairs, both in their original order."""
    validation = held_out(len(raw.source), share, *stream)
    rows = torch.arange(len(validation))
    return {"train": raw.take(rows[~validation]), "validation": raw.take(rows[validation])}


def sentence_pairs(
    name: str,
    parts: Mapping[str, RawPairs],
    request: PairsRequest,
    *,
    unit: Unit,
    words: Words,
    read_all: bool = False,
    about: str = "",
) -> SentencePairs:
    """Pairs as ids of the words, or of the shared pieces, of the training pairs.

    Args:
        name: Name of the data set, which decides the draw together with the seed.
        parts: Pairs of each part there is; pairs with an empty side are left out.
        request: How many training pairs, in which units.
        unit: The default unit.
        words: The tokeniser, where the unit is words.
        read_all: Whether the vocabulary is of all parts, which is fair where links are all that
            is scored and all text may be read.
        about: A remark about these pairs.
    """
    raw = {part: _with_words(parts.get(part, NONE)) for part in PARTS}
    if request.train is not None:
        stream = generator(name, "train", request.seed)
        order = torch.randperm(len(raw["train"].source), generator=stream)
        raw["train"] = raw["train"].take(order[: request.train].sort().values)
    if not len(raw["train"].source):
        raise FoveateError(f"'{name}' has no training pairs")
    if (request.unit or unit) == "words":
        return _by_words([*raw.values()], request.least, words, read_all, about)
    if any(pairs.links is not None for pairs in parts.values()):
        raise FoveateError(f"the links of '{name}' are between words: ask for the unit 'words'")
    return _by_pieces([*raw.values()], request.pieces, about)


def _by_words(
    raw: Sequence[RawPairs], least: int, words: Words, read_all: bool, about: str
) -> SentencePairs:
    sides = Collection(), Collection()
    for pairs in raw:
        for side, sentences in zip(sides, pairs[:2], strict=True):
            for sentence in sentences:
                side.add(words(sentence) if isinstance(sentence, str) else _lowercase(sentence))
    counts = [len(pairs.source) for pairs in raw]
    train = np.arange(sum(counts)) < (sum(counts) if read_all else counts[0])
    (source_vocabulary, source), (target_vocabulary, target) = (
        side.encoded(train, least) for side in sides
    )
    tokens = _as_pairs(raw, _sliced(source, counts), _sliced(target, counts))
    return SentencePairs(*tokens, source_vocabulary, target_vocabulary, words, words, about)


def _by_pieces(raw: Sequence[RawPairs], size: int, about: str) -> SentencePairs:
    texts = [text for pairs in raw for side in pairs[:2] for text in side]
    pieces, ids = in_pieces(texts, 2 * len(raw[0].source), size)
    sides = _sliced(ids, [len(side) for pairs in raw for side in pairs[:2]])
    tokens = _as_pairs(raw, sides[::2], sides[1::2])
    shared = pieces.vocabulary
    return SentencePairs(*tokens, shared, shared, pieces.words, pieces.words, about)


def _with_words(raw: RawPairs) -> RawPairs:
    """The pairs without an empty side."""

    def has_words(sentence: Any) -> bool:
        return bool(sentence.strip() if isinstance(sentence, str) else sentence)

    not_empty = [has_words(a) and has_words(b) for a, b in zip(raw.source, raw.target, strict=True)]
    return raw if all(not_empty) else raw.take(torch.tensor(not_empty).nonzero().squeeze(1))


def _lowercase(words: Sequence[str]) -> list[str]:
    """Words in lower case; empty words remain, because links refer to positions."""
    return [word.lower() or MARKS[UNKNOWN] for word in words]


def _sliced(tokens: Tokens, counts: Sequence[int]) -> list[Tokens]:
    return [tokens.take(rows) for rows in torch.arange(len(tokens)).split(list(counts))]


def _as_pairs(
    raw: Sequence[RawPairs], source: Sequence[Tokens], target: Sequence[Tokens]
) -> tuple[Pairs, Pairs, Pairs]:
    links = (pairs.links for pairs in raw)
    train, validation, test = map(Pairs, source, target, links)
    return train, validation, test
