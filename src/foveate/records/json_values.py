"""Values as JSON stores them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["to_json"]


def to_json(value: Any, *, named: bool = True) -> Any:
    """Arrays and tuples as lists, NumPy scalars as numbers, and numbers that JSON lacks as null.

    Args:
        value: Any nesting of mappings, sequences, arrays and scalars.
        named: Whether a named tuple becomes an object; a list otherwise.

    Example:
        >>> to_json({"a": np.array([1.0, np.nan]), "b": np.int64(3)})
        {'a': [1.0, None], 'b': 3}
    """
    if isinstance(value, Mapping):
        return {str(key): to_json(item, named=named) for key, item in value.items()}
    if isinstance(value, list | tuple):
        if named and hasattr(value, "_asdict"):
            return to_json(value._asdict())
        return [to_json(item, named=named) for item in value]
    if isinstance(value, np.ndarray):
        finite = value.dtype.kind != "f" or bool(np.isfinite(value).all())
        return value.tolist() if finite else to_json(value.tolist())
    if isinstance(value, np.generic):
        return to_json(value.item())
    return None if isinstance(value, float) and not np.isfinite(value) else value
