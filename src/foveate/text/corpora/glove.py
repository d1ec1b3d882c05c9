"""Pretrained word vectors in GloVe's text format: a word and its numbers per line."""

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from foveate.errors import FoveateError
from foveate.io.rows import lines
from foveate.text.tokens import UNKNOWN, Vocabulary

__all__ = ["glove"]


def glove(
    path: str | Path, vocabulary: Vocabulary, dim: int = 300, *, generator: torch.Generator
) -> Tensor:
    """Vectors of the words of a vocabulary, shape (V, d). [snell21] A.8

    Words without a vector keep a random one, N(0, 1) as in a fresh ``nn.Embedding``.

    Args:
        path: The file, read line by line; one that ends in .gz is unpacked on the way.
        vocabulary: The words.
        dim: Size d of a vector.
        generator: Decides the random vectors.
    """
    vectors = torch.randn(len(vocabulary), dim, generator=generator)
    count = 0
    for number, line in enumerate(lines(Path(path)), 1):
        word, _, numbers = line.partition(" ")
        (i,) = vocabulary.encode([word])
        if number > 1 and i == UNKNOWN:
            continue
        values = numbers.split(" ")
        if number > 1 and len(values) > dim:
            continue  # a word with spaces, which no vocabulary has
        vector = _numbers(values, dim, f"{path}, line {number}")
        if i != UNKNOWN:
            vectors[i] = torch.from_numpy(vector)
            count += 1
    if not count:
        raise FoveateError(f"{path} has no vector for any of the {len(vocabulary):,} words")
    return vectors


def _numbers(values: list[str], dim: int, where: str) -> NDArray[np.float32]:
    if len(values) != dim:
        raise FoveateError(f"{where}: must be a word and {dim} numbers, got {len(values)}")
    try:
        numbers = np.array(values, np.float32)
    except ValueError as error:
        raise FoveateError(f"{where}: must be a word and {dim} numbers ({error})") from None
    if not np.isfinite(numbers).all():
        raise FoveateError(f"{where}: must be finite, holds NaN or infinity")
    return numbers
