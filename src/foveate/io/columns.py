"""Roles of the columns of a user's table: flags of the commands, keywords of the library."""

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from foveate.errors import FoveateError
from foveate.io.cells import is_missing, name_of
from foveate.io.rows import Header
from foveate.settings import Count, Settings, Words
from foveate.types import PartProgress

__all__ = [
    "ColumnRole",
    "Columns",
    "PartProgress",
    "Roles",
    "column",
    "header_hint",
    "missing",
    "role_by_name",
    "roles",
]

BAG = ("bag", "bag_id", "slide_id", "slide", "bag_name", "image", "file", "filename", "name", "id")
GROUP = ("group", "patient", "patient_id", "case_id")
RELEVANCE = ("relevance", "relevant", "inst_labels", "patch_labels")
USUAL = {
    "bag": BAG[:2], "label": ("label",), "relevance": RELEVANCE, "group": GROUP, "split": ("split",)
}  # fmt: skip
"""Names by which columns of a table are found; none of them is a feature unless it is named."""
MAX_LISTED = 20  # columns that a message names


class Columns(Settings):
    """Roles of the columns of a table, or the arrays of a file: every field is a flag.

    A column that is not named is looked for by its usual name, and is then never a feature.
    """

    bag: str = "bag"
    """Which bag a row belongs to."""
    label: str = "label"
    """Label of the bag; data without this column are unlabelled."""
    labels: Words = ()
    """Labels of multi-label bags: columns of 0 and 1, or one column of lists."""
    text: str | None = None
    """Text: a row of a bag, or with one row per bag the whole bag, cut into words."""
    relevance: str | None = None
    """1 where a segment is relevant, 0 where not; empty: unknown for its bag."""
    group: str | None = None
    """What bags belong together, such as a patient: never on both sides of a split."""
    weight: str | None = None
    """Weight of the bag in training, a number above 0."""
    split: str | None = None
    """Name of the split that the bag is in."""
    places: Words = ()
    """Where a segment lies: x,y of a tile, or start,end of a window."""
    segment: Words | None = None
    """Columns that make a segment; all others that hold numbers unless given."""
    ignore: Words = ()
    """Columns that are not read, whatever they are called."""
    tiles: Count | None = None
    """Pixels a side of the tiles that images are cut into."""
    tokens: bool | None = None
    """Cut texts into words (or not); as the table is laid out unless given."""
    columns: Words = ()
    """Names of the first columns of a CSV file without a line of names: bag,label,…."""
    header: bool = True
    """Whether line 1 of a CSV file names the columns; without it they are c1, c2, …."""
    missing: Literal["impute", "refuse"] = "impute"
    """Missing numbers: impute by the median of the training bags, or refuse."""
    classes: Words | None = None
    """The classes there may be, in order; "none" or "NA" is a class only if it is named here."""
    merge_labels: bool = False
    """Merge labels that differ only by case, Unicode form or spaces."""
    force: Words = ()
    """Names of errors of `foveate check` that are accepted."""

    def named(self, name: str) -> str | None:
        """The column that the user names; None if it is to be found by its usual name."""
        value = getattr(self, name)
        return None if value == type(self).model_fields[name].default else value

    def is_label(self, cell: Any) -> bool:
        """Whether a cell holds a label, not a missing value."""
        return not is_missing(cell) or name_of(cell) in (self.classes or ())

    @property
    def header_line(self) -> Header:
        """Where the column names of a CSV file come from."""
        return Header(self.header and not self.columns, self.columns)


class ColumnRole(NamedTuple):
    """What a column was used as, and why.

    Args:
        name: The column.
        role: bag, label, text, relevance, group, split, place, feature or left out.
        reason: Why, in words.
    """

    name: str
    role: str
    reason: str


class Roles(NamedTuple):
    """The columns of one table by role; None where there is no such column."""

    bag: str | None
    label: str | None
    text: str | None
    relevance: str | None
    group: str | None
    split: str | None
    places: tuple[str, ...]
    segment: tuple[str, ...]
    labels: tuple[str, ...] = ()
    weight: str | None = None

    def other_column(self, name: str) -> tuple[str, str] | None:
        """The role that a name usually means and the column that has it, if that is another.

        Args:
            name: Of a column.
        """
        role = role_by_name(name)
        holder = role and getattr(self, role)
        return (role, holder) if role and holder and holder != name else None

    @property
    def cells(self) -> list[str]:
        """Columns whose cells are kept as they are."""
        single = (
            self.bag, self.label, self.text, self.relevance, self.group, self.split, self.weight
        )  # fmt: skip
        return [*(name for name in single if name is not None), *self.labels]


