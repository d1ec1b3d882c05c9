"""What a cell of a text table holds: a number in some form, a time, or a text."""

import re
from typing import Any, Literal

import numpy as np

__all__ = ["DECIMAL", "THOUSANDS", "Form", "form_of", "quoted_cell", "without_marks"]

Form = Literal["number", "comma", "percent", "boolean", "time", "text", "list"]

MARKED = re.compile(r"[+-]?[1-9]\d{0,2}([\u00a0\u202f\u2009'\u2019]\d{3})+([.,]\d*)?")
"""Numbers with no-break or thin spaces or apostrophes between thousands."""
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")
DECIMAL = re.compile(r"[+-]?(\d+|[1-9]\d{0,2}(\.\d{3})+),\d+([eE][+-]?\d+)?")
TIME = re.compile(
    r"\d{4}-\d{1,2}-\d{1,2}([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?\s*(Z|UTC|[+-]\d{2}:?\d{2})?)?"
    r"|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}( \d{1,2}:\d{2}(:\d{2})?)?"
    r"|\d{4}/\d{1,2}/\d{1,2}( \d{1,2}:\d{2}(:\d{2})?)?"
    r"|\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?"
)
BOOLEANS = {"true": 1.0, "false": 0.0}


def form_of(cell: Any) -> tuple[Form, float]:
    """What a cell that is not missing holds, and its value where that is certain."""
    if not isinstance(cell, str):
        try:
            return "number", float(cell)
        except (TypeError, ValueError, OverflowError):
            return "text", np.nan
    text = without_marks(cell)
    if text.lower() in BOOLEANS:
        return "boolean", BOOLEANS[text.lower()]
    if text.endswith("%") and _is_number(text[:-1].strip()):
        return "percent", np.nan
    if _is_number(text):
        return ("comma", np.nan) if "," in text else ("number", float(text))
    return ("time" if TIME.fullmatch(text) else "text"), np.nan


def without_marks(cell: str) -> str:
    """A cell with an ASCII minus and without spaces or apostrophes between thousands."""
    text = cell.strip().replace("\u2212", "-")
    return re.sub(r"[^\d.,+%-]", "", text) if MARKED.fullmatch(text.rstrip("%").strip()) else text


def _is_number(text: str) -> bool:
    if "," in text:
        return bool(THOUSANDS.fullmatch(text) or DECIMAL.fullmatch(text))
    try:
        return "_" not in text and not np.isnan(float(text))
    except ValueError:
        return False


def quoted_cell(cell: Any) -> str:
    """A cell for messages, at most 40 characters of it."""
    text = repr(cell)
    return text if len(text) <= 40 else f"{text[:37]}…"
