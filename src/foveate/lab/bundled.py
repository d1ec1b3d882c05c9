"""Results that come with the package, so that every page has something to show at once."""

import gzip
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from foveate.errors import FoveateError

__all__ = ["BUNDLED", "LARGEST", "bundled_json", "write_bundled_json"]

BUNDLED = Path(__file__).parent / "bundled"
LARGEST = 15_000_000  # bytes of all files together


@lru_cache(maxsize=4)
def bundled_json(name: str) -> Any:
    """A bundled result by name.

    Example:
        >>> sorted(bundled_json("explorable"))[:3]
        ['bags', 'cells', 'classes']
    """
    path = BUNDLED / f"{name}.json.gz"
    try:
        return json.loads(gzip.decompress(path.read_bytes()))
    except (OSError, ValueError) as error:
        raise FoveateError(f"{path} is missing or damaged: install foveate again") from error


def write_bundled_json(name: str, content: Any) -> int:
    """Write a bundled result, the same bytes for the same content; returns its size."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    data = gzip.compress(text.encode(), 9, mtime=0)
    BUNDLED.mkdir(exist_ok=True)
    (BUNDLED / f"{name}.json.gz").write_bytes(data)
    return len(data)
