"""News of the world or of business from AG News (Zhang et al. 2015). [snell21] A.5"""

import numpy as np

from foveate.data.files.hub import locate
from foveate.io.tokenisation import hide_integers, words
from foveate.text.corpora import TEXTS, LabelledTexts, TextsRequest
from foveate.text.corpora.encoding import Raw, labelled_texts
from foveate.text.corpora.stored_parts import read_texts

__all__ = ["ag_news", "news_words", "world_or_business"]

WORLD, BUSINESS = 0, 2
FULL_SIZE = 60000  # training articles of the two classes


@TEXTS.register("ag_news")
def ag_news(request: TextsRequest) -> LabelledTexts:
    """Articles of two of the four classes; validation from the official test part."""
    path = locate("ag_news", "fancyzhx/ag_news")
    train, test = (world_or_business(read_texts(path, part)) for part in ("train", "test"))
    part = f"a part of AG News: {len(train.texts):,} of {FULL_SIZE:,} training articles"
    return labelled_texts(
        "ag_news",
        train,
        test,
        request,
        classes=("world", "business"),
        words=news_words,
        about=part if len(train.texts) < FULL_SIZE else "",
    )


def world_or_business(raw: Raw) -> Raw:
    """The articles of the two classes, labelled 0 and 1."""
    chosen = raw.take(np.flatnonzero(np.isin(raw.y, (WORLD, BUSINESS))))
    return chosen._replace(y=(chosen.y == BUSINESS).astype(np.int64))


def news_words(text: str) -> list[str]:
    """Words of an article, integers of more than one digit unknown."""
    return hide_integers(words(text))
