"""Rationales: which words of a text a person annotated as evidence for its label."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from foveate.errors import FoveateError
from foveate.io.rows import rows, where
from foveate.io.tokenisation import words as split_words
from foveate.types import Array

__all__ = ["read_rationales", "token_flags"]


def read_rationales(path: Path, text: str, column: str) -> list[Array | None]:
    """The rationale of every text, one flag per token, None where a text has none.

    Args:
        path: A table.
        text: Its column of texts.
        column: Its column of rationales: 0 or 1 for every word that spaces separate, as a list or
            as text ("0 0 1"); empty where a text has none.
    """
    return [
        _rationale(content, flags, f"{where(path, number)}, column '{column}'")
        for number, (content, flags) in rows(path, [text, column])
    ]


def token_flags(text: str, flags: Sequence[bool]) -> Array:
    """The flags of words that spaces separate, repeated for all tokens of each word.

    Example:
        >>> token_flags("not good, really", [False, True, False]).tolist()
        [False, True, True, False]
    """
    counts = [len(split_words(word)) for word in text.split()]
    return np.repeat(np.asarray(flags, bool), counts)


def _rationale(text: str, flags: Any, where: str) -> Array | None:
    values = flags.replace(",", " ").split() if isinstance(flags, str) else flags
    if values is None or len(values) == 0:
        return None
    if not all(str(value) in ("0", "1", "0.0", "1.0", "True", "False") for value in values):
        raise FoveateError(f"{where}: a rationale must be 0 or 1 for every word, got {flags!r}")
    flagged = [str(value) in ("1", "1.0", "True") for value in values]
    if len(flagged) != len(text.split()):
        raise FoveateError(
            f"{where}: the text has {len(text.split())} words, its rationale {len(flagged)} flags"
        )
    return token_flags(text, flagged)
