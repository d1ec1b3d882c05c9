"""Set the attention of a PyTorch module from outside, without changing its code.

While a module runs, every torch function that it calls is seen by a ``TorchFunctionMode``. The
first one whose result equals the attention that the module reports is where attention is computed;
on later runs its result is replaced. ``nn.MultiheadAttention`` with one query is recorded and
forced as a whole. Nothing is patched, and weights stay as they are.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

__all__ = ["Forced", "PoolingRecorder", "attention_call", "by_sigmoid", "has_pooling"]

NEAR = 1e-5


class _Calls(TorchFunctionMode):
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


class _Search(_Calls):
    """Find the first call whose result has the values of the attention."""

    def __init__(self, alpha: Tensor) -> None:
        super().__init__()
        self.alpha, self.place = alpha, -1

    def replace(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: Any) -> Any:
        result = func(*args, **kwargs)
        if self.place < 0 and _equal(result, self.alpha):
            self.place = self.count
        return result


class Forced(_Calls):
    """Run a module with given attention.

    Args:
        place: Number of the call whose result is replaced, from :func:`attention_call`; None for
            attention pooling by ``nn.MultiheadAttention``.
        alpha: Attention, shape (B, m).
        branches: Attentions of a bag (heads, classes) that are all set to ``alpha``, and the axis
            that holds them, "front" (B, K, m) or "back" (B, m, K).

    Attributes:
        done: Whether attention was replaced.
    """

    def __init__(
        self, place: int | None, alpha: Tensor, branches: tuple[int, str] = (1, "front")
    ) -> None:
        super().__init__()
        self.place, self.alpha, self.branches, self.done = place, alpha, branches, False

    def replace(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: Any) -> Any:
        if self.place is None and func is functional.multi_head_attention_forward:
            return self._pooled(func, args, kwargs)
        result = func(*args, **kwargs)
        if self.count != self.place:
            return result
        count, axis = self.branches
        if not isinstance(result, Tensor) or result.numel() != self.alpha.numel() * count:
            return result
        self.done = True
        wide = self.alpha.unsqueeze(1 if axis == "front" else 2)
        shape = (-1, count, -1) if axis == "front" else (-1, -1, count)
        return wide.expand(*shape).reshape(result.shape).to(result.dtype)

    def _pooled(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: Any) -> Any:
        if not _pools(args, kwargs):
            return func(*args, **kwargs)
        self.done = True
        return _forced_pooling(self.alpha, args, kwargs)


class PoolingRecorder(_Calls):
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


class _Sigmoids(_Calls):
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
