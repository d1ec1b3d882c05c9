"""Sentence pairs with word alignments: manual (gold), and one set aligned automatically.

Vocabularies are of all parts: links are scored, never trained on, so all text may be used.
"""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from foveate.io.tokenisation import whitespace_words
from foveate.text.corpora import PAIRS, PairsRequest, SentencePairs
from foveate.text.corpora.links import IndexArray, Links
from foveate.text.corpora.pair_encoding import PARTS, RawPairs, parted_pairs, sentence_pairs
from foveate.text.corpora.stored_parts import folder, has_part, read_part

__all__ = ["GOLD", "gold", "multi30k_aligned_auto"]

GOLD = {
    "hansards": "en_fr_hansards",
    "de_en": "de_en_europarl",
    "en_cs": "en_cs_czenali",
    "en_sv": "en_sv_europarl",
    "en_es": "en_es_europarl",
}
"""Names of the sets made by hand, and their folders in ``word_alignment``."""
HELD_OUT = 0.1  # of a set in one part


def gold(name: str, request: PairsRequest) -> SentencePairs:
    """Pairs with manual links, in the parts of the files; one part is split 90–10 by seed.

    Args:
        name: One of :data:`GOLD`.
        request: How many; the unit is words.
    """
    path = folder("word_alignment") / GOLD[name]
    columns = ("src_tokens", "tgt_tokens", "sure", "possible")
    parts = {part: _linked(path, part, *columns) for part in PARTS if has_part(path, part)}
    about = ""
    if "train" not in parts:
        (only,) = parts.values()
        parts = parted_pairs(only, HELD_OUT, name, "split", request.seed)
        about = f"{len(only.source)} pairs in one part, split by seed, 90–10"
    if name == "hansards":
        parts["train"] = parts["train"]._replace(links=None)
        about = "the training pairs have no links"
    return sentence_pairs(
        name, parts, request, unit="words", words=whitespace_words, read_all=True, about=about
    )


for _name in GOLD:
    PAIRS.register(_name)(partial(gold, _name))


@PAIRS.register("multi30k_aligned_auto")
def multi30k_aligned_auto(request: PairsRequest) -> SentencePairs:
    """Multi30k in words with automatic links from a teacher model, not gold."""
    path = folder("multi30k_aligned_auto")
    columns = ("en_tokens", "de_tokens", "alignment")
    parts = {part: _linked(path, part, *columns) for part in PARTS}
    about = "the links were made by machine, not by hand"
    return sentence_pairs(
        "multi30k_aligned_auto", parts, request, unit="words", words=whitespace_words, about=about
    )


def _linked(path: Path, part: str, *columns: str) -> RawPairs:
    source, target, *links = read_part(path, part, *columns)
    sure = _rows(links[0])
    possible = _rows(links[1]) if links[1:] else np.empty((0, 3), np.int64)
    return RawPairs(source.to_pylist(), target.to_pylist(), Links(sure, possible))


def _rows(column: Any) -> IndexArray:
    """An Arrow column of lists of [source place, target place] as rows (pair, source, target)."""
    counts = np.diff(column.offsets.to_numpy())
    positions = column.flatten().flatten().to_numpy().astype(np.int64).reshape(-1, 2)
    return np.column_stack([np.repeat(np.arange(len(counts)), counts), positions])
