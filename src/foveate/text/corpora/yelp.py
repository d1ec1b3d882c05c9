"""Yelp reviews, negative or positive. [snell21] A.5

The paper draws 20,000 reviews from Yelp's open data (ratings ≤ 2 against ≥ 4); this is the polarity
set of Zhang et al. (2015), made from the same source.
"""

import os
from pathlib import Path

from foveate.data.files.hub import locate
from foveate.io.tokenisation import words
from foveate.text.corpora import TEXTS, LabelledTexts, TextsRequest
from foveate.text.corpora.encoding import labelled_texts, split_off
from foveate.text.corpora.stored_parts import folder, has_part, read_texts

__all__ = ["yelp"]

SAMPLE = "yelp_polarity_sample"
REVIEWS = 20000  # [snell21] A.5
HELD_OUT = 0.2  # of a set in one part


@TEXTS.register("yelp")
def yelp(request: TextsRequest) -> LabelledTexts:
    """At most 20,000 training reviews by default; a set in one part is split by seed."""
    path, about = _folder(), ""
    test = read_texts(path, "test")
    if has_part(path, "train"):
        train = read_texts(path, "train")
    else:
        full_size = len(test.texts)
        test, train = split_off(test, round(HELD_OUT * full_size), "yelp", "split", request.seed)
        about = f"{full_size:,} reviews of the test part, split by seed; there is no training part"
    most = request.train or REVIEWS
    request = TextsRequest(most, request.validation, request.seed, request.least)
    classes = ("negative", "positive")
    return labelled_texts("yelp", train, test, request, classes=classes, words=words, about=about)


def _folder() -> Path:
    """The full set if it exists, else the sample, else the hub."""
    root = Path(os.environ.get("FOVEATE_DATA") or "/nonexistent")
    if not (root / "yelp_polarity").is_dir() and (root / SAMPLE).is_dir():
        return folder(SAMPLE)
    return locate("yelp_polarity", "fancyzhx/yelp_polarity")
