"""Tokens: texts as ids, stored without padding; vocabularies; batches by similar length."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, takewhile

import numpy as np
import torch
from torch import Tensor

from foveate.errors import FoveateError
from foveate.randomness import generator as named

__all__ = [
    "END",
    "MARKS",
    "PAD",
    "START",
    "UNKNOWN",
    "Epochs",
    "Tokens",
    "Vocabulary",
    "batches",
    "truncate",
]

PAD, UNKNOWN, START, END = 0, 1, 2, 3
MARKS = ("<pad>", "<unk>", "<s>", "</s>")
"""The first ids of every vocabulary, in this order."""


@dataclass(frozen=True)
class Tokens:
    """n texts of token ids, concatenated.

    Args:
        ids: All tokens, shape (N,), integers.
        start: Where each text begins, and N at the end, shape (n + 1,).

    Example:
        >>> tokens = Tokens.of([[5, 6, 7], [8]])
        >>> tokens.padded(torch.tensor([1, 0]))[0].tolist()
        [[8, 0, 0], [5, 6, 7]]
    """

    ids: Tensor
    start: Tensor

    def __post_init__(self) -> None:
        if self.start.dim() != 1 or not len(self.start) or int(self.start[0]) != 0:
            raise FoveateError("start must be a row of places that begins with 0")
        if int(self.start[-1]) != len(self.ids) or bool((self.lengths < 1).any()):
            short = (self.lengths < 1).nonzero()
            where = f"text {int(short[0])} has none" if len(short) else "the last place is wrong"
            raise FoveateError(f"every text needs a token: {where}")

    @classmethod
    def of(cls, texts: Iterable[Sequence[int]]) -> "Tokens":
        """Tokens of texts given as lists of ids."""
        rows = list(texts)
        start = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        ids = np.fromiter(chain.from_iterable(rows), np.int64, int(start[-1]))
        return cls(torch.from_numpy(ids), torch.from_numpy(start))

    def __len__(self) -> int:
        return len(self.start) - 1

    @cached_property
    def lengths(self) -> Tensor:
        """Number of tokens of each text, shape (n,)."""
        return self.start.diff()

    @cached_property
    def text(self) -> Tensor:
        """The text each token belongs to, shape (N,)."""
        return torch.arange(len(self)).repeat_interleave(self.lengths)

    def __getitem__(self, i: int) -> list[int]:
        """The ids of text ``i``, counted from the end where it is negative."""
        begin = int(self.start[:-1][i])
        return self.ids[begin : begin + int(self.lengths[i])].tolist()

    def take(self, rows: Tensor) -> "Tokens":
        """The texts at ``rows``, numbers or a mask."""
        lengths = self.lengths[rows]
        start = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
        within = torch.arange(int(start[-1])) - start[:-1].repeat_interleave(lengths)
        begin = self.start[:-1][rows].repeat_interleave(lengths)
        return Tokens(self.ids[begin + within], start)

    def padded(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Ids (B, L) of the texts at ``rows``, filled up with PAD, and the mask of real tokens."""
        lengths = self.lengths[rows]
        position = torch.arange(int(lengths.max()))
        mask = position < lengths[:, None]
        index = torch.where(mask, self.start[:-1][rows][:, None] + position, 0)
        return torch.where(mask, self.ids[index], PAD), mask


