"""Sentences with one topic word among uninformative words. [lu21] Sec. 3

Segments are word ids: the bank of a bag is the vocabulary itself and its index is the sentences, so
a word's score and embedding are computed once, however many sentences contain it. Train and test
share their words, as languages do; that is why this task is no registered data set, whose splits
share no segment.
"""

import torch
from torch import Tensor

from foveate.bags.bag import Bag
from foveate.bags.segments import Mosaics
from foveate.data import Split
from foveate.data.sdc import BACKGROUND, sdc
from foveate.errors import FoveateError
from foveate.randomness import generator

__all__ = ["sentences", "topic_words"]


def sentences(index: Tensor, words: int, y: Tensor, *parts: Tensor | None) -> Bag:
    """Sentences of word ids as bags whose bank is the vocabulary.

    Args:
        index: Word ids, shape (n, m); any id where ``mask`` is False.
        words: Size of the vocabulary W.
        y: Labels, shape (n,).
        parts: Relevance z and mask, where there are any, each (n, m).
    """
    return Bag(Mosaics(torch.arange(words), index), y, *parts)


def topic_words(
    split: Split,
    *,
    n: int = 3999,
    m: int = 20,
    topics: int = 4,
    per_topic: int = 2,
    others: int = 5000,
    seed: int = 0,
) -> Bag:
    """The task: y ~ U(J), a topic word of T_y, and m words drawn from Θ, all uniformly.

    Ids 0 … J·|T_j| − 1 are the topic words, ``per_topic`` in a row to a topic; then comes Θ.

    Args:
        split: Which random stream; "train" and "test" are independent.
        n: Number of sentences. The default sizes are the published ones. [lu21] Sec. 5
        m: Words besides the topic word, so that a sentence has m + 1.
        topics: Number of topics J.
        per_topic: Topic words of a topic.
        others: Size of the dictionary Θ.
        seed: Decides the sentences.

    Returns:
        Bags of word ids with z on the topic word.

    Example:
        >>> bag = topic_words("train", n=5, m=3)
        >>> bool((bag.x.index[bag.z] // 2 == bag.y).all())
        True
    """
    if topics < 2 or per_topic < 1 or others < 1:
        raise FoveateError(
            "topic words need 2 topics, a word each and another word at least, "
            f"got {topics}, {per_topic} and {others}"
        )
    first_other = topics * per_topic

    def draw(kind: Tensor, stream: torch.Generator) -> Tensor:
        topic_word = kind * per_topic + torch.randint(per_topic, kind.shape, generator=stream)
        other = first_other + torch.randint(others, kind.shape, generator=stream)
        return torch.where(kind == BACKGROUND, other, topic_word)

    stream = generator("topic-words", split, seed)
    index, y, z = sdc(draw, classes=topics, n=n, m=m + 1, generator=stream)
    return sentences(index, first_other + others, y, z)
