"""Word vectors from a file in GloVe's format: a word and its numbers to a line. [snell21] A.8"""

from pathlib import Path

import torch
from torch import Tensor

from foveate.errors import FoveateError
from foveate.randomness import generator
from foveate.tokens import Vocabulary

__all__ = ["read_vectors"]


def read_vectors(path: Path, vocabulary: Vocabulary, size: int) -> Tensor:
    """Embeddings (words, size) to begin with: from the file where it has the word, else N(0, 1).

    Args:
        path: Text, one word and ``size`` numbers to a line, separated by spaces.
        vocabulary: The words wanted.
        size: Numbers to a word.
    """
    start = torch.randn(len(vocabulary), size, generator=generator("vectors", len(vocabulary)))
    wanted = {word: i for i, word in enumerate(vocabulary.words)}
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                word, _, rest = line.rstrip("\n").partition(" ")
                if word in wanted:
                    start[wanted[word]] = _numbers(rest, size, f"{path}, line {number}")
    except (OSError, UnicodeDecodeError) as error:
        raise FoveateError(f"{path} cannot be read: {error}") from None
    return start


def _numbers(text: str, size: int, where: str) -> Tensor:
    try:
        found = [float(part) for part in text.split()]
    except ValueError as error:
        raise FoveateError(f"{where}: a word must be followed by numbers, {error}") from None
    if len(found) != size:
        raise FoveateError(f"{where}: {size} numbers must follow the word, got {len(found)}")
    return torch.tensor(found)
