"""Messages on baseball or hockey from 20 Newsgroups. [snell21] A.5"""

from pathlib import Path

import numpy as np

from foveate.data.files.hub import locate
from foveate.errors import FoveateError
from foveate.io.tokenisation import hide_integers, split_underscores, words
from foveate.text.corpora import TEXTS, LabelledTexts, TextsRequest
from foveate.text.corpora.encoding import Raw, labelled_texts
from foveate.text.corpora.stored_parts import read_part, read_texts

__all__ = ["message_words", "newsgroups"]

GROUPS = ("rec.sport.baseball", "rec.sport.hockey")


@TEXTS.register("newsgroups")
def newsgroups(request: TextsRequest) -> LabelledTexts:
    """Messages without headers, footers and quotes, empty ones left out; official split by date."""
    path = locate("newsgroups_baseball_hockey", "SetFit/20_newsgroups")
    return labelled_texts(
        "newsgroups",
        _messages(path, "train"),
        _messages(path, "test"),
        request,
        classes=("baseball", "hockey"),
        words=message_words,
    )


def _messages(path: Path, part: str) -> Raw:
    """The messages of the two groups; the hub's files hold all twenty, by name."""
    try:
        names = read_part(path, part, "label_text")[0].to_numpy(zero_copy_only=False)
    except FoveateError:
        return read_texts(path, part)
    chosen = read_texts(path, part).take(np.flatnonzero(np.isin(names, GROUPS)))
    return chosen._replace(y=(names[np.isin(names, GROUPS)] == GROUPS[1]).astype(np.int64))


def message_words(text: str) -> list[str]:
    """Words of a message, cut at "_", integers of more than one digit unknown."""
    return hide_integers(split_underscores(words(text)))
