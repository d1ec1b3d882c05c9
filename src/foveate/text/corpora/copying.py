"""Copy tasks: input sequences without repeated words, and their output sequences.

[snell21] Sec. 3.3 and 6.2. Every output has the same words as its input; what the tasks differ in
is whether co-occurrence determines which input word an output word came from.
"""

from typing import Literal, get_args

import torch
from torch import Tensor

from foveate.errors import FoveateError
from foveate.randomness import generator as named
from foveate.text.tokens import MARKS, Vocabulary

__all__ = ["KINDS", "Kind", "copying", "fixed_permutation", "numerals", "word_count"]

Kind = Literal["permutation", "subset", "mixture", "permutation-function"]
KINDS: tuple[Kind, ...] = get_args(Kind)


def copying(
    kind: str, n: int, generator: torch.Generator, length: int = 40, *, pi_seed: int = 0
) -> tuple[Tensor, Tensor]:
    """Inputs x and outputs y of n fresh sequences; word w = 1, 2, … has the id 3 + w.

    ``permutation``: x is a permutation of the words 1 … L, y = x; every pair has the same words,
    so co-occurrence is uninformative. ``subset``: L words drawn without replacement from 3L/2 (40
    of 60), y = x. ``mixture``: a permutation of 1 … L or, with probability ½, of L + 1 … 2L, y = x.
    ``permutation-function``: x as in ``subset``, y_t = x_{π(t)} with one fixed π.

    Args:
        kind: One of the four.
        n: Number of sequences.
        generator: Decides the inputs.
        length: Words per sequence, L.
        pi_seed: Decides π, whatever the inputs.

    Returns:
        x and y, shape (n, L), int64.

    Example:
        >>> x, y = copying("permutation", 2, named("doctest"), length=4)
        >>> x.sort(1).values.tolist(), bool((x == y).all())
        ([[4, 5, 6, 7], [4, 5, 6, 7]], True)
    """
    first = torch.zeros(n, 1, dtype=torch.int64)
    if kind == "mixture":
        first = length * torch.randint(2, (n, 1), generator=generator)
    of = length if kind == "mixture" else word_count(kind, length)
    # Random numbers in order of size make a fair permutation; its beginning is a fair draw. In
    # double precision equal numbers, which would favour one order, are as good as impossible.
    keys = torch.rand(n, of, generator=generator, dtype=torch.float64)
    x = keys.argsort(1)[:, :length] + first + len(MARKS)
    if kind == "permutation-function":
        return x, x[:, fixed_permutation(length, pi_seed)]
    return x, x.clone()


def word_count(kind: str, length: int = 40) -> int:
    """Number of words that sequences of a kind are made of: L, 3L/2 or 2L."""
    if length < 2:
        raise FoveateError(f"a sequence to copy needs 2 words at least, got {length}")
    counts = {
        "permutation": length,
        "subset": 3 * length // 2,
        "mixture": 2 * length,
        "permutation-function": 3 * length // 2,
    }
    if kind not in counts:
        raise FoveateError(f"a copy task is one of {', '.join(KINDS)}, got '{kind}'")
    return counts[kind]


def fixed_permutation(length: int = 40, seed: int = 0) -> Tensor:
    """The permutation π of 0 … L − 1 that the permutation function applies. [snell21] Eq. 22"""
    return torch.randperm(length, generator=named("permutation function", length, seed))


def numerals(kind: str, length: int = 40) -> Vocabulary:
    """The words of a copy task by their numbers, "1", "2", …

    Example:
        >>> numerals("subset").words[-1], len(numerals("mixture"))
        ('60', 84)
    """
    return Vocabulary(map(str, range(1, word_count(kind, length) + 1)))
