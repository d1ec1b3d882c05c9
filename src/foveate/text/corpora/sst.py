"""Sentences of film reviews, negative or positive: the Stanford Sentiment Treebank. [snell21] A.5

``foveate.data.sst`` reads the same files for [lu21], without punctuation; here all tokens stay.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foveate.data.files.hub import locate
from foveate.data.sst import HUB_ID
from foveate.io.tokenisation import whitespace_words
from foveate.text.corpora import TEXTS, LabelledTexts, TextsRequest
from foveate.text.corpora.encoding import Raw, labelled_texts
from foveate.text.corpora.stored_parts import read_part

__all__ = ["polar", "sst"]


@TEXTS.register("sst")
def sst(request: TextsRequest) -> LabelledTexts:
    """Whole sentences without the neutral ones; validation from the official test part."""
    path = locate("sst", HUB_ID)
    train, test = (polar(*read_part(path, part, "tokens", "label")) for part in ("train", "test"))
    classes = ("negative", "positive")
    return labelled_texts("sst", train, test, request, classes=classes, words=whitespace_words)


def polar(tokens: Any, labels: Any) -> Raw:
    """Sentences of labels 0, 1 (negative) and 3, 4 (positive) of 0 … 4; neutral ones are removed.

    The hub's copy joins tokens by bars and has shares in [0, 1], cut at .4 and .6.

    Args:
        tokens: Arrow array of lists or of joined tokens.
        labels: Arrow array of grades or of shares.
    """
    grade: NDArray[Any] = labels.to_numpy(zero_copy_only=False)
    if np.issubdtype(grade.dtype, np.floating):
        share = grade.astype(np.float64).round(5)
        sentiment = np.where(share <= 0.4, -1, np.where(share > 0.6, 1, 0))
    else:
        sentiment = np.sign(grade.astype(np.int64) - 2)
    rows = tokens.to_pylist()
    sentences = [row.replace("|", " ") if isinstance(row, str) else " ".join(row) for row in rows]
    return Raw(sentences, (sentiment > 0).astype(np.int64)).take(np.flatnonzero(sentiment))