def column(
    path: Path,
    names: Sequence[str],
    requested: str | None,
    usual: Sequence[str] = (),
    *,
    needed: bool = True,
) -> str | None:
    """The column of a role: the given one, which must exist, else one with a usual name.

    Args:
        path: The table, for messages.
        names: Its columns.
        requested: A name that the user gave.
        usual: Names to look for otherwise, whatever their case.
        needed: Whether a given column must exist.
    """
    if requested is not None and requested in names:
        return requested
    if requested is not None and needed:
        raise FoveateError(missing(path, requested, names))
    by_lower = {name.lower(): name for name in reversed(names)} | {name: name for name in names}
    return next((by_lower[name] for name in usual if name in by_lower), None)


def role_by_name(name: str) -> str | None:
    """The role that a column of this name usually has; None for any other name.

    Example:
        >>> [role_by_name(name) for name in ("Label", "inst_labels", "size")]
        ['label', 'relevance', None]
    """
    return next((role for role, usual in USUAL.items() if name.lower() in usual), None)


def missing(path: Path, requested: str, names: Sequence[str]) -> str:
    """The message for a column that does not exist."""
    near = difflib.get_close_matches(requested, names, n=1)
    hint = f"Did you mean '{near[0]}'? " if near else ""
    listed = ", ".join(names[:MAX_LISTED]) + (
        f" and {len(names) - MAX_LISTED:,} more" * (len(names) > MAX_LISTED)
    )
    return f"{path} has no column '{requested}'. {hint}Its columns are {listed}{header_hint(names)}"


def header_hint(names: Sequence[str]) -> str:
    """What to do if line 1 seems to hold values rather than names; empty if it does not."""
    if not any(name.replace(".", "", 1).lstrip("+-").isdigit() for name in names):
        return ""
    return "; if line 1 holds values, name the columns with --columns bag,label,… or --no-header"


def roles(path: Path, names: Sequence[str], columns: Columns, labelled: bool | None) -> Roles:
    """The role of each column of a table; ``segment`` holds all others where none are given.

    Args:
        path: The table.
        names: Its columns.
        columns: The flags of the user.
        labelled: Whether there must be labels; None takes what there is. False does without them,
            and without relevance, groups and splits where a column of that name is missing.
    """
    known = labelled is not False
    names = _without_ignored(path, names, columns, labelled)
    free = [name for name in names if name not in (columns.segment or ())]

    def find(what: str, *usual: str, needed: bool = known) -> str | None:
        requested = columns.named(what)
        others = ("group", "split", "relevance", "weight")
        among = free if requested is None and what in others else names
        return column(path, among, requested, usual, needed=needed)

    bag = find("bag", *BAG[:2], needed=True)
    labels = _label_columns(path, names, columns, known)
    label = None if columns.labels else find("label", "label")
    if labelled and label is None and not labels:
        raise FoveateError(missing(path, columns.label, names))
    if columns.text and columns.segment:
        raise FoveateError("segments are texts or numbers: give --text or --segment, not both")
    text = find("text", "text", needed=True) if columns.segment is None else None
    relevance = find("relevance", *RELEVANCE)
    group = find("group", *GROUP)
    split, weight = find("split", "split"), find("weight")
    places = tuple(column(path, names, name) or name for name in columns.places)
    segment = tuple(column(path, names, name) or name for name in columns.segment or ())
    _once(path, (bag, label, relevance, group, split, weight, *labels), segment)
    if text is None and columns.segment is None:
        taken = {bag, label, columns.label, relevance, group, split, weight, *places}
        taken |= {*columns.labels}
        segment = tuple(n for n in names if n not in taken and role_by_name(n) is None)
    label = label if known else None
    return Roles(bag, label, text, relevance, group, split, places, segment, labels, weight)


def _without_ignored(
    path: Path, names: Sequence[str], columns: Columns, labelled: bool | None
) -> list[str]:
    """The names without those that are ignored, which bags to learn from must have."""
    for name in columns.ignore:
        if labelled and name not in names:
            raise FoveateError(missing(path, name, names))
    return [name for name in names if name not in columns.ignore]


def _label_columns(
    path: Path, names: Sequence[str], columns: Columns, known: bool
) -> tuple[str, ...]:
    """The columns of a multi-label table; none if labels are not read and a column is missing."""
    if columns.labels and columns.named("label"):
        raise FoveateError("bags have one label or several: give --label or --labels, not both")
    if not known and any(name not in names for name in columns.labels):
        return ()
    return tuple(column(path, names, name) or name for name in columns.labels)


def _once(path: Path, others: Sequence[str | None], segment: Sequence[str]) -> None:
    """A column that describes the bag must not be a part of the segment."""
    for name in segment:
        if name in others:
            raise FoveateError(
                f"{path}, column '{name}': is the bag, label, relevance, group, split or weight, "
                "and cannot be a part of the segment too"
            )
