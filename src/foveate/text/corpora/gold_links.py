"""Gold links from a file, one line for each sentence pair; pairs without gold are not scored."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from foveate.errors import FoveateError
from foveate.io.rows import lines
from foveate.text.corpora import Pairs

__all__ = ["GoldLinks", "read_gold_links"]

LinkSets = list[set[tuple[int, int]]]
T = TypeVar("T")


@dataclass(frozen=True)
class GoldLinks:
    """Manual links for all pairs or some of them.

    Args:
        sure: Links (l, t) that hold, a set for each pair.
        possible: Links that may hold, a set for each pair.
    """

    sure: LinkSets
    possible: LinkSets

    @property
    def scored(self) -> list[int]:
        """The pairs that have gold links; an empty line is a pair without gold links.

        Example:
            >>> GoldLinks([{(0, 0)}, set()], [set(), set()]).scored
            [0]
        """
        links = zip(self.sure, self.possible, strict=True)
        return [number for number, (sure, possible) in enumerate(links) if sure or possible]

    def select(self, corpus: Sequence[T]) -> list[T]:
        """The entries of a corpus at the scored pairs."""
        return [corpus[number] for number in self.scored]


def read_gold_links(path: Path, pairs: Pairs) -> GoldLinks:
    """Read sure and possible links: ``0-1`` is sure, ``0?1`` and ``0-1?`` are possible.

    Args:
        path: A file with one line for each pair; a pair with an empty line has no gold.
        pairs: The pairs, within which links must be.
    """
    gold, sizes = GoldLinks([], []), pairs.lengths.tolist()
    for number, line in enumerate(lines(path), 1):
        if number > len(sizes):
            raise FoveateError(f"{path}, line {number}: there are only {len(sizes):,} pairs")
        gold.sure.append(set())
        gold.possible.append(set())
        for word in line.split():
            link, is_sure = _link(word, path, number)
            L, T = sizes[number - 1]
            if link[0] >= L or link[1] >= T:
                raise FoveateError(
                    f"{path}, line {number}: link {word} is outside a pair of {L} and {T} words"
                )
            (gold.sure if is_sure else gold.possible)[-1].add(link)
    if len(gold.sure) != len(sizes):
        raise FoveateError(
            f"{path} must have a line for each of {len(sizes):,} pairs, has {len(gold.sure):,}; "
            "leave a line empty where a pair has no gold"
        )
    if not gold.scored:
        raise FoveateError(f"{path} has no links: there is nothing to score against")
    return gold


def _link(word: str, path: Path, number: int) -> tuple[tuple[int, int], bool]:
    plain = word.removesuffix("?").replace("?", "-", 1)
    i, dash, j = plain.partition("-")
    if not (dash and i.isascii() and i.isdigit() and j.isascii() and j.isdigit()):
        raise FoveateError(
            f"{path}, line {number}: links must be pairs like 0-1, or 0?1 if possible, got '{word}'"
        )
    return (int(i), int(j)), "?" not in word
