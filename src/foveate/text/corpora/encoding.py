"""Encoding of texts as ids of the words of the training part."""

from array import array
from collections import defaultdict
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from foveate.errors import FoveateError
from foveate.randomness import generator
from foveate.text.corpora import LabelledTexts, TextsRequest, Words
from foveate.text.tokens import Tokens, Vocabulary

__all__ = ["Collection", "Raw", "held_out", "labelled_texts", "split_off"]


class Collection:
    """Texts as numbers: a word gets the next number at its first occurrence.

    A few bytes per word are stored, not the words themselves, so that large files can be read
    line by line.

    Example:
        >>> texts = Collection()
        >>> for text in ("a b a", "c a", "b b"):
        ...     texts.add(text.split())
        >>> vocabulary, ids = texts.encoded(train=np.array([True, True, False]), least=2)
        >>> vocabulary.words[4:], [ids[i] for i in range(3)]
        (('a',), [[4, 1, 4], [1, 4], [1, 1]])
    """

    def __init__(self) -> None:
        self._number: defaultdict[str, int] = defaultdict()
        self._number.default_factory = self._number.__len__
        self._ids, self._start = array("i"), array("q", [0])

    def add(self, words: Sequence[str]) -> None:
        """Add a text."""
        self._ids.extend(map(self._number.__getitem__, words))
        self._start.append(len(self._ids))

    def __len__(self) -> int:
        return len(self._start) - 1

    def encoded(self, train: NDArray[np.bool_], least: int) -> tuple[Vocabulary, Tokens]:
        """All texts, by the ids of the words that training has ``least`` times.

        Args:
            train: Which texts are for training, shape (n,).
            least: Words seen less often there are unknown.
        """
        start, numbers = np.array(self._start, np.int64), np.array(self._ids, np.int64)
        counts = np.bincount(numbers[np.repeat(train, np.diff(start))], minlength=len(self._number))
        table_of_counts = dict(zip(self._number, counts.tolist(), strict=True))
        vocabulary = Vocabulary.counted(table_of_counts, max(1, least))
        table = np.array(vocabulary.encode(self._number), np.int64)
        return vocabulary, Tokens(torch.from_numpy(table[numbers]), torch.from_numpy(start))


class Raw(NamedTuple):
    """Texts as read, and their labels, shape (n,)."""

    texts: Sequence[str]
    y: NDArray[np.int64]

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> "Raw":
        """The texts at ``rows``."""
        return Raw([self.texts[row] for row in rows], self.y[rows])

    def without(self, texts: AbstractSet[str]) -> "Raw":
        """All texts but those that are among ``texts``.

        Example:
            >>> Raw(["a", "b"], np.array([0, 1])).without({"a"}).texts
            ['b']
        """
        return self.take(
            np.array([k for k, text in enumerate(self.texts) if text not in texts], int)
        )


def held_out(n: int, share: float, *stream: str | int) -> Tensor:
    """Which of n rows are held out: a share of them, drawn at random, shape (n,).

    Example:
        >>> int(held_out(50, 0.1, "doctest").sum())
        5
    """
    if not 0 <= share < 1:
        raise FoveateError(f"the share held out must be from 0 to less than 1, got {share}")
    order = torch.randperm(n, generator=generator(*stream))
    return torch.zeros(n, dtype=torch.bool).index_fill(0, order[: round(share * n)], True)


def split_off(raw: Raw, first: int, *stream: str | int) -> tuple[Raw, Raw]:
    """A random sample of ``first`` texts, and the others."""
    order = torch.randperm(len(raw.texts), generator=generator(*stream)).numpy()
    return raw.take(order[:first]), raw.take(order[first:])


def labelled_texts(
    name: str,
    train: Raw,
    others: Raw,
    request: TextsRequest,
    *,
    classes: tuple[str, ...],
    words: Words,
    keep: Callable[[Sequence[str]], bool] = bool,
    about: str = "",
) -> LabelledTexts:
    """Random samples of training and validation texts, as ids of the words of the training texts.

    A smaller number of texts is the beginning of a larger one, and the validation texts do not
    depend on the number of training texts.

    Args:
        name: Name of the data set, which decides the draw together with the seed.
        train: Texts to sample training texts from.
        others: Texts to sample validation texts from.
        request: How many of each, and the seed.
        classes: Names of the classes.
        words: The tokeniser.
        keep: Which texts are used, by their words; wordless ones never are.
        about: A remark about these texts.
    """
    texts = Collection()

    def draw(raw: Raw, most: int | None, part: str) -> Tensor:
        order = torch.randperm(len(raw.texts), generator=generator(name, part, request.seed))
        chosen: list[int] = []
        for row in order.tolist():
            if len(chosen) == most:
                break
            if (tokens := words(raw.texts[row])) and keep(tokens):
                texts.add(tokens)
                chosen.append(row)
        if not chosen:
            raise FoveateError(f"'{name}' has no {part} text that the rules let through")
        return torch.from_numpy(raw.y[chosen])

    y_train = draw(train, request.train, "train")
    y_validation = draw(others, request.validation, "validation")
    is_train = torch.arange(len(texts)) < len(y_train)
    vocabulary, ids = texts.encoded(is_train.numpy(), request.least)
    return LabelledTexts(
        ids.take(is_train),
        y_train,
        ids.take(~is_train),
        y_validation,
        vocabulary,
        classes,
        words,
        about,
    )
