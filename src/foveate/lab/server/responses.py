"""Values as JSON that a browser can read, and mistakes as one sentence."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from fastapi import HTTPException
from starlette.responses import Response

__all__ = ["absent", "answer", "plain", "refusal"]


def plain(value: Any) -> Any:
    """Arrays become lists, and what is not a number becomes null, which JSON has a word for.

    Example:
        >>> plain({"a": np.array([1.0, np.nan]), "b": np.int64(3)})
        {'a': [1.0, None], 'b': 3}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, np.ndarray):
        whole = value.dtype.kind != "f" or bool(np.isfinite(value).all())
        return value.tolist() if whole else plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    return None if isinstance(value, float) and not np.isfinite(value) else value


def answer(value: Any, status: int = 200) -> Response:
    """A value as a JSON response that is never kept by the browser."""
    try:  # nearly always all are numbers, and looking at each takes longer than to write it
        text = _written(value, allow_nan=False)
    except ValueError:
        text = _written(plain(value))
    return Response(text.encode(), status, {"Cache-Control": "no-store"}, "application/json")


def _written(value: Any, *, allow_nan: bool = True) -> str:
    return json.dumps(
        value, ensure_ascii=False, separators=(",", ":"), allow_nan=allow_nan, default=_simple
    )


def _simple(value: Any) -> Any:
    """What JSON has no word for, one step nearer to what it has."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be told to a browser")


def refusal(sentence: str, status: int = 400) -> Response:
    """A mistake in one sentence."""
    return answer({"error": sentence}, status)


def absent(sentence: str) -> HTTPException:
    """What to raise where something is asked for that is not there."""
    return HTTPException(404, sentence)
