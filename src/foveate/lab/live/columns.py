"""The columns of an uploaded file: sample values, and the role each was given."""

import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from foveate.errors import FoveateError
from foveate.lab.live.table_rows import is_number, table_rows

if TYPE_CHECKING:
    from foveate.io.collection import Collection

__all__ = ["column_table", "suggest_absent"]

SAMPLED = 200  # rows that sample values are taken from
GUESSES = {
    "bag": "texts that repeat, with most different values",
    "label": "one value in each bag, few different ones",
    "group": "one value in each bag, shared by several bags",
    "relevance": "0 and 1 with gaps",
    "place": "its name",
    "feature": "numbers",
    "text": "texts of several words",
    "left out": "neither numbers nor constant within a bag",
}
MAX_EXAMPLES = 4  # different values of a column
LONGEST = 60  # letters of a value
EMPTY_NAMES = (
    *("none", "normal", "negative", "neg", "healthy", "control", "background", "absent", "nothing"),
    *("no", "empty", "clear", "benign", "baseline", "well", "clean", "ok", "0", "false"),
)
NEGATED = re.compile(r"(no|not|non|without)[ _-]", re.IGNORECASE)  # "no wren", "non-toxic"


def column_table(
    path: Path, collection: "Collection | None", roles: dict[str, str], *, guessed: bool = False
) -> list[Any]:
    """A row for every column: name, sample values, role and the reason for it.

    Args:
        path: The file.
        collection: What was read from it; None where reading failed.
        roles: Roles that the user has set, or that were guessed.
        guessed: Whether the roles were guessed.
    """
    known = {role.name: role for role in (collection.roles if collection is not None else ())}
    rows = []
    for name, values in _samples(path).items():
        if name in known:
            role, reason = known[name].role, known[name].reason
        else:
            role, reason = _guess(name, values, collection)
        if name in roles and (roles[name] != role or name not in known or "--" in reason):
            role = roles[name]
            reason = GUESSES.get(role, "") if guessed else "chosen here"
        is_label = role == "label" and collection is not None and collection.labelled
        some = collection.classes if collection is not None and is_label else values
        row = {"name": name, "values": list(some[:MAX_EXAMPLES]), "role": role, "reason": reason}
        rows.append(row)
    return rows


def _samples(path: Path) -> dict[str, list[str]]:
    """A few different values of every column."""
    table: dict[str, dict[str, None]] = {}
    try:
        for row in islice(table_rows(path), SAMPLED):
            for name, value in row.items():
                text = "" if value is None else str(value)
                if text and len(seen := table.setdefault(str(name), {})) < MAX_EXAMPLES:
                    seen.setdefault(text if len(text) <= LONGEST else f"{text[:LONGEST]}…")
                else:
                    table.setdefault(str(name), {})
    except (OSError, ValueError, FoveateError):
        return {}
    return {name: list(values) for name, values in table.items()}


def _guess(name: str, values: Sequence[str], collection: "Collection | None") -> tuple[str, str]:
    """The role of a column that the reader gave no reason for."""
    if collection is not None and name in collection.columns:
        return "feature", "a column of numbers"
    lower = name.lower()
    for role in ("bag", "label", "text", "group", "relevance", "split"):
        if lower == role:
            return role, f"called '{name}'"
    numeric = bool(values) and all(is_number(value) for value in values)
    return ("feature", "numbers") if numeric else ("left out", "neither named nor numbers")


def suggest_absent(collection: "Collection") -> dict[str, Any] | None:
    """The class that may mean that nothing is there, and why; None if the data suggest none.

    Known relevance decides where there is some: the class whose bags have no relevant segment.
    Otherwise the name of a class, and otherwise its bags: those whose most unusual segment is less
    unusual than that of the other classes' bags.
    """
    if len(collection.classes) < 2:
        return None
    y = collection.bag.y.numpy()
    if collection.known is not None and collection.bag.z is not None:
        known = collection.known.numpy()
        some = collection.bag.z.any(1).numpy()
        for c, name in enumerate(collection.classes):
            rows = known & (y == c)
            if rows.any() and not some[rows].any():
                return {"name": name, "reason": "none of its bags has a relevant segment"}
        if known.all():
            return None
    for name in collection.classes:
        if name.lower().strip() in EMPTY_NAMES or NEGATED.match(name):
            return {"name": name, "reason": f"it is called “{name}”"}
    return _least_unusual(collection, y)


def _least_unusual(collection: "Collection", y: Any) -> dict[str, Any] | None:
    from foveate.io.view import View

    if collection.kind not in ("features", "series"):
        return None
    view = View(collection)
    x = np.asarray(view.segments(), np.float64).reshape(int(view.lengths.sum()), -1)
    middle = np.median(x, 0)
    spread = np.median(np.abs(x - middle), 0)
    scaled = np.abs(x - middle) / np.where(spread > 0, spread, 1.0)
    largest = np.maximum.reduceat(scaled.max(1), view.start)
    by_class = [largest[y == c] for c in range(len(collection.classes))]
    if any(len(values) < 5 for values in by_class):
        return None
    c = int(np.argmin([np.median(values) for values in by_class]))
    others = np.concatenate([values for k, values in enumerate(by_class) if k != c])
    if np.quantile(by_class[c], 0.75) >= np.quantile(others, 0.25):
        return None
    reason = "its bags have no segment that stands out as in the other classes"
    return {"name": collection.classes[c], "reason": reason}
