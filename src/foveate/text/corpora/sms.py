"""Text messages, wanted or spam (Almeida et al. 2011). [snell21] A.9"""

from foveate.data.files.hub import locate
from foveate.io.tokenisation import originals, words
from foveate.text.corpora import TEXTS, LabelledTexts, TextsRequest
from foveate.text.corpora.encoding import labelled_texts, split_off
from foveate.text.corpora.stored_parts import read_texts

__all__ = ["sms"]

TRAIN = 3500  # [snell21] A.9


@TEXTS.register("sms")
def sms(request: TextsRequest) -> LabelledTexts:
    """Messages without repeated ones, 3,500 of them to learn from; the seed decides the split."""
    raw = read_texts(locate("sms_spam", "ucirvine/sms_spam"), "train", "sms")
    unique = raw.take(originals(raw.texts))
    train, held_out = split_off(unique, TRAIN, "sms", "split", request.seed)
    return labelled_texts("sms", train, held_out, request, classes=("ham", "spam"), words=words)
