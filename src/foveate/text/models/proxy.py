r"""The bag-of-words proxy: how words are learnt under uniform attention. [snell21] Sec. 2.3

:math:`p_t = σ(\frac1L \sum_l W e_{x_l})` for every t; the set of input words and the set of output
words of a pair are all it sees. Its probe is :math:`β_{t,l} = σ(W e_{x_l})_{y_t}`.
"""

import torch
from torch import Tensor, nn

from foveate.text.models.lstm import look_up

__all__ = ["Proxy"]


class Proxy(nn.Module):
    """Mean of embeddings, then a linear map without bias.

    Args:
        words: Size of the input vocabulary.
        outputs: Size of the output vocabulary; 2 classes for classification.
        d: Size of an embedding.
    """

    def __init__(self, words: int, outputs: int, d: int = 256) -> None:
        super().__init__()
        # N(0, I/d) for both, as the paper's derivative at initialisation assumes. [snell21] 4.1
        self.table = nn.Parameter(torch.randn(words, d) / d**0.5)
        self.weight = nn.Parameter(torch.randn(outputs, d) / d**0.5)

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """Scores of the outputs for texts of word ids (B, L), shape (B, outputs)."""
        e = look_up(self.table, ids)
        if mask is None:
            return e.mean(1) @ self.weight.t()
        total = (e * mask[..., None]).sum(1)
        return (total / mask.sum(1, keepdim=True)) @ self.weight.t()

    def logits(self, ids: Tensor) -> Tensor:
        """γ = W e of single words, shape (*ids.shape, outputs)."""
        return look_up(self.table, ids) @ self.weight.t()
