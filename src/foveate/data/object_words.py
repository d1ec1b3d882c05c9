"""Which words of a caption name which objects, by the list of the authors of [pvr22]."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from foveate.errors import FoveateError
from foveate.io.tokenisation import words

__all__ = ["OBJECT_WORDS", "NamedObject", "ObjectWords", "caption_words", "read_object_words"]

OBJECT_WORDS = "object_words.csv"


def caption_words(text: str) -> list[str]:
    """The words of a caption in lower case, without signs.

    Example:
        >>> caption_words("A man's dog, on a bi-plane.")
        ['a', "man's", 'dog', 'on', 'a', 'bi', 'plane']
    """
    return [word for word in words(text) if word[0].isalnum()]


@dataclass(frozen=True)
class NamedObject:
    """A position in a caption where an object is named.

    Args:
        position: The last word of the name.
        categories: The objects that the name may refer to.
    """

    position: int
    categories: tuple[int, ...]


class ObjectWords:
    """Which words, or phrases, name which objects; the longest phrase counts.

    Args:
        phrases: For each category the phrases that name it.

    Example:
        >>> words = ObjectWords([["dog", "animal"], ["hot dog"], ["cat", "animal"]])
        >>> words.find("an animal eats a hot dog".split())
        [NamedObject(position=1, categories=(0, 2)), NamedObject(position=5, categories=(1,))]
    """

    def __init__(self, phrases: Sequence[Sequence[str]]) -> None:
        self._of: dict[tuple[str, ...], tuple[int, ...]] = {}
        for category, texts in enumerate(phrases):
            for phrase in dict.fromkeys(tuple(caption_words(text)) for text in texts):
                if phrase:
                    self._of[phrase] = (*self._of.get(phrase, ()), category)
        self.longest = max(map(len, self._of), default=0)

    def find(self, caption: Sequence[str]) -> list[NamedObject]:
        """Where a caption names an object, from left to right; phrases do not overlap."""
        matches, start = [], 0
        while start < len(caption):
            step = 1
            for length in range(min(self.longest, len(caption) - start), 0, -1):
                kinds = self._of.get(tuple(caption[start : start + length]))
                if kinds is not None:
                    matches.append(NamedObject(start + length - 1, kinds))
                    step = length
                    break
            start += step
        return matches


def read_object_words(folder: Path) -> ObjectWords:
    """The words of ``object_words.csv``: a row a category in their order, its words behind."""
    path = folder / OBJECT_WORDS
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))[1:]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FoveateError(f"{path} cannot be read: {error}") from None
    if not rows:
        raise FoveateError(f"{path} must have a row of words for every object, got none")
    return ObjectWords([row[1:] for row in rows])
