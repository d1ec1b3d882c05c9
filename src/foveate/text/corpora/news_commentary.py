"""News Commentary: sentence pairs of opinion pieces, from local files. [snell21] A.5"""

from collections.abc import Iterator
from pathlib import Path

from foveate.errors import FoveateError
from foveate.io.rows import lines
from foveate.io.tokenisation import words
from foveate.text.corpora import PAIRS, PairsRequest, SentencePairs
from foveate.text.corpora.pair_encoding import RawPairs, parted_pairs, sentence_pairs
from foveate.text.corpora.stored_parts import folder
from foveate.text.corpora.user_files import paired_lines

__all__ = ["commentary", "is_numerical", "news_commentary"]

HELD_OUT = 0.1  # [snell21] A.8: a 90–10 split


@PAIRS.register("news_commentary")
def news_commentary(request: PairsRequest) -> SentencePairs:
    """The one file of two columns (.tsv or .tsv.gz) in ``$FOVEATE_DATA/news_commentary``."""
    path = folder("news_commentary")
    tables = sorted([*path.glob("*.tsv"), *path.glob("*.tsv.gz")])
    if len(tables) != 1:
        names = ", ".join(file.name for file in tables) or "none"
        raise FoveateError(f"{path} must hold one file of two columns (.tsv, .tsv.gz), got {names}")
    return commentary(request, tables[0])


def commentary(request: PairsRequest, source: Path, target: Path | None = None) -> SentencePairs:
    """Pairs without purely numerical ones, nine tenths to learn from; the seed decides which.

    Args:
        request: How many, in which units.
        source: A file of two columns parted by a tab, or of source sentences.
        target: The file of target sentences in the second case.
    """
    pairs = (
        _columns(source) if target is None else (pair for _, pair in paired_lines(source, target))
    )
    valid = [
        pair for pair in pairs if not any(map(is_numerical, pair)) and all(map(str.strip, pair))
    ]
    raw = RawPairs([one for one, _ in valid], [other for _, other in valid])
    parts = parted_pairs(raw, HELD_OUT, "news_commentary", "split", request.seed)
    return sentence_pairs("news_commentary", parts, request, unit="pieces", words=words)


def is_numerical(sentence: str) -> bool:
    """Whether a sentence has digits and no letters. [snell21] A.5

    Example:
        >>> [is_numerical(s) for s in ("1,5 – 20 %", "In 1999", "…")]
        [True, False, False]
    """
    letters = any(sign.isalpha() for sign in sentence)
    return not letters and any(sign.isdigit() for sign in sentence)


def _columns(path: Path) -> Iterator[tuple[str, str]]:
    """Pairs of a file of two columns; the empty lines between articles are passed over."""
    for number, line in enumerate(lines(path), 1):
        if not line.strip():
            continue
        one, tab, other = line.partition("\t")
        if not tab or "\t" in other:
            raise FoveateError(f"{path}, line {number}: must be two sentences parted by a tab")
        yield one, other
