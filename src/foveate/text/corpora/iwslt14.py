"""IWSLT 2014: TED talks, German to English, lower-cased and tokenised. [snell21] A.5"""

from foveate.io.tokenisation import given_words
from foveate.text.corpora import PAIRS, PairsWanted, SentencePairs
from foveate.text.corpora.pair_encoding import RawPairs, parted_pairs, sentence_pairs
from foveate.text.corpora.stored_parts import folder, has_part, read_part

__all__ = ["iwslt14"]

WHOLE = 160_239  # training pairs
HELD_OUT = 0.1  # of the validation part where it stands in for training


@PAIRS.register("iwslt14")
def iwslt14(wanted: PairsWanted) -> SentencePairs:
    """The official parts; without a training part nine tenths of the validation part stand in."""
    path = folder("iwslt14_de_en")

    def read(part: str) -> RawPairs:
        return RawPairs(*(side.to_pylist() for side in read_part(path, part, "de", "en")))

    if has_part(path, "train"):
        parts = {part: read(part) for part in ("train", "validation")}
        count = len(parts["train"].source)
        about = f"a sample of {count:,} of the {WHOLE:,} training pairs" if count < WHOLE else ""
    else:
        parts = parted_pairs(read("validation"), HELD_OUT, "iwslt14", "split", wanted.seed)
        about = "there is no training part: the official validation part is split by seed, 90–10"
    parts["test"] = read("test")
    return sentence_pairs("iwslt14", parts, wanted, unit="pieces", words=given_words, about=about)
