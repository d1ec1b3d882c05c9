"""Attention that is one row of a larger self-attention, such as that of a class token.

Such rows are weights even where they do not sum to one over the segments: the rest lies on the
class token and on padding, and approximations (Nyströmformer) have small negative parts.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from foveate.trust.forcing import TorchCalls

__all__ = ["is_self_attention_row", "positive_part"]

NEAR = 1e-5


class _SearchRow(TorchCalls):
    """Find a self-attention (B, H, N, N), N > m, with the attention (B, m) in one of its rows."""

    def __init__(self, attention: Tensor) -> None:
        super().__init__()
        self.attention, self.matches = attention, False

    def replace(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: Any) -> Any:
        result = func(*args, **kwargs)
        with torch._C.DisableTorchFunction():
            if isinstance(result, Tensor) and result.is_floating_point() and not self.matches:
                self._compare(result.detach())
        return result

    def _compare(self, result: Tensor) -> None:
        n, m = self.attention.shape
        if result.dim() != 4 or len(result) != n or not result.shape[2] == result.shape[3] > m:
            return
        windows = result.double().mean(1).unfold(-1, m, 1)  # (B, N, N − m + 1, m)
        gap = (windows - self.attention[:, None, None]).abs().amax((0, 3))
        self.matches = bool(gap.min() <= NEAR)


def is_self_attention_row(run: Callable[[], Any], attention: Tensor) -> bool:
    """Whether attention is a part of a row of a self-attention, mean over its heads.

    Args:
        run: Runs the model.
        attention: What it returns for bags without padding, shape (B, m), m > 1.

    Example:
        >>> x = torch.rand(1, 2, 4, 4, generator=torch.Generator().manual_seed(0))
        >>> attention = x.softmax(-1).mean(1)[:, 0, 1:].double()
        >>> is_self_attention_row(lambda: x.softmax(-1), attention)
        True
    """
    with _SearchRow(attention) as search:
        run()
    return search.matches


def positive_part(weights: Tensor, mask: Tensor) -> Tensor:
    """Weights (n, K, m) without negative parts, divided by their sum; uniform where none is left.

    Example:
        >>> some = torch.ones(1, 3, dtype=torch.bool)
        >>> positive_part(torch.tensor([[[0.3, 0.1, -0.05]]]), some)
        tensor([[[0.7500, 0.2500, 0.0000]]])
    """
    weights = torch.where(mask[:, None], weights, 0.0).clamp_min(0)
    total = weights.sum(-1, keepdim=True)
    exists = mask[:, None].to(weights.dtype)
    return torch.where(total > 0, weights / total, exists / exists.sum(-1, keepdim=True))
