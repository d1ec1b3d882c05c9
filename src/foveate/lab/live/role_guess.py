"""Guess the roles of the columns of a table from their values, where names are not usual ones."""

from collections.abc import Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from foveate.errors import FoveateError
from foveate.lab.live.table_rows import is_number, table_rows

__all__ = ["guess_roles"]

MAX_GUESS_ROWS = 5000  # rows from which roles are guessed
MAX_CLASSES = 20
LEAST_WORDS = 4  # in the mean value of a column of texts
LEAST_DIFFERENT = 0.05  # of the texts: an article may stand in many rows
POSITION_NAMES = ("start", "end", "x", "y", "width", "height")

Table = dict[str, list[str]]


def guess_roles(path: Path) -> dict[str, str]:
    """Roles of the columns of a table whose names are not the usual ones, from its values.

    The column with most words in each value holds texts, if these are several and differ. The
    bag is the column with most different values of which rows repeat; with texts, or whole
    numbers, its rows follow each other. The label is the column with fewest values that is
    constant within a bag, a group one with more of them. Texts of which every row is a bag need no
    column for it. A column of 0 and 1 with gaps marks evidence, start and end, or x and y, are
    places, other numbers are features. Columns of lists are left out.

    Returns:
        A role for each column, or nothing where no label can be found.
    """
    try:
        rows = list(islice(table_rows(path), MAX_GUESS_ROWS))
    except (OSError, ValueError, FoveateError):
        return {}
    names = _names(rows)
    lists = {n for n in names if any(isinstance(r.get(n), list | dict) for r in rows)}
    roles = _guess(_as_text(rows, names, lists))
    return roles and roles | dict.fromkeys(lists, "left out")


def _as_text(rows: Sequence[dict[str, Any]], names: Sequence[str], lists: set[str]) -> Table:
    return {
        name: ["" if row.get(name) is None else str(row[name]) for row in rows]
        for name in names
        if name not in lists
    }


def _guess(table: Table) -> dict[str, str]:
    text = _text_column(table)
    textual = [n for n, values in table.items() if not all(is_number(v) for v in values if v)]
    for bag in _bag_columns(table, textual, text):
        constant = [n for n in table if n not in (bag, text) and _is_constant(table[bag], table[n])]
        if label := _label(table, constant, textual):
            return _roles(table, bag, label, constant, textual, text)
    if text is None:
        return {}
    others = [n for n in table if n != text]
    label = _label(table, others, textual)
    ids = [n for n in others if _count(v := table[n]) == len(v) and _mean_words(v) < LEAST_WORDS]
    return _roles(table, ids[0] if ids else None, label, (), textual, text) if label else {}


def _roles(
    table: Table,
    bag: str | None,
    label: str,
    constant: Sequence[str],
    textual: Sequence[str],
    text: str | None,
) -> dict[str, str]:
    known = {bag: "bag", label: "label", text: "text"}
    roles = {name: role for name, role in known.items() if name is not None}
    least = _count(table[label])
    groups = [n for n in constant if n not in roles and n in textual and _count(table[n]) > least]
    if groups:
        roles[groups[0]] = "group"
    return roles | {n: _number_role(n, table[n], textual, text) for n in table if n not in roles}


def _names(rows: Sequence[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(str(name) for row in rows for name in row if name is not None))


def _count(values: Sequence[str]) -> int:
    """How many different values there are, gaps apart."""
    return len({value for value in values if value})


def _mean_words(values: Sequence[str]) -> float:
    return sum(len(value.split()) for value in values) / max(1, len(values))


def _text_column(table: Table) -> str | None:
    """The column of texts, the longest ones if there are several."""
    words = {n: _mean_words(v) for n, v in table.items() if _count(v) > LEAST_DIFFERENT * len(v)}
    name = max(words, key=words.__getitem__, default=None)
    return name if name is not None and words[name] >= LEAST_WORDS else None


def _bag_columns(table: Table, textual: Sequence[str], text: str | None) -> list[str]:
    """Columns of which rows repeat, those with most different values first."""
    columns = []
    for name, values in table.items():
        repeats = name != text and 2 <= _count(values) < len(values)
        if _mean_words(values) >= LEAST_WORDS:
            continue  # a text is no name of a bag
        together = name in textual and text is None
        if repeats and (together or (_is_whole(name, values, textual) and _follow(values))):
            columns.append(name)
    return sorted(columns, key=lambda n: -_count(table[n]))


def _is_whole(name: str, values: Sequence[str], textual: Sequence[str]) -> bool:
    """Whether values can be names: texts, or whole numbers."""
    return name in textual or all(value.lstrip("-").isdigit() for value in values if value)


def _follow(values: Sequence[str]) -> bool:
    """Whether rows with the same value follow each other, at least two in the mean."""
    changes = 1 + sum(one != other for one, other in pairwise(values))
    return changes == _count(values) and len(values) >= 2 * changes


def _label(table: Table, names: Sequence[str], textual: Sequence[str]) -> str | None:
    """The column with fewest different values: one called label, else of texts, if there is one."""
    possible = [n for n in names if 2 <= _count(table[n]) <= MAX_CLASSES]
    rank = {n: (n.lower() != "label", n not in textual, _count(table[n])) for n in possible}
    return min(possible, key=rank.__getitem__, default=None)


def _is_constant(bags: Sequence[str], values: Sequence[str]) -> bool:
    """Whether a column has one value in each bag."""
    first: dict[str, str] = {}
    return all(first.setdefault(bag, v) == v for bag, v in zip(bags, values, strict=True))


def _number_role(name: str, values: Sequence[str], textual: Sequence[str], text: str | None) -> str:
    if text is not None and name.lower() not in ("relevance", "split"):
        return "left out"  # segments are texts
    if name.lower() in POSITION_NAMES:
        return "place"
    if name.lower() in ("relevance", "split", "text", "group"):
        return name.lower()
    if name in textual:
        return "left out"
    present = set(values)
    return "relevance" if "" in present and present <= {"", "0", "1"} else "feature"
