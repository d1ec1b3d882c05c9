"""Flags that take whole numbers refuse fractions, which the parser would round."""

import inspect
import re
import typing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from foveate.errors import FoveateError

__all__ = ["check_whole_numbers"]

FRACTION = re.compile(r"[+-]?\d*\.\d*")


def check_whole_numbers(function: Callable[..., Any], tokens: Sequence[str]) -> None:
    """Raise for a fraction after a flag whose parameter is an integer.

    Args:
        function: The command.
        tokens: Its arguments.

    Example:
        >>> def command(*, points: int = 3) -> None: ...
        >>> check_whole_numbers(command, ["--points", "3.7"])
        Traceback (most recent call last):
        foveate.errors.FoveateError: --points must be a whole number, got 3.7
    """
    flags = {
        f"--{name.replace('_', '-')}"
        for name, annotation in _annotations(function)
        if _is_integer(annotation)
    }
    for k, token in enumerate(tokens):
        name, equals, value = token.partition("=")
        value = value if equals else "".join(tokens[k + 1 : k + 2])
        if name in flags and FRACTION.fullmatch(value) and not _is_integral(value):
            raise FoveateError(f"{name} must be a whole number, got {value}")


def _annotations(function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """Names and types of the parameters, those of data classes of flags included."""
    for name, parameter in inspect.signature(function).parameters.items():
        yield name, parameter.annotation
        if typing.get_origin(parameter.annotation) is typing.Annotated:
            kind = typing.get_args(parameter.annotation)[0]
            if is_dataclass(kind):
                yield from ((field.name, field.type) for field in fields(kind))


def _is_integer(annotation: Any) -> bool:
    """Whether an annotation is int, or int | None, with or without Annotated."""
    if typing.get_origin(annotation) is typing.Annotated:
        annotation = typing.get_args(annotation)[0]
    return annotation is int or set(typing.get_args(annotation)) == {int, type(None)}


def _is_integral(text: str) -> bool:
    try:
        return float(text).is_integer()
    except ValueError:
        return True  # not a number: the parser reports it
