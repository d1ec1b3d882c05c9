"""Keyword sentences: positive if and only if the word "1" appears. [snell21] Sec. 6.1"""

import torch
from torch import Tensor

from foveate.errors import FoveateError
from foveate.io.tokenisation import whitespace_words
from foveate.randomness import generator as named
from foveate.text.corpora import TEXTS, LabelledTexts, TextsRequest
from foveate.text.tokens import MARKS, Tokens, Vocabulary

__all__ = ["KEYWORD", "keyword_sentences", "keywords"]

KEYWORD = len(MARKS)
"""The id of the word "1"."""
TRAIN, VALIDATION = 4000, 1000


def keyword_sentences(
    n: int, generator: torch.Generator, length: int = 40, vocabulary: int = 40
) -> tuple[Tensor, Tensor]:
    """Sentences over the words 1 … V, half of them (rounded down) with one "1".

    The other words are uniform over 2 … V: what rejection sampling ends with. Word w has the id
    3 + w.

    Args:
        n: Number of sentences.
        generator: Decides them.
        length: Words to a sentence, L.
        vocabulary: Number of words, V.

    Returns:
        Ids, shape (n, L), and labels 0 or 1, shape (n,), both int64.

    Example:
        >>> x, y = keyword_sentences(4, named("doctest"))
        >>> bool(((x == KEYWORD).sum(1) == y).all()), int(y.sum())
        (True, 2)
    """
    if vocabulary < 2 or length < 1:
        sizes = f"{length} words of {vocabulary}"
        raise FoveateError(f"keyword sentences need 1 word of 2 at least, got {sizes}")
    x = torch.randint(KEYWORD + 1, KEYWORD + vocabulary, (n, length), generator=generator)
    position = torch.randint(length, (n, 1), generator=generator)
    y = (torch.randperm(n, generator=generator) < n // 2).long()
    at_keyword = (torch.arange(length) == position) & y.bool()[:, None]
    return x.masked_fill(at_keyword, KEYWORD), y


@TEXTS.register("keywords")
def keywords(request: TextsRequest) -> LabelledTexts:
    """4,000 training sentences by default, and at most 1,000 for validation."""
    vocabulary = Vocabulary(str(word) for word in range(1, 41))

    def part(name: str, n: int) -> tuple[Tokens, Tensor]:
        x, y = keyword_sentences(n, named("keywords", name, request.seed))
        return Tokens(x.flatten(), torch.arange(n + 1) * x.shape[1]), y

    train = part("train", request.train or TRAIN)
    validation = part("validation", min(request.validation, VALIDATION))
    return LabelledTexts(*train, *validation, vocabulary, ("without", "with"), whitespace_words)
