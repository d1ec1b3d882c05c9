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
    "attention_call",
    "averaged_call",
    "by_sigmoid",
    "has_pooling",
]

NEAR = 1e-5


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


class _Search(TorchCalls):
    """Find the first call whose result has the values of the attention."""

    def __init__(self, alpha: Tensor) -> None:
        super().__init__()
        self.alpha, self.place = alpha, -1

    def replace(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: Any) -> Any:
        result = func(*args, **kwargs)
        if self.place < 0 and _equal(result, self.alpha):
            self.place = self.count
        return result


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


def attention_call(run: Callable[[], Any], alpha: Tensor) -> int | None:
    """The number of the call, among all torch functions of ``run``, that computes ``alpha``.

    Example:
        >>> x = torch.tensor([[1.0, 2.0]])
        >>> attention_call(lambda: torch.exp(x).softmax(1) @ x.T, torch.exp(x).softmax(1))
        1
    """
    with _Search(alpha) as search:
        run()
    return None if search.place < 0 else search.place


class _SearchAverage(TorchCalls):
    """Find the last call whose results, averaged over one axis, are the attention."""

    def __init__(self, attention: Tensor, mask: Tensor, *, scores: bool) -> None:
        super().__init__()
        self.attention, self.mask, self.scores = attention, mask, scores
        self.found: AttentionCall | None = None

    def replace(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: Any) -> Any:
        result = func(*args, **kwargs)
        with torch._C.DisableTorchFunction():
            if isinstance(result, Tensor) and result.is_floating_point() and result.dim() == 3:
                self._compare(result.detach())
        return result

    def _compare(self, result: Tensor) -> None:
        for axis in (1, 2):
            several = result.shape[axis] > 1
            if several and result.movedim(axis, 0).shape[1:] == self.attention.shape:
                gap = (result.double().mean(axis) - self.attention)[self.mask].abs().max()
                if gap <= NEAR * (1 + float(self.attention[self.mask].abs().max())):
                    count = result.shape[axis]
                    self.found = AttentionCall(self.count, count, axis == 2, self.scores, True)


def averaged_call(
    run: Callable[[], Any], attention: Tensor, mask: Tensor, *, scores: bool
) -> AttentionCall | None:
    """The last call whose result, averaged over heads or samples, is what the model returns.

    Args:
        run: Runs the model.
        attention: What it returns, shape (B, m).
        mask: True where a segment exists, shape (B, m).
        scores: Whether it is before normalisation.

    Example:
        >>> x = torch.tensor([[[1.0, 2.0], [3.0, 5.0]]])
        >>> some = torch.ones(1, 2, dtype=torch.bool)
        >>> found = averaged_call(lambda: (x + 1).exp(), (x + 1).mean(2), some, scores=True)
        >>> found.index, found.branches, found.branches_last
        (0, 2, True)
    """
    with _SearchAverage(attention, mask, scores=scores) as search:
        run()
    return search.found


class _Sigmoids(TorchCalls):
    """Find out whether one of the sigmoids that are computed gives the answers."""

    def __init__(self, answers: Tensor) -> None:
        super().__init__()
        self.answers, self.equal = answers, False

    def replace(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: Any) -> Any:
        result = func(*args, **kwargs)
        if getattr(func, "__name__", "") in ("sigmoid", "expit"):
            self.equal = self.equal or _equal(result, self.answers)
        return result


def by_sigmoid(run: Callable[[], Any], answers: Tensor) -> bool:
    """Whether ``run`` computes these answers by a sigmoid.

    Example:
        >>> s = torch.tensor([[0.5], [2.0]])
        >>> by_sigmoid(lambda: s.sigmoid(), s.sigmoid()), by_sigmoid(lambda: s + 1, s + 1)
        (True, False)
    """
    with _Sigmoids(answers) as search:
        run()
    return search.equal


def has_pooling(model: nn.Module) -> bool:
    """Whether a module holds an ``nn.MultiheadAttention``."""
    return any(isinstance(part, nn.MultiheadAttention) for part in model.modules())


def _equal(result: Any, alpha: Tensor) -> bool:
    """Whether a result holds the attention, in any order of its axes of size one."""
    if not isinstance(result, Tensor) or result.numel() != alpha.numel():
        return False
    if not result.is_floating_point():
        return False
    with torch._C.DisableTorchFunction():
        gap = (result.detach().reshape(alpha.shape).to(alpha.dtype) - alpha).abs().max()
    return bool(gap <= NEAR)


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
