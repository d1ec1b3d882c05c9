"""Text data sets: labelled texts and sentence pairs, one file each, found by name.

A file dropped into this folder enters a function into :data:`TEXTS` or :data:`PAIRS`. The seed
alone decides which texts are drawn and split how; the training part decides the vocabulary.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from foveate.errors import FoveateError
from foveate.registry import Registry
from foveate.text.corpora.links import Links
from foveate.text.tokens import Tokens, Vocabulary

__all__ = [
    "PAIRS",
    "TEXTS",
    "LabelledTexts",
    "Links",
    "Pairs",
    "PairsRequest",
    "SentencePairs",
    "TextsRequest",
    "Unit",
    "Words",
    "load_pairs",
    "load_texts",
]

Unit = Literal["pieces", "words"]
Words = Callable[[str], list[str]]
"""The tokeniser: a new text is encoded by ``vocabulary.encode(words(text))``."""


@dataclass(frozen=True)
class LabelledTexts:
    """Texts of C classes, to learn from and to validate on.

    Args:
        train: Training texts.
        y_train: Their labels 0 … C−1, shape (n,).
        validation: Held-out texts, none where the source has not been split.
        y_validation: Their labels.
        vocabulary: Words of the training texts.
        classes: Names of the classes.
        words: The tokeniser.
        about: Which part of the data set these texts are, if not all.
    """

    train: Tokens
    y_train: Tensor
    validation: Tokens
    y_validation: Tensor
    vocabulary: Vocabulary
    classes: tuple[str, ...]
    words: Words = field(repr=False, compare=False)
    about: str = ""

    def __post_init__(self) -> None:
        for part, texts, y in (
            ("train", self.train, self.y_train),
            ("validation", self.validation, self.y_validation),
        ):
            if tuple(y.shape) != (len(texts),):
                raise FoveateError(f"{part}: {len(texts)} texts need as many labels, got {len(y)}")
            if len(y) and not 0 <= int(y.min()) <= int(y.max()) < len(self.classes):
                raise FoveateError(f"{part}: labels must be 0 to {len(self.classes) - 1}")

    @property
    def counts(self) -> dict[str, int]:
        """Sizes: training and validation texts, median training length, vocabulary."""
        return {
            "train": len(self.train),
            "validation": len(self.validation),
            "median length": int(self.train.lengths.median()),
            "vocabulary": len(self.vocabulary),
        }


@dataclass(frozen=True)
class Pairs:
    """n sentences and their translations, without marks of start and end.

    Args:
        source: Sentences.
        target: Translations, row by row.
        links: Which words belong together, where that is known.
    """

    source: Tokens
    target: Tokens
    links: Links | None = None

    def __post_init__(self) -> None:
        if len(self.source) != len(self.target):
            sizes = f"{len(self.source)} source and {len(self.target)} target sentences"
            raise FoveateError(f"sentences must come in pairs, got {sizes}")
        if self.links is not None:
            self.links.must_fit(self.source.lengths.numpy(), self.target.lengths.numpy())

    def __len__(self) -> int:
        return len(self.source)

    @property
    def lengths(self) -> Tensor:
        """Words of each sentence and its translation, shape (n, 2), by which batches are formed."""
        return torch.stack([self.source.lengths, self.target.lengths], 1)

    def take(self, rows: Tensor) -> "Pairs":
        """The pairs at ``rows`` (numbers, each once, or a mask)."""
        rows = rows.nonzero().squeeze(1) if rows.dtype == torch.bool else rows
        links = None if self.links is None else self.links.take(rows.numpy(), len(self))
        return Pairs(self.source.take(rows), self.target.take(rows), links)


@dataclass(frozen=True)
class SentencePairs:
    """Sentence pairs in three parts; a part that a source lacks is empty.

    Args:
        train: Training pairs.
        validation: Validation pairs.
        test: Test pairs.
        source_vocabulary: Words of the source sentences.
        target_vocabulary: Words of the target sentences; the same object where pieces are shared.
        source_words: How a source sentence became words.
        target_words: How a target sentence became words.
        about: Which part of the data set these pairs are, if not all.
    """

    train: Pairs
    validation: Pairs
    test: Pairs
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    source_words: Words = field(repr=False, compare=False)
    target_words: Words = field(repr=False, compare=False)
    about: str = ""

    @property
    def counts(self) -> dict[str, int]:
        """Sizes: pairs of each part, median training lengths, vocabularies."""
        return {
            "train": len(self.train),
            "validation": len(self.validation),
            "test": len(self.test),
            "median source": int(self.train.source.lengths.median()),
            "median target": int(self.train.target.lengths.median()),
            "source vocabulary": len(self.source_vocabulary),
            "target vocabulary": len(self.target_vocabulary),
        }


@dataclass(frozen=True)
class TextsRequest:
    """Which part of a labelled set to load.

    Args:
        train: At most so many training texts; None for all.
        validation: At most so many validation texts. [snell21] A.8: 4,000
        seed: Decides which, and the split where the source has none.
        least: Words seen less often in training are unknown. [snell21] A.8: 3
    """

    train: int | None = None
    validation: int = 4000
    seed: int = 0
    least: int = 3

    def __post_init__(self) -> None:
        _at_least_one(train=self.train, validation=self.validation, least=self.least)


@dataclass(frozen=True)
class PairsRequest:
    """Which part of a set of sentence pairs to load, in which units.

    Args:
        unit: Shared ``pieces`` or lower-cased ``words``; None for what the set is made for.
        train: At most so many training pairs; None for all.
        seed: Decides which, and the split where the source has none.
        pieces: Size of the shared vocabulary of pieces, marks included. [snell21] A.8: 8,000
        least: Words seen less often in training are unknown.
    """

    unit: Unit | None = None
    train: int | None = None
    seed: int = 0
    pieces: int = 8000
    least: int = 1

    def __post_init__(self) -> None:
        _at_least_one(train=self.train, pieces=self.pieces, least=self.least)
        if self.unit not in (None, "pieces", "words"):
            raise FoveateError(f"a unit is 'pieces' or 'words', got '{self.unit}'")


TEXTS: Registry[Callable[[TextsRequest], LabelledTexts]] = Registry(
    "set of labelled texts", package="foveate.text.corpora"
)
PAIRS: Registry[Callable[[PairsRequest], SentencePairs]] = Registry(
    "set of sentence pairs", package="foveate.text.corpora"
)


def load_texts(
    name: str, *, train: int | None = None, validation: int = 4000, seed: int = 0, least: int = 3
) -> LabelledTexts:
    """Labelled texts by name; see :class:`TextsRequest`.

    Example:
        >>> texts = load_texts("keywords", train=100, validation=50)
        >>> texts.counts
        {'train': 100, 'validation': 50, 'median length': 40, 'vocabulary': 44}
    """
    return TEXTS.get(name)(TextsRequest(train, validation, seed, least))


def load_pairs(
    name: str,
    *,
    unit: Unit | None = None,
    train: int | None = None,
    seed: int = 0,
    pieces: int = 8000,
    least: int = 1,
) -> SentencePairs:
    """Sentence pairs by name; see :class:`PairsRequest`.

    Example:
        >>> pairs = load_pairs("made-up", train=100)
        >>> len(pairs.train), pairs.train.links is None
        (100, False)
    """
    return PAIRS.get(name)(PairsRequest(unit, train, seed, pieces, least))


def _at_least_one(**counts: int | None) -> None:
    for name, count in counts.items():
        if count is not None and count < 1:
            raise FoveateError(f"{name} must be at least 1, got {count}")
