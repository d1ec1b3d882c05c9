"""User files as bags: the format is detected from the path; errors name the row.

Names are imported when they are first used, so that commands can show their flags at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["Collection", "read_bags"]

LAZY_MODULES = {"Collection": "foveate.io.collection", "read_bags": "foveate.io.reading"}


def __getattr__(name: str) -> Any:
    if name not in LAZY_MODULES:
        raise AttributeError(f"module 'foveate.io' has no attribute '{name}'")
    return getattr(import_module(LAZY_MODULES[name]), name)


if TYPE_CHECKING:
    from foveate.io.collection import Collection
    from foveate.io.reading import read_bags
