"""Registries of named objects: drop-in files, entry points of other packages, "Did you mean …"."""

import difflib
import importlib
import pkgutil
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar

from foveate.errors import FoveateError

__all__ = ["PluginWarning", "Registry"]

T = TypeVar("T")


class PluginWarning(UserWarning):
    """A plug-in of another package could not be loaded."""


class Registry(Generic[T]):
    """A table from names to objects of one kind.

    Objects come from three places, in this order: modules of ``package``, which register themselves
    on import; decorated objects of the running program; and entry points of installed packages. An
    entry point ``name = "module:object"`` of the registry's group registers that object under its
    name; ``name = "module"`` imports a module that registers objects itself. A plug-in that fails
    is reported in one :class:`PluginWarning` and has no effect on the others.

    Args:
        kind: What the objects are, for messages ("paradigm").
        package: A package, or several, whose modules register themselves on import. Every file
            in it is found without being listed anywhere.
        nested: Whether the objects are one level deeper, in the subpackages of ``package``.
        group: The group of entry points ("foveate.paradigms"); None for no plug-ins.
        check: Raises an error for an object that cannot be used; applied to plug-ins.

    Example:
        >>> shapes: Registry[type] = Registry("shape")
        >>> @shapes.register("square")
        ... class Square: ...
        >>> shapes.get("sqare")
        Traceback (most recent call last):
        foveate.errors.FoveateError: unknown shape 'sqare'. Did you mean 'square'?
    """

    def __init__(
        self,
        kind: str,
        package: str | tuple[str, ...] = (),
        *,
        nested: bool = False,
        group: str | None = None,
        check: Callable[[T], object] | None = None,
    ) -> None:
        self.kind, self._nested, self._group = kind, nested, group
        self._packages = (package,) if isinstance(package, str) else package
        self._check = check
        self._items: dict[str, T] = {}

    def register(self, name: str) -> Callable[[T], T]:
        """Decorate an object to register it under ``name``, which must be unused."""

        def enter(item: T) -> T:
            if name in self._items:
                raise FoveateError(f"{self.kind} '{name}' is registered twice")
            self._items[name] = item
            return item

        return enter

    def get(self, name: str) -> T:
        """The object called ``name``, or an error that suggests the nearest name."""
        if name not in self._items:  # a registered object needs no other module
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
        group, self._group = self._group, None
        if group is not None:
            for plugin in entry_points(group=group):
                self._load_plugin(plugin)

    def _load_plugin(self, plugin: EntryPoint) -> None:
        """Register what an entry point names; undo and warn if that fails in any way."""
        before = dict(self._items)
        try:
            loaded = plugin.load()
            if plugin.attr and all(loaded is not item for item in self._items.values()):
                self.register(plugin.name)(loaded)
            if self._check is not None:
                for name in self._items.keys() - before.keys():
                    self._check(self._items[name])
        except Exception as error:  # a plug-in may fail in any way
            self._items = before
            package = plugin.dist.name if plugin.dist else plugin.value
            cause = str(error).partition("\n")[0] or type(error).__name__
            warnings.warn(
                f"{self.kind} '{plugin.name}' of package '{package}' could not be loaded and is "
                f"left out: {cause}",
                PluginWarning,
                stacklevel=4,
            )


def _modules(package: str, *, packages_only: bool = False) -> list[str]:
    """Full names of the modules directly inside a package, in alphabetical order."""
    path = importlib.import_module(package).__path__
    infos = sorted((info.name, info.ispkg) for info in pkgutil.iter_modules(path))
    return [f"{package}.{name}" for name, is_package in infos if is_package or not packages_only]
