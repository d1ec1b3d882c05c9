"""Which column of a user's table is what: flags of the commands and keywords of the library."""

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from foveate.errors import FoveateError
from foveate.settings import Count, Settings, Words
from foveate.types import PartProgress

__all__ = ["Columns", "PartProgress", "Roles", "column", "missing", "roles"]

BAG = ("bag", "bag_id", "slide_id", "slide", "bag_name", "image", "file", "filename", "name", "id")
GROUP = ("group", "patient", "patient_id", "case_id")
RELEVANCE = ("relevance", "inst_labels", "patch_labels")


class Columns(Settings):
    """What the columns of a table, or the arrays of a file, are: every field is a flag.

    A column left open is found by its usual name, and is then never read as a feature.
    """

    bag: str = "bag"
    """Which bag a row belongs to."""
    label: str = "label"
    """Label of the bag; data without this column are unlabelled."""
    text: str | None = None
    """Text: a row of a bag, or with one row per bag the whole bag, cut into words."""
    relevance: str | None = None
    """1 where a segment is relevant, 0 where not; empty: unknown for its bag."""
    group: str | None = None
    """What bags belong together, such as a patient: never on both sides of a split."""
    split: str | None = None
    """Name of the split that the bag is in."""
    places: Words = ()
    """Where a segment lies: x,y of a tile, or start,end of a window."""
    segment: Words | None = None
    """Columns that make a segment; all others that hold numbers unless given."""
    tiles: Count | None = None
    """Pixels a side of the tiles that images are cut into."""
    tokens: bool | None = None
    """Cut texts into words (or not); as the table is laid out unless given."""

    def said(self, name: str) -> str | None:
        """The column that the user names; None where it is to be found by its usual name."""
        value = getattr(self, name)
        return None if value == type(self).model_fields[name].default else value


class Roles(NamedTuple):
    """The columns of one table by what they are; None where there is no such column."""

    bag: str | None
    label: str | None
    text: str | None
    relevance: str | None
    group: str | None
    split: str | None
    places: tuple[str, ...]
    segment: tuple[str, ...]


def column(
    path: Path,
    names: Sequence[str],
    given: str | None,
    usual: Sequence[str] = (),
    *,
    needed: bool = True,
) -> str | None:
    """The column that is meant: the given one, which must be there, else one of a usual name.

    Args:
        path: The table, for messages.
        names: Its columns.
        given: A name that the user gave.
        usual: Names to look for otherwise, whatever their case.
        needed: Whether a given column must be there.
    """
    if given is not None and given in names:
        return given
    if given is not None and needed:
        raise FoveateError(missing(path, given, names))
    by_lower = {name.lower(): name for name in reversed(names)}
    return next((by_lower[name] for name in usual if name in by_lower), None)


def missing(path: Path, given: str, names: Sequence[str]) -> str:
    """What is said of a column that is not there."""
    near = difflib.get_close_matches(given, names, n=1)
    hint = f"Did you mean '{near[0]}'? " if near else ""
    return f"{path} has no column '{given}'. {hint}Its columns are {', '.join(names)}"


def roles(path: Path, names: Sequence[str], columns: Columns, labelled: bool | None) -> Roles:
    """What each column of a table is; ``segment`` holds all that are left where none are given.

    Args:
        path: The table.
        names: Its columns.
        columns: What the user says.
        labelled: Whether there must be labels; None takes what there is. False does without them,
            and without relevance, groups and splits where a column of that name is missing.
    """
    known = labelled is not False
    free = [name for name in names if name not in (columns.segment or ())]

    def find(what: str, *usual: str, needed: bool = known) -> str | None:
        given = columns.said(what)
        among = free if given is None and what in ("group", "split") else names
        return column(path, among, given, usual, needed=needed)

    bag = find("bag", *BAG[:2], needed=True)
    label = find("label", "label")
    if labelled and label is None:
        raise FoveateError(missing(path, columns.label, names))
    if columns.text and columns.segment:
        raise FoveateError("segments are texts or numbers: give --text or --segment, not both")
    text = find("text", "text", needed=True) if columns.segment is None else None
    relevance = find("relevance", *RELEVANCE)
    group = find("group", *GROUP[:1])
    split = find("split", "split")
    places = tuple(column(path, names, name) or name for name in columns.places)
    segment = tuple(column(path, names, name) or name for name in columns.segment or ())
    _once(path, (bag, label, relevance, group, split), segment)
    if text is None and columns.segment is None:
        taken = {bag, label, columns.label, relevance, group, split, *places}
        segment = tuple(name for name in names if name not in taken)
    return Roles(bag, label if known else None, text, relevance, group, split, places, segment)


def _once(path: Path, others: Sequence[str | None], segment: Sequence[str]) -> None:
    """What says something of the bag must not be read as a part of it."""
    for name in segment:
        if name in others:
            raise FoveateError(
                f"{path}, column '{name}': is the bag, label, relevance, group or split, and "
                "cannot be a part of the segment too"
            )
