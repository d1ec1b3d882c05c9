"""A table beside files of bags, with the label, group and split of each."""

import difflib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from foveate.errors import FoveateError
from foveate.io.cells import name_of
from foveate.io.collection import listed
from foveate.io.columns import BAG, GROUP, ColumnRole, Columns, column
from foveate.io.problem import Problem
from foveate.io.rows import column_names, is_hidden, rows, where

__all__ = ["LabelTable", "read_sheet"]

PREFERRED_NAMES = ("labels.csv", "labels.tsv")
ENDING = re.compile(r"(.*[^/])\.[A-Za-z][A-Za-z0-9]*", re.DOTALL)  # as .svs; no number
OTHER_TABLES = ("boxes.csv",)  # says something of places, not of bags


@dataclass(frozen=True)
class LabelTable:
    """Rows of a table by the bag that they name.

    Args:
        path: The table.
        line: Line of each bag's row.
        values: Label, group and split of each bag as far as there are such columns; a label may
            be None.
        roles: Role of every column of the table.
    """

    path: Path
    line: dict[str, int]
    values: dict[str, dict[str, str | None]]
    roles: tuple[ColumnRole, ...] = ()

    def labels(self, bags: Sequence[tuple[str, ...]]) -> list[str | None] | None:
        """Labels of bags, None where missing; None without such a column."""
        if "label" not in self.values:
            return None
        return [self.values["label"][self.row(names)] for names in bags]

    def of(self, bags: Sequence[tuple[str, ...]], what: str) -> list[str] | None:
        """Group or split of bags, each by any of several names; None without such a column.

        Args:
            bags: Names that each bag may have in the table.
            what: group or split.
        """
        if what not in self.values:
            return None
        return [str(self.values[what][self.row(names)]) for names in bags]

    def problems(self, bags: Sequence[tuple[str, ...]], folder: Path) -> list[Problem]:
        """Rows without a bag; a row that names two bags is an error.

        Args:
            bags: Names that each bag may have in the table.
            folder: Where the bags are; a table beside it may name others too.
        """
        bag_of_line: dict[int, tuple[str, ...]] = {}
        for names in bags:
            name = self._name(names)
            if name is None:
                continue
            other = bag_of_line.setdefault(self.line[name], names)
            if other[0] != names[0]:
                raise FoveateError(
                    f"{where(self.path, self.line[name])}: '{name}' names two bags, '{other[0]}' "
                    f"and '{names[0]}': write the whole name"
                )
        unused = {self.line[name]: name for name in reversed(self.line)}
        lacking = [name for line, name in unused.items() if line not in bag_of_line]
        if not lacking or self.path.parent != folder:
            return []
        what = f"in {self.path.name}, but there is no file of this name"
        return [Problem("warning", listed("bag", lacking[::-1]), what, "no-file", learning=True)]

    def _name(self, names: Sequence[str]) -> str | None:
        return next((name for name in names if name in self.line), None)

    def row(self, names: Sequence[str]) -> str:
        """The name that a bag has in the table."""
        present = self._name(names)
        if present is None:
            near = difflib.get_close_matches(names[0], self.line, n=1)
            hint = f". Did you mean '{near[0]}'?" if near else ""
            raise FoveateError(f"{self.path} has no row for '{names[0]}'{hint}")
        return present

    def where(self, names: Sequence[str]) -> str:
        """File and line of a bag's row."""
        return where(self.path, self.line[self.row(names)])


def read_sheet(
    folder: Path, columns: Columns, labelled: bool | None = None, *, in_parent: bool = True
) -> LabelTable | None:
    """The table beside files of bags: ``labels.csv``, or the only CSV of the folder or its parent.

    In the parent, which may hold other things, a CSV by another name counts if it gives labels.

    Args:
        folder: Where the bags are.
        columns: Names of its columns where they are not the usual ones.
        labelled: False leaves labels out.
        in_parent: Whether a table in the parent counts.
    """
    path = _table_path(folder, columns, in_parent=in_parent)
    if path is None:
        return None
    held = column_names(path)
    bag = column(path, held, columns.named("bag"), BAG)
    if bag is None:
        raise FoveateError(
            f"{path} has no column that names the bags ({', '.join(BAG)}); its columns are "
            f"{', '.join(held)}"
        )
    known = labelled is not False
    chosen = {
        "label": column(path, held, columns.named("label"), ("label",)) if known else None,
        "group": column(path, held, columns.group, GROUP, needed=known),
        "split": column(path, held, columns.split, ("split",), needed=known),
    }
    requested = {what: name for what, name in chosen.items() if name is not None and name != bag}
    line: dict[str, int] = {}
    values: dict[str, dict[str, str | None]] = {what: {} for what in requested}
    for number, cells in rows(path, [bag, *requested.values()]):
        name = _key(cells[0], f"{where(path, number)}, column '{bag}'")
        if name in line:
            raise FoveateError(
                f"{where(path, number)}: bag '{name}' has a row already, line {line[name]}"
            )
        line[name] = number
        for (what, of_column), cell in zip(requested.items(), cells[1:], strict=True):
            if what == "label" and not columns.is_label(cell):
                values[what][name] = None
            else:
                values[what][name] = _key(cell, f"{where(path, number)}, column '{of_column}'")
    _add_stems(line, values)
    return LabelTable(path, line, values, _roles(held, bag, requested))


def _add_stems(line: dict[str, int], values: dict[str, dict[str, str | None]]) -> None:
    """Add names without their ending, if one row has it: a.svs in the table, a.h5 as a file."""
    stems = [(name, match[1]) for name in line if (match := ENDING.fullmatch(name))]
    counts = Counter(stem for _, stem in stems)
    for name, stem in stems:
        if stem not in line and counts[stem] == 1:
            line[stem] = line[name]
            for of_bag in values.values():
                of_bag[stem] = of_bag[name]


def _roles(names: Sequence[str], bag: str, requested: dict[str, str]) -> tuple[ColumnRole, ...]:
    """The role of every column of the table."""
    role = {bag: "bag", **{name: what for what, name in requested.items()}}
    reason = "in the table beside the bags"
    return tuple(
        ColumnRole(name, role[name], reason)
        if name in role
        else ColumnRole(name, "left out", f"{reason}, which has no use for it")
        for name in names
    )


def _key(cell: object, location: str) -> str:
    name = name_of(cell)
    if name is None:
        raise FoveateError(f"{location}: is missing")
    return name


def _table_path(folder: Path, columns: Columns, *, in_parent: bool) -> Path | None:
    for parent in (folder, folder.parent) if in_parent else (folder,):
        tables = sorted(f for f in parent.glob("*.[ct]sv") if f.name not in OTHER_TABLES)
        tables = [table for table in tables if not is_hidden(table)]
        best = [file for file in tables if file.name in PREFERRED_NAMES] or tables
        if parent != folder:
            best = [f for f in best if f.name in PREFERRED_NAMES or _gives_labels(f, columns)]
        if len(best) == 1:
            return best[0]
        if best and parent == folder:
            listed = ", ".join(file.name for file in best)
            raise FoveateError(f"{parent} holds several tables ({listed}): call one labels.csv")
    return None


def _gives_labels(path: Path, columns: Columns) -> bool:
    """Whether a table names bags and their labels; one that cannot be read does not."""
    try:
        held = column_names(path)
    except FoveateError:
        return False
    chosen = [
        column(path, held, columns.named(what), usual, needed=False)
        for what, usual in (("bag", BAG), ("label", ("label",)))
    ]
    return None not in chosen
