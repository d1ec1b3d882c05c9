"""Published tables and measured cells beside them, as data."""

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["Cell", "Key", "PublishedTable"]

Key = tuple[str, str, str]
"""Group (a data set and its sizes), name (a paradigm or a map), measure with its unit."""


class PublishedTable(NamedTuple):
    """A table of a paper.

    Args:
        title: Its title on pages.
        source: Where it was published, in words.
        numbers: The published numbers by group, name and measure; none for a study of our own.
    """

    title: str
    source: str = "nothing, this is ours"
    numbers: Mapping[Key, float] = {}

    @property
    def groups(self) -> list[str]:
        """The groups of the table, in its order."""
        return list(dict.fromkeys(group for group, _, _ in self.numbers))


class Cell(NamedTuple):
    """A measured number of a table.

    Args:
        group: Data set and sizes, as the published table calls them.
        name: What is compared within the group.
        measure: What the number is, with its unit.
        setting: What tells runs of the same group apart ("frozen features").
        mean: Mean over seeds.
        low: Lower end of the 95 % interval, None with one seed.
        high: Upper end.
        seeds: How many seeds.
        values: One a seed, in their order, so that anyone can compare in another way; None for a
            seed whose focus died, which enters no mean; empty where the interval is not over seeds
            alone.
    """

    group: str
    name: str
    measure: str
    setting: str
    mean: float
    low: float | None
    high: float | None
    seeds: int
    values: tuple[float | None, ...] = ()
