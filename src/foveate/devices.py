"""The device on which models are trained and evaluated: the one place that decides.

Parameters and bags are moved to it by :class:`~foveate.training.stack.Stack` and
:class:`~foveate.training.stack.MemberBags`; everything else follows the tensors that it gets.
Random numbers are drawn on the CPU, so that they do not depend on the device, and files hold
tensors of the CPU, so that a run continues on another device. Nothing falls back to the CPU: a
device that does not exist is an error.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from foveate.errors import FoveateError

if TYPE_CHECKING:
    import torch

__all__ = ["DEVICES", "VARIABLE", "current_device", "find_device", "use_device"]

DEVICES = ("auto", "cpu", "cuda", "mps")
VARIABLE = "FOVEATE_DEVICE"
"""Environment variable with the name of the device; worker processes inherit it."""


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