class Vocabulary:
    """Words and their ids: the four marks first, then the words.

    Args:
        words: The words in order of their ids, without the marks.
        space: The symbol of a space where words are pieces of text; None where they
            are complete words.

    Example:
        >>> vocabulary = Vocabulary.of([["a", "b", "a"], ["a"]], least=2)
        >>> vocabulary.encode(["b", "a"]), len(vocabulary)
        ([1, 4], 5)
    """

    def __init__(self, words: Iterable[str], space: str | None = None) -> None:
        self.words = (*MARKS, *words)
        self.space = space
        self._ids = {word: i for i, word in enumerate(self.words)}
        if len(self._ids) < len(self.words):
            duplicate = next(word for i, word in enumerate(self.words) if self._ids[word] != i)
            raise FoveateError(
                f"words must differ from each other and the marks: '{duplicate}' twice"
            )
        # A text that contains a mark literally must not end or pad itself.
        for mark in (PAD, START, END):
            del self._ids[MARKS[mark]]

    @classmethod
    def of(cls, texts: Iterable[Iterable[str]], least: int = 1) -> "Vocabulary":
        """The words seen at least ``least`` times: by falling frequency, then alphabetically."""
        return cls.counted(Counter(chain.from_iterable(texts)), least)

    @classmethod
    def counted(cls, counts: Mapping[str, int], least: int = 1) -> "Vocabulary":
        """The words of a table of counts, in the same order."""
        frequent = (word for word, count in counts.items() if count >= least and word not in MARKS)
        return cls(sorted(frequent, key=lambda word: (-counts[word], word)))

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, text: Iterable[str]) -> list[int]:
        """Ids of the words of a text, UNKNOWN where a word is not in the vocabulary."""
        return [self._ids.get(word, UNKNOWN) for word in text]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """The words with these ids."""
        return [self.words[i] for i in ids]

    def text(self, ids: Iterable[int]) -> str:
        """The text that ``ids`` spell: up to END, without the other marks, UNKNOWN aside.

        Example:
            >>> Vocabulary(["_a", "_b", "c"], space="_").text([2, 4, 5, 6, 1, 3, 4])
            'a bc<unk>'
        """
        until_end = takewhile(lambda i: i != END, ids)
        words = self.decode(i for i in until_end if i not in (PAD, START))
        if self.space is None:
            return " ".join(words)
        return "".join(words).replace(self.space, " ").strip()


def truncate(tokens: Tokens, longest: int | None) -> Tokens:
    """The first ``longest`` words of every text.

    Example:
        >>> truncate(Tokens.of([[4, 5, 6], [7]]), 2).ids.tolist()
        [4, 5, 7]
    """
    if longest is None:
        return tokens
    position = torch.arange(len(tokens.ids)) - tokens.start[tokens.text]
    lengths = tokens.lengths.clamp(max=longest)
    start = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    return Tokens(tokens.ids[position < longest], start)


def batches(lengths: Tensor, size: int, generator: torch.Generator | None) -> list[Tensor]:
    """Rows of texts in batches of ``size``, similar lengths together, so that little is padded.

    Rows are shuffled, pools of many batches sorted by length and cut, the batches shuffled again:
    the order is random at both levels, and padding stays small.

    Args:
        lengths: Number of tokens of each text, shape (n,); (n, k) sorts by the first, then the
            others (source and target).
        size: Texts per batch; the last may be smaller.
        generator: Decides the order; None keeps texts and batches in order of their lengths.

    Returns:
        Rows of each batch; together they are all rows, once.
    """
    if size < 1:
        raise FoveateError(f"a batch must have at least one text, got {size}")
    key = lengths.double() if lengths.dim() == 1 else _by_columns(lengths)
    if generator is None:
        return list(key.argsort(stable=True).split(size))
    order = torch.randperm(len(lengths), generator=generator)
    sorted_pools = [pool[key[pool].argsort(stable=True)] for pool in order.split(size * POOL)]
    cut = [batch for pool in sorted_pools for batch in pool.split(size)]
    return [cut[i] for i in torch.randperm(len(cut), generator=generator).tolist()]


POOL = 100  # batches sorted together


class Epochs:
    """The rows of every step, determined by name and step: shuffled epochs, one after another.

    A training can therefore be resumed at any step.

    Args:
        lengths: Number of tokens of each text, shape (n,) or (n, k), as for :func:`batches`.
        size: Texts per step.
        name: Name of the random stream.
    """

    def __init__(self, lengths: Tensor, size: int, *name: str | int) -> None:
        self.lengths, self.size, self.name = lengths, size, name
        self._epoch, self._order = -1, list[Tensor]()

    @property
    def per_epoch(self) -> int:
        """Steps that go once through the texts."""
        return -(-len(self.lengths) // self.size)

    def rows(self, step: int) -> Tensor:
        """The texts of step 1, 2, …"""
        epoch, position = divmod(step - 1, self.per_epoch)
        if epoch != self._epoch:
            self._order = batches(self.lengths, self.size, named(*self.name, epoch))
            self._epoch = epoch
        return self._order[position]


def _by_columns(lengths: Tensor) -> Tensor:
    """One number per row that sorts like the row's columns, first to last."""
    key = lengths[:, 0].double()
    for column in lengths.T[1:]:
        key = key * (int(column.max()) + 1) + column
    return key
