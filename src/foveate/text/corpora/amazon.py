"""Reviews of Amazon products, negative or positive (Blitzer et al. 2007). [snell21] A.5"""

import numpy as np

from foveate.io.tokenisation import is_short, words
from foveate.text.corpora import TEXTS, LabelledTexts, TextsRequest
from foveate.text.corpora.encoding import Raw, labelled_texts
from foveate.text.corpora.stored_parts import folder, read_texts

__all__ = ["amazon"]


@TEXTS.register("amazon")
def amazon(request: TextsRequest) -> LabelledTexts:
    """Reviews under 400 words, books to kitchenware in one; validation from both held-out parts.

    The paper has about 40,000 reviews; these are the 8,000 of the labelled part. The set has no
    official split: that of the files is used.
    """
    path = folder("multi_domain_sentiment")
    train, *others = (read_texts(path, part) for part in ("train", "validation", "test"))
    held_out = Raw(
        [text for raw in others for text in raw.texts], np.concatenate([raw.y for raw in others])
    )
    return labelled_texts(
        "amazon",
        train,
        held_out,
        request,
        classes=("negative", "positive"),
        words=words,
        keep=is_short,
        about="the labelled part of the Multi-Domain Sentiment data set, split by its files",
    )
