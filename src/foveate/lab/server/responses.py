"""JSON responses that a browser can read, and errors as one sentence."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from fastapi import HTTPException
from starlette.responses import Response

from foveate.records.json_values import to_json

__all__ = ["error_response", "json_response", "not_found"]


def json_response(value: Any, status: int = 200) -> Response:
    """A value as a JSON response that the browser does not cache."""
    try:  # nearly always all numbers are finite, and checking each is slower than writing it
        text = _dump(value, allow_nan=False)
    except ValueError:
        text = _dump(to_json(value, named=False))
    return Response(text.encode(), status, {"Cache-Control": "no-store"}, "application/json")


def _dump(value: Any, *, allow_nan: bool = True) -> str:
    return json.dumps(
        value, ensure_ascii=False, separators=(",", ":"), allow_nan=allow_nan, default=_convert
    )


def _convert(value: Any) -> Any:
    """What the JSON encoder does not know, as something it knows."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be sent as JSON")


def error_response(sentence: str, status: int = 400) -> Response:
    """An error in one sentence."""
    return json_response({"error": sentence}, status)


def not_found(sentence: str) -> HTTPException:
    """The exception to raise where something is requested that does not exist."""
    return HTTPException(404, sentence)
