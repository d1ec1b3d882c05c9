"""Validated settings: constrained types and errors of one sentence."""

import difflib
from collections.abc import Collection
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
)

from foveate.errors import FoveateError

__all__ = [
    "AtLeastTwo",
    "Count",
    "NonEmpty",
    "NonNegative",
    "Positive",
    "Settings",
    "Share",
    "Words",
    "one_of",
]

Count = Annotated[int, Field(ge=1)]
AtLeastTwo = Annotated[int, Field(ge=2)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, lt=1)]
T = TypeVar("T")
NonEmpty = Annotated[tuple[T, ...], Field(min_length=1)]
MOST_NAMES = 20  # names listed in an error message


def _words(value: Any) -> Any:
    """Words separated by commas, or a list of them."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple):
        return value
    return tuple(word.strip() for part in parts for word in str(part).split(","))


Words = Annotated[tuple[str, ...], BeforeValidator(_words)]


def one_of(names: Collection[str]) -> AfterValidator:
    """A validator for ``Annotated[str, …]``: the text must be one of the names."""

    def check(value: str) -> str:
        if value in names:
            return value
        if len(names) <= MOST_NAMES:
            raise ValueError(f"must be among {', '.join(names)}")
        near = difflib.get_close_matches(value, names, n=3, cutoff=0)
        raise ValueError(f"must be one of {len(names)} names, as {', '.join(map(repr, near))}")

    return AfterValidator(check)


class Settings(BaseModel):
    """A frozen set of named values whose errors are one sentence.

    Example:
        >>> class Sizes(Settings):
        ...     seeds: Count = 3
        ...     sets: tuple[Annotated[str, one_of(("digits", "mnist"))], ...] = ("digits",)
        >>> Sizes(sets=("digit",))
        Traceback (most recent call last):
        foveate.errors.FoveateError: sets: must be among digits, mnist, got 'digit'
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise FoveateError(_sentence(error, type(self))) from None


def _sentence(error: ValidationError, kind: type[BaseModel]) -> str:
    """The first problem as a sentence: what must hold, what was given, where."""
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"][:1]).replace("_", "-")
    if first["type"] == "extra_forbidden":
        near = difflib.get_close_matches(str(first["loc"][0]), kind.model_fields, n=1)
        return f"unknown setting '{first['loc'][0]}'" + (
            f". Did you mean '{near[0]}'?" if near else ""
        )
    if first["type"] == "missing":
        return f"{name} must be given"
    message = first["msg"].removeprefix("Value error, ")
    if not name:
        return message
    return f"{name}: {message[0].lower()}{message[1:]}, got {first['input']!r}"
