"""Set the attention of a PyTorch module from outside, without changing its code.

While a module runs, every torch function that it calls is seen by a ``TorchFunctionMode``. The
first one whose result equals the attention that the module reports is where attention is computed;
on later runs its result is replaced. ``nn.MultiheadAttention`` with one query is recorded and
forced as a whole. Nothing is patched, and weights stay as they are.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

__all__ = [
    "AttentionCall",
    "Forced",
    "PoolingRecorder",
    "TorchCalls",
    "has_pooling",
]


@dataclass(frozen=True)
class AttentionCall:
    """The torch call whose result is attention.

    Args:
        index: Its number among all calls of torch functions; None for attention pooling by
            ``nn.MultiheadAttention``.
        branches: Attentions of a bag (heads, classes, samples) that are all set alike.
        branches_last: Whether these are on the last axis, (B, m, K), not (B, K, m).
        scores: Whether the result is before normalisation.
        averaged: Whether the model returns the mean over branches.
    """

    index: int | None
    branches: int = 1
    branches_last: bool = False
    scores: bool = False
    averaged: bool = False

    @property
    def several(self) -> bool:
        """Whether the attention that is read is the mean of several that may differ."""
        return self.index is None or self.averaged


class TorchCalls(TorchFunctionMode):
    """Count calls of torch functions; :meth:`replace` may give another result."""

    def __init__(self) -> None:
        super().__init__()
        self.count = -1

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        del types
        self.count += 1
        return self.replace(func, args, dict(kwargs or {}))

    def replace(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: Any) -> Any:
        return func(*args, **kwargs)


class Forced(TorchCalls):
    """Run a module with given attention.

    Args:
        call: The call whose result is replaced.
        alpha: Attention, shape (B, m).

    Attributes:
        done: Whether attention was replaced.
    """

    def __init__(self, call: AttentionCall, alpha: Tensor) -> None:
        super().__init__()
        self.call, self.done = call, False
        self.alpha = alpha.clamp_min(torch.finfo(alpha.dtype).tiny).log() if call.scores else alpha

    def replace(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: Any) -> Any:
        if self.call.index is None and func is functional.multi_head_attention_forward:
            return self._pooled(func, args, kwargs)
        result = func(*args, **kwargs)
        count = self.call.branches
        if self.count != self.call.index:
            return result
        if not isinstance(result, Tensor) or result.numel() != self.alpha.numel() * count:
            return result
        self.done = True
        wide = self.alpha.unsqueeze(2 if self.call.branches_last else 1)
        shape = (-1, -1, count) if self.call.branches_last else (-1, count, -1)
        return wide.expand(*shape).reshape(result.shape).to(result.dtype)

    def _pooled(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: Any) -> Any:
        if not _pools(args, kwargs):
            return func(*args, **kwargs)
        self.done = True
        return _forced_pooling(self.alpha, args, kwargs)


class PoolingRecorder(TorchCalls):
    """Record the attention of ``nn.MultiheadAttention`` with one query, mean over heads (B, m)."""

    def __init__(self) -> None:
        super().__init__()
        self.alpha: Tensor | None = None

    def replace(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: Any) -> Any:
        pooling = func is functional.multi_head_attention_forward
        if not pooling or not _pools(args, kwargs):
            return func(*args, **kwargs)
        requested = kwargs.get("need_weights", True), kwargs.get("average_attn_weights", True)
        kwargs |= {"need_weights": True, "average_attn_weights": False}
        output, weights = func(*args, **kwargs)
        self.alpha = weights.mean(-3).reshape(-1, weights.shape[-1])
        if not requested[0]:
            return output, None
        return output, weights.mean(-3) if requested[1] else weights


def has_pooling(model: nn.Module) -> bool:
    """Whether a module holds an ``nn.MultiheadAttention``."""
    return any(isinstance(part, nn.MultiheadAttention) for part in model.modules())


def _pools(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether one query per bag attends to segments, with nothing added to them."""
    added = args[7] is not None or args[8] is not None or args[9]
    single = args[0].dim() == 3 and args[0].shape[0] == 1
    return single and not added and not kwargs.get("use_separate_proj_weight", False)


def _forced_pooling(alpha: Tensor, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """``multi_head_attention_forward`` of one query with the same given weights in every head."""
    value = args[2]  # (m, B, E)
    weight, bias = args[5], args[6]
    out_weight, out_bias = args[11], args[12]
    size = value.shape[-1]
    v = functional.linear(value, weight[2 * size :], None if bias is None else bias[2 * size :])
    mixed = torch.einsum("bm,mbe->be", alpha.to(v.dtype), v)
    output = functional.linear(mixed, out_weight, out_bias)[None]
    if not kwargs.get("need_weights", True):
        return output, None
    if kwargs.get("average_attn_weights", True):
        return output, alpha[:, None]
    return output, alpha[:, None, None].expand(-1, args[4], -1, -1)
