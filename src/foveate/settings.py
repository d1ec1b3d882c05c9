"""Validated settings with errors of one sentence, and the device on which models run.

Parameters and bags are moved to the device by :class:`~foveate.training.stack.Stack` and
:class:`~foveate.training.stack.MemberBags`; everything else follows the tensors that it gets.
Random numbers are drawn on the CPU, so that they do not depend on the device, and files hold
tensors of the CPU, so that a run continues on another device. Nothing falls back to the CPU: a
device that does not exist is an error.
"""

import difflib
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
)

from foveate.errors import FoveateError

if TYPE_CHECKING:
    import torch

__all__ = [
    "DEVICES",
    "VARIABLE",
    "AtLeastTwo",
    "Count",
    "NonEmpty",
    "NonNegative",
    "Positive",
    "Settings",
    "Share",
    "Words",
    "current_device",
    "find_device",
    "one_of",
    "use_device",
]

Count = Annotated[int, Field(ge=1)]
AtLeastTwo = Annotated[int, Field(ge=2)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, lt=1)]
T = TypeVar("T")
NonEmpty = Annotated[tuple[T, ...], Field(min_length=1)]
MOST_NAMES = 20  # names listed in an error message
DEVICES = ("auto", "cpu", "cuda", "mps")
VARIABLE = "FOVEATE_DEVICE"
"""Environment variable with the name of the device; worker processes inherit it."""


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
    """The first problem as a sentence: the rule, the value, and the field."""
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


def find_device(name: str) -> "torch.device":
    """The device of a name; "auto" is the first of CUDA, MPS and the CPU that exists.

    Example:
        >>> find_device("cpu")
        device(type='cpu')
        >>> find_device("tpu")
        Traceback (most recent call last):
        foveate.errors.FoveateError: the device must be one of auto, cpu, cuda, mps, got 'tpu'
    """
    import torch

    kind = name.split(":", maxsplit=1)[0]
    if kind not in DEVICES or kind == "auto" != name:
        raise FoveateError(f"the device must be one of {', '.join(DEVICES)}, got '{name}'")
    if kind == "auto":
        kind = name = next(other for other in ("cuda", "mps", "cpu") if _count(other))
    if not _count(kind):
        raise FoveateError(
            f"the device '{name}' is not available: torch {torch.__version__} finds no "
            f"{kind.upper()} device on this machine; use the device cpu, or auto"
        )
    device = torch.device(name)
    if device.index is not None and device.index >= _count(kind):
        raise FoveateError(f"there are {_count(kind)} {kind.upper()} devices, got '{name}'")
    return device


def current_device() -> "torch.device":
    """The device of new models and bags: that of FOVEATE_DEVICE, else the CPU."""
    return find_device(os.environ.get(VARIABLE) or "cpu")


@contextmanager
def use_device(name: str | None) -> "Iterator[torch.device]":
    """Put new models and bags on a device, in this process and those it starts.

    Args:
        name: "auto", "cpu", "cuda", "cuda:1", "mps"; None to change nothing.

    Example:
        >>> with use_device("cpu") as device:
        ...     device, current_device()
        (device(type='cpu'), device(type='cpu'))
    """
    if name is None:
        yield current_device()
        return
    device, before = find_device(name), os.environ.get(VARIABLE)
    os.environ[VARIABLE] = str(device)
    try:
        yield device
    finally:
        if before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = before


def _count(kind: str) -> int:
    """How many devices of a kind exist."""
    import torch

    if kind == "cuda":
        return torch.cuda.device_count() if torch.cuda.is_available() else 0
    if kind == "mps":
        return int(torch.backends.mps.is_available())
    return 1
