"""Names for things that plug in: registered objects, drop-in files, and "Did you mean …"."""

import difflib
import importlib
import pkgutil
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from foveate.errors import FoveateError

__all__ = ["Registry"]

T = TypeVar("T")


class Registry(Generic[T]):
    """A table from names to objects of one kind.

    Args:
        kind: What the objects are, for messages ("paradigm").
        package: A package, or several, whose modules register themselves on import. Every file
            dropped into it is found without being listed anywhere.
        nested: Whether the objects are one level deeper, in the subpackages of ``package``.

    Example:
        >>> shapes: Registry[type] = Registry("shape")
        >>> @shapes.register("square")
        ... class Square: ...
        >>> shapes.get("sqare")
        Traceback (most recent call last):
        foveate.errors.FoveateError: unknown shape 'sqare'. Did you mean 'square'?
    """

    def __init__(
        self, kind: str, package: str | tuple[str, ...] = (), *, nested: bool = False
    ) -> None:
        self.kind, self._nested = kind, nested
        self._packages = (package,) if isinstance(package, str) else package
        self._items: dict[str, T] = {}

    def register(self, name: str) -> Callable[[T], T]:
        """Decorate an object to enter it under ``name``; a name is given once."""

        def enter(item: T) -> T:
            if name in self._items:
                raise FoveateError(f"{self.kind} '{name}' is registered twice")
            self._items[name] = item
            return item

        return enter

    def get(self, name: str) -> T:
        """The object called ``name``, or an error that offers the nearest names."""
        if name not in self._items:  # what is there already needs no other module
            self._discover()
        if name in self._items:
            return self._items[name]
        near = difflib.get_close_matches(name, self._items, n=1, cutoff=0.5)
        hint = f"Did you mean '{near[0]}'?" if near else f"Known: {', '.join(self.names())}."
        raise FoveateError(f"unknown {self.kind} '{name}'. {hint}")

    def names(self) -> list[str]:
        """All names, in order of registration."""
        self._discover()
        return list(self._items)

    def items(self) -> Iterator[tuple[str, T]]:
        """All pairs of name and object."""
        self._discover()
        yield from self._items.items()

    def __contains__(self, name: str) -> bool:
        if name not in self._items:
            self._discover()
        return name in self._items

    def _discover(self) -> None:
        packages, self._packages = self._packages, ()
        if self._nested:
            packages = tuple(sub for name in packages for sub in _modules(name, packages_only=True))
        for name in packages:
            for module in _modules(name):
                importlib.import_module(module)


def _modules(package: str, *, packages_only: bool = False) -> list[str]:
    """Full names of the modules right inside a package, in alphabetical order."""
    path = importlib.import_module(package).__path__
    found = sorted((info.name, info.ispkg) for info in pkgutil.iter_modules(path))
    return [f"{package}.{name}" for name, is_package in found if is_package or not packages_only]
