r"""Attention over word tables: every word has a key and an embedding. [lu21] Sec. 3

:math:`s_w = q^\top\kappa_w`, :math:`\bar\nu = \sum_w \alpha_w \nu_w`, and a classifier reads
:math:`\bar\nu`. What is not trained is a buffer, which optimisers do not update.
"""

from collections.abc import Collection
from typing import Literal

import torch
from torch import Tensor, nn

from foveate.attention.maps import softmax
from foveate.bags.segments import Segments, map_stored, stored
from foveate.errors import FoveateError
from foveate.models.focus import AttentionModel, Focus

__all__ = ["HIDDEN", "TABLES", "Classifier", "FixedLinear", "WordAttention", "classifier"]

Classifier = Literal["fc", "tc", "tl"]
HIDDEN = 10  # [lu21] Sec. 5, Attn-TL
TABLES = ("keys", "embeddings", "query")


class FixedLinear(nn.Module):
    """A linear map that is not trained: entries N(0, 1), ones on the diagonal. [lu21] Sec. 5

    Args:
        inputs: Input size d.
        outputs: Output size J.
    """

    weight: Tensor

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        weight = torch.randn(outputs, inputs)
        weight.fill_diagonal_(1.0)
        self.register_buffer("weight", weight)

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.weight.mT


def classifier(kind: Classifier, inputs: int, outputs: int) -> nn.Sequential:
    """Attn-FC, Attn-TC or Attn-TL, each beginning with an affine map. [lu21] Sec. 5

    Args:
        kind: "fc" a fixed linear map, "tc" a trained one without bias, "tl" two trained layers
            with ReLU between them (hidden size 10). Trained layers begin as torch makes them; the
            paper does not specify it.
        inputs: Embedding size d.
        outputs: Number of topics J.
    """
    if kind == "fc":
        return nn.Sequential(FixedLinear(inputs, outputs))
    if kind == "tc":
        return nn.Sequential(nn.Linear(inputs, outputs, bias=False))
    if kind == "tl":
        return nn.Sequential(nn.Linear(inputs, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, outputs))
    raise FoveateError(f"a classifier of topics must be fc, tc or tl, got '{kind}'")


class WordAttention(AttentionModel):
    r"""Keys 0, embeddings and query normal, attention :math:`\alpha \propto e^{q^\top\kappa_w}`.

    Segments are word ids, integers of any type.

    Args:
        words: Size of the vocabulary W.
        g: Classifier of contexts (B, d), a chain that begins with an affine map.
        key: Size of keys and query.
        embedding: Size d of embeddings.
        embedding_sd: Standard deviation of the embeddings at the start.
        query_sd: Standard deviation of the query.
        frozen: Which of "keys", "embeddings" and "query" stay as they are.

    Example:
        >>> model = WordAttention(5, classifier("tc", 10, 2))
        >>> model.attend(torch.tensor([[0, 1, 2, 4]]), None).alpha.tolist()
        [[0.25, 0.25, 0.25, 0.25]]
    """

    keys: Tensor
    embeddings: Tensor
    query: Tensor

    def __init__(
        self,
        words: int,
        g: nn.Sequential,
        *,
        key: int = 10,
        embedding: int = 10,
        embedding_sd: float = 1e-6,
        query_sd: float = 0.3,
        frozen: Collection[str] = ("query",),
    ) -> None:
        super().__init__()
        if unknown := sorted(set(frozen) - set(TABLES)):
            raise FoveateError(f"frozen may name {', '.join(TABLES)}, got '{unknown[0]}'")
        self.g = g
        starts = (
            torch.zeros(words, key),
            embedding_sd * torch.randn(words, embedding),
            query_sd * torch.randn(key),
        )
        for name, start in zip(TABLES, starts, strict=True):
            if name in frozen:
                self.register_buffer(name, start)
            else:
                self.register_parameter(name, nn.Parameter(start))

    def attend(self, x: Segments, mask: Tensor | None, z: Tensor | None = None) -> Focus:
        scores = self.keys @ self.query
        s = stored(map_stored(lambda ids: scores[ids.long()], x))
        h = map_stored(lambda ids: self.embeddings[ids.long()], x)
        return Focus(s, softmax(s, mask), h)
