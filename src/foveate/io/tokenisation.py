"""How texts become words: the rules of [snell21] A.5 and A.8, one function each.

The paper says "tokenized at the word level" and no more. Here a word is a run of letters, digits
and underscores, with what an apostrophe joins to it, in small letters (as in the GloVe vectors that
the paper starts from), and every other sign is a word of its own.
"""

import re
from collections.abc import Sequence

__all__ = [
    "LONGEST",
    "UNKNOWN_WORD",
    "hide_integers",
    "is_short",
    "originals",
    "split_underscores",
    "whitespace_words",
    "without_line_breaks",
    "words",
]

WORD = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")
WHITESPACE_TOKEN = re.compile(r"[^ \t\r\n]+")
INTEGER = re.compile(r"\d\d+")
LINE_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
LONGEST = 400
UNKNOWN_WORD = "<unk>"


def words(text: str) -> list[str]:
    """Words and signs of a text, in small letters.

    Example:
        >>> words("I don't like Mr. O'Neill's 2nd film (so-so)!")[:8]
        ['i', "don't", 'like', 'mr', '.', "o'neill's", '2nd', 'film']
    """
    return WORD.findall(text.lower())


def whitespace_words(text: str) -> list[str]:
    """Words of a text that is already tokenised, in lower case.

    Only spaces and tabs separate words, as in other tools: a number may contain another space.

    Example:
        >>> whitespace_words("It does n't  . &apos;s")
        ['it', 'does', "n't", '.', '&apos;s']
    """
    return WHITESPACE_TOKEN.findall(text.lower())


def hide_integers(words: Sequence[str]) -> list[str]:
    """Integers of more than one digit as unknown: AG News and Newsgroups. [snell21] A.8

    Example:
        >>> hide_integers(["in", "1993", "7", "3rd", "10"])
        ['in', '<unk>', '7', '3rd', '<unk>']
    """
    return [UNKNOWN_WORD if INTEGER.fullmatch(word) else word for word in words]


def split_underscores(words: Sequence[str]) -> list[str]:
    """Words cut at "_", which goes: Newsgroups. [snell21] A.8

    Example:
        >>> split_underscores(["the", "_hockey_", "news_group", "___"])
        ['the', 'hockey', 'news', 'group']
    """
    return [part for word in words for part in word.split("_") if part]


def is_short(words: Sequence[str]) -> bool:
    """Whether a text has less than 400 words: Amazon. [snell21] A.5"""
    return len(words) < LONGEST


def without_line_breaks(text: str) -> str:
    """A text without the line breaks of web pages: IMDB. The paper does not mention them.

    Example:
        >>> without_line_breaks("Good.<br /><br />Bad.")
        'Good.  Bad.'
    """
    return LINE_BREAK.sub(" ", text)


def originals(texts: Sequence[str]) -> list[int]:
    """Rows of the texts that have not come before: SMS, so that no copy is on both sides.

    Example:
        >>> originals(["a", "b", "a ", "a"])
        [0, 1]
    """
    first: dict[str, int] = {}
    for row, text in enumerate(texts):
        first.setdefault(text.strip(), row)
    return list(first.values())
