"""Find the torch call that computes the attention, or the answers, that a module returns."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from foveate.trust.forcing import AttentionCall, TorchCalls

__all__ = ["attention_call", "averaged_call", "by_sigmoid"]

NEAR = 1e-5


class _Search(TorchCalls):
    """Find the first call whose result has the values of the attention."""

    def __init__(self, alpha: Tensor) -> None:
        super().__init__()
        self.alpha, self.index = alpha, -1

    def replace(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: Any) -> Any:
        result = func(*args, **kwargs)
        if self.index < 0 and _equal(result, self.alpha):
            self.index = self.count
        return result


def attention_call(run: Callable[[], Any], alpha: Tensor) -> int | None:
    """The number of the call, among all torch functions of ``run``, that computes ``alpha``.

    Example:
        >>> x = torch.tensor([[1.0, 2.0]])
        >>> attention_call(lambda: torch.exp(x).softmax(1) @ x.T, torch.exp(x).softmax(1))
        1
    """
    with _Search(alpha) as search:
        run()
    return None if search.index < 0 else search.index


class _SearchAverage(TorchCalls):
    """Find the last call whose results, averaged over one axis, are the attention."""

    def __init__(self, attention: Tensor, mask: Tensor, *, scores: bool) -> None:
        super().__init__()
        self.attention, self.mask, self.scores = attention, mask, scores
        self.average_call: AttentionCall | None = None

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
                    self.average_call = AttentionCall(
                        self.count, count, axis == 2, self.scores, True
                    )


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
        >>> call = averaged_call(lambda: (x + 1).exp(), (x + 1).mean(2), some, scores=True)
        >>> call.index, call.branches, call.branches_last
        (0, 2, True)
    """
    with _SearchAverage(attention, mask, scores=scores) as search:
        run()
    return search.average_call


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


def _equal(result: Any, alpha: Tensor) -> bool:
    """Whether a result holds the attention, in any order of its axes of size one."""
    if not isinstance(result, Tensor) or result.numel() != alpha.numel():
        return False
    if not result.is_floating_point():
        return False
    with torch._C.DisableTorchFunction():
        gap = (result.detach().reshape(alpha.shape).to(alpha.dtype) - alpha).abs().max()
    return bool(gap <= NEAR)
