"""Labelled texts as bags of words, for models that know no order."""

from typing import Literal

import torch

from foveate.bag import Bag
from foveate.corpora import LabelledTexts
from foveate.data.topic_words import sentences

__all__ = ["to_bag"]


def to_bag(texts: LabelledTexts, part: Literal["train", "validation"] = "train") -> Bag:
    """The texts of a part as bags of word ids, behind the vocabulary as their bank.

    Args:
        texts: Labelled texts.
        part: Which of their parts.
    """
    tokens, y = {
        "train": (texts.train, texts.y_train),
        "validation": (texts.validation, texts.y_validation),
    }[part]
    ids, mask = tokens.padded(torch.arange(len(tokens)))
    return sentences(ids, len(texts.vocabulary), y, None, mask)
