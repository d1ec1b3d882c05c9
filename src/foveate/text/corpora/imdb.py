"""Film reviews of IMDB, negative or positive (Maas et al. 2011). [snell21] A.5"""

from foveate.data.files.hub import locate
from foveate.io.tokenisation import without_line_breaks, words
from foveate.text.corpora import TEXTS, LabelledTexts, TextsWanted
from foveate.text.corpora.encoding import labelled_texts
from foveate.text.corpora.stored_parts import read_texts

__all__ = ["imdb", "review_words"]

WHOLE = 25000  # reviews in each part


@TEXTS.register("imdb")
def imdb(wanted: TextsWanted) -> LabelledTexts:
    """Training reviews, and validation reviews drawn from the official test part."""
    path = locate("imdb", "stanfordnlp/imdb")
    train, test = read_texts(path, "train"), read_texts(path, "test")
    here = f"{len(train.texts):,} and {len(test.texts):,} reviews of {WHOLE:,} and {WHOLE:,}"
    return labelled_texts(
        "imdb",
        train,
        test,
        wanted,
        classes=("negative", "positive"),
        words=review_words,
        about=f"a part of IMDB: {here}" if len(train.texts) < WHOLE else "",
    )


def review_words(text: str) -> list[str]:
    """Words of a review, without the line breaks of web pages."""
    return words(without_line_breaks(text))
