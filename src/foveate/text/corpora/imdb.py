"""Film reviews of IMDB, negative or positive (Maas et al. 2011). [snell21] A.5"""

from foveate.data.files.hub import locate
from foveate.io.tokenisation import without_line_breaks, words
from foveate.text.corpora import TEXTS, LabelledTexts, TextsRequest
from foveate.text.corpora.encoding import labelled_texts
from foveate.text.corpora.stored_parts import read_texts

__all__ = ["imdb", "review_words"]

FULL_SIZE = 25000  # reviews in each part


@TEXTS.register("imdb")
def imdb(request: TextsRequest) -> LabelledTexts:
    """Training reviews, and a sample of the official test part for validation.

    Reviews that are in both parts (35 of the first 5,000 for testing) are left out of training.
    """
    path = locate("imdb", "stanfordnlp/imdb")
    train, test = read_texts(path, "train"), read_texts(path, "test")
    sizes = len(train.texts), len(test.texts)
    counts = f"{sizes[0]:,} training and {sizes[1]:,} test reviews of {FULL_SIZE:,} each"
    train = train.without(set(test.texts))
    return labelled_texts(
        "imdb",
        train,
        test,
        request,
        classes=("negative", "positive"),
        words=review_words,
        about=f"a part of IMDB: {counts}" if min(sizes) < FULL_SIZE else "",
    )


def review_words(text: str) -> list[str]:
    """Words of a review, without the line breaks of web pages."""
    return words(without_line_breaks(text))
