"""Multi30k: captions of pictures, English to German (Elliott et al. 2016). [snell21] A.5"""

from foveate.data.files.hub import locate
from foveate.io.tokenisation import words
from foveate.text.corpora import PAIRS, PairsRequest, SentencePairs
from foveate.text.corpora.pair_encoding import PARTS, RawPairs, sentence_pairs
from foveate.text.corpora.stored_parts import read_part

__all__ = ["multi30k"]


@PAIRS.register("multi30k")
def multi30k(request: PairsRequest) -> SentencePairs:
    """29,000 / 1,014 / 1,000 captions, the official parts (test_2016_flickr)."""
    path = locate("multi30k", "bentrevett/multi30k")
    parts = {
        part: RawPairs(*(side.to_pylist() for side in read_part(path, part, "en", "de")))
        for part in PARTS
    }
    return sentence_pairs("multi30k", parts, request, unit="pieces", words=words)
