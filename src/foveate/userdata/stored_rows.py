"""Files of a run that say which bags are used for what, ``split.json`` and ``folds.json``."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from foveate.errors import FoveateError
from foveate.records.checksums import advice, read_json

__all__ = ["must_not_be_trained", "read_rows"]

T = TypeVar("T")


def read_rows(path: Path, parse: Callable[[dict[str, Any]], T]) -> T | None:
    """The content of a file with rows of bags; None if there is no such file.

    Args:
        path: The file.
        parse: Makes the result of the entries of the file.
    """
    try:
        return parse(read_json(path))
    except FileNotFoundError:
        return None
    except FoveateError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        reason = f"{type(error).__name__} {error}"
        raise FoveateError(f"{path} is damaged: {reason}{advice(path)}") from None


def must_not_be_trained(path: Path) -> None:
    """Raise if a part of a run is trained although its file with the rows of bags is missing."""
    begun = [*path.parent.glob("*/record.npz"), *path.parent.glob("*/checkpoint.*")]
    if begun:
        raise FoveateError(
            f"{path} is missing although {begun[0].parent.name} is trained: which bags it was "
            "trained on is unknown, so start a new run"
        )
