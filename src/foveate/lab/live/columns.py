"""The columns of an uploaded file: sample values, and the role each was given."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from foveate.errors import FoveateError

if TYPE_CHECKING:
    from foveate.io.collection import Collection

__all__ = ["column_table", "guess_roles", "suggest_absent"]

SAMPLED = 200  # rows that sample values are taken from
MAX_GUESS_ROWS = 5000  # rows from which roles are guessed
MAX_CLASSES = 20
POSITION_NAMES = ("start", "end", "x", "y", "width", "height")
GUESSES = {
    "bag": "texts that repeat, with most different values",
    "label": "one value in each bag, few different ones",
    "group": "one value in each bag, shared by several bags",
    "relevance": "0 and 1 with gaps",
    "place": "its name",
    "feature": "numbers",
    "left out": "neither numbers nor constant within a bag",
}
MAX_EXAMPLES = 4  # different values of a column
LONGEST = 60  # letters of a value
EMPTY_NAMES = (
    *("none", "normal", "negative", "neg", "healthy", "control", "background", "absent", "nothing"),
    *("no", "empty", "clear", "benign", "baseline", "well", "clean", "ok", "0", "false"),
)


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
        rows.append({"name": name, "values": values, "role": role, "reason": reason})
    return rows


def _samples(path: Path) -> dict[str, list[str]]:
    """A few different values of every column."""
    table: dict[str, dict[str, None]] = {}
    try:
        for row in islice(_rows(path), SAMPLED):
            for name, value in row.items():
                text = "" if value is None else str(value)
                if text and len(seen := table.setdefault(str(name), {})) < MAX_EXAMPLES:
                    seen.setdefault(text if len(text) <= LONGEST else f"{text[:LONGEST]}…")
                else:
                    table.setdefault(str(name), {})
    except (OSError, ValueError, FoveateError):
        return {}
    return {name: list(values) for name, values in table.items()}


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    match path.suffix.lower():
        case ".csv" | ".tsv":
            import csv

            with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
                delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
                yield from csv.DictReader(file, delimiter=delimiter, restkey="(more cells)")
        case ".jsonl":
            import json

            with path.open(encoding="utf-8", errors="replace") as file:
                yield from (json.loads(line) for line in file if line.strip())
        case ".parquet":
            from pyarrow import ArrowException, parquet

            try:
                batches = parquet.ParquetFile(path).iter_batches(SAMPLED)
                yield from next(batches).to_pylist()
            except (ArrowException, StopIteration) as error:
                raise FoveateError(f"cannot be read: {error}") from None


def _guess(name: str, values: Sequence[str], collection: "Collection | None") -> tuple[str, str]:
    """The role of a column that the reader gave no reason for."""
    if collection is not None and name in collection.columns:
        return "feature", "a column of numbers"
    lower = name.lower()
    for role in ("bag", "label", "text", "group", "relevance", "split"):
        if lower == role:
            return role, f"called '{name}'"
    numeric = bool(values) and all(_is_number(value) for value in values)
    return ("feature", "numbers") if numeric else ("left out", "neither named nor numbers")


def guess_roles(path: Path) -> dict[str, str]:
    """Roles of the columns of a table whose names are not the usual ones, from its values.

    The bag is the text column with most values of which rows repeat; the label is the column with
    fewest values that is constant within a bag, a group one with more of them. A column of 0 and 1
    with gaps marks evidence, start and end, or x and y, are places, other numbers are features.

    Returns:
        A role for each column, or nothing where no bag and label can be found.
    """
    try:
        rows = list(islice(_rows(path), MAX_GUESS_ROWS))
    except (OSError, ValueError, FoveateError):
        return {}
    table = {
        name: ["" if r.get(name) is None else str(r[name]) for r in rows] for name in _names(rows)
    }
    counts = {name: len({value for value in values if value}) for name, values in table.items()}
    textual = [n for n, values in table.items() if not all(_is_number(v) for v in values if v)]
    repeated = [n for n in textual if 2 <= counts[n] < len(rows)]
    if not repeated:
        return {}
    bag = max(repeated, key=counts.__getitem__)
    constant = [n for n in table if n != bag and _is_constant(table[bag], table[n])]
    labels = [n for n in constant if 2 <= counts[n] <= MAX_CLASSES]
    if not labels:
        return {}
    label = min(labels, key=lambda n: (n not in textual, counts[n]))
    roles = {bag: "bag", label: "label"}
    groups = [n for n in constant if n != label and n in textual and counts[n] > counts[label]]
    if groups:
        roles[groups[0]] = "group"
    return roles | {n: _number_role(n, table[n], textual) for n in table if n not in roles}


def _names(rows: Sequence[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(str(name) for row in rows for name in row if name is not None))


def _is_constant(bags: Sequence[str], values: Sequence[str]) -> bool:
    """Whether a column has one value in each bag."""
    first: dict[str, str] = {}
    return all(first.setdefault(bag, v) == v for bag, v in zip(bags, values, strict=True))


def _number_role(name: str, values: Sequence[str], textual: Sequence[str]) -> str:
    if name.lower() in POSITION_NAMES:
        return "place"
    if name.lower() in ("relevance", "split", "text", "group"):
        return name.lower()
    if name in textual:
        return "left out"
    present = set(values)
    return "relevance" if "" in present and present <= {"", "0", "1"} else "feature"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


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
        if name.lower().strip() in EMPTY_NAMES:
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
