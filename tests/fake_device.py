"""A second device that computes on the CPU and refuses what a GPU refuses.

Its tensors say that they are on the device "meta" and wrap tensors of the CPU. Operations that mix
the two (beyond numbers) fail, and so does ``numpy()``, so that a test finds every tensor that is
left behind.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from foveate import settings

DEVICE = torch.device("meta")


class OnDevice(Tensor):
    """A tensor that says it is on the device."""

    inner: Tensor

    @staticmethod
    def __new__(cls, inner: Tensor) -> "OnDevice":
        made = Tensor._make_wrapper_subclass(
            cls, inner.shape, inner.stride(), inner.storage_offset(),
            dtype=inner.dtype, device=DEVICE, requires_grad=inner.requires_grad,
        )  # fmt: skip
        made.inner = inner.detach()
        return made

    def __repr__(self, **_: Any) -> str:
        return f"OnDevice({self.inner})"

    def data_ptr(self) -> int:
        return self.inner.data_ptr()

    def untyped_storage(self) -> Any:
        return self.inner.untyped_storage()

    def tolist(self) -> Any:
        return self.inner.tolist()

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return run(func, args, kwargs or {})


def run(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Compute on the inner tensors; what comes out is on the device, unless it goes to the CPU."""
    flat = tree_leaves((args, kwargs))
    ours = [x for x in flat if isinstance(x, OnDevice)]
    others = [x for x in flat if isinstance(x, Tensor) and not isinstance(x, OnDevice)]
    target = kwargs.get("device")
    name = func.overloadpacket.__name__
    mixes = name in ("_to_copy", "copy_")
    if ours and not mixes and any(x.dim() > 0 for x in others):
        raise RuntimeError(f"{func}: tensors on the device and on the CPU")
    to_cpu = target is not None and torch.device(target).type == "cpu"
    on_device = (bool(ours) and not to_cpu) or (target is not None and not to_cpu)
    if name == "copy_":
        on_device = isinstance(args[0], OnDevice)
    kwargs = {**kwargs, "device": torch.device("cpu")} if target is not None else kwargs
    args, kwargs = tree_map(_inner, args), tree_map(_inner, kwargs)
    result = func(*args, **kwargs)
    known = {id(x.inner): x for x in ours}  # results that are arguments: in place, and out=

    def wrapped(x: Any) -> Any:
        if not isinstance(x, Tensor) or not on_device:
            return x
        return known[id(x)] if id(x) in known else OnDevice(x)

    return tree_map(wrapped, result)


def _inner(x: Any) -> Any:
    return x.inner if isinstance(x, OnDevice) else x


class _Factories(TorchDispatchMode):
    """Tensors that are made on the device."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return run(func, args, kwargs or {})


class _Literals(TorchFunctionMode):
    """``torch.tensor(numbers, device=…)``, which torch computes without dispatch."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func is torch.tensor and kwargs.get("device") is not None:
            device = kwargs.pop("device")
            return func(*args, **kwargs).to(device)
        if func is Tensor.new_tensor and isinstance(args[0], OnDevice):
            return torch.tensor(*args[1:], dtype=args[0].dtype).to(DEVICE)
        return func(*args, **kwargs)


@contextmanager
def fake_device() -> Iterator[None]:
    """Within it, models and bags are on the device."""
    real = settings.find_device
    with (
        patch.object(
            settings, "find_device", lambda name: DEVICE if name == "meta" else real(name)
        ),
        patch.object(torch, "inference_mode", torch.no_grad),  # not for wrappers of tensors
        _Literals(),
        _Factories(),
        settings.use_device("meta"),
    ):
        yield
