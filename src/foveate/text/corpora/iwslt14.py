"""IWSLT 2014: TED talks, German to English, lower-cased and tokenised. [snell21] A.5"""

from foveate.io.tokenisation import whitespace_words
from foveate.text.corpora import PAIRS, PairsRequest, SentencePairs
from foveate.text.corpora.pair_encoding import RawPairs, parted_pairs, sentence_pairs
from foveate.text.corpora.stored_parts import folder, has_part, read_part

__all__ = ["iwslt14"]

FULL_SIZE = 160_239  # training pairs
HELD_OUT = 0.1  # of the validation part where it replaces the training part


@PAIRS.register("iwslt14")
def iwslt14(request: PairsRequest) -> SentencePairs:
    """The official parts; a missing training part is replaced by nine tenths of validation."""
    path = folder("iwslt14_de_en")

    def read(part: str) -> RawPairs:
        return RawPairs(*(side.to_pylist() for side in read_part(path, part, "de", "en")))

    if has_part(path, "train"):
        parts = {part: read(part) for part in ("train", "validation")}
        count = len(parts["train"].source)
        about = (
            f"a sample of {count:,} of the {FULL_SIZE:,} training pairs"
            if count < FULL_SIZE
            else ""
        )
    else:
        parts = parted_pairs(read("validation"), HELD_OUT, "iwslt14", "split", request.seed)
        about = "there is no training part: the official validation part is split by seed, 90–10"
    parts["test"] = read("test")
    return sentence_pairs(
        "iwslt14", parts, request, unit="pieces", words=whitespace_words, about=about
    )
