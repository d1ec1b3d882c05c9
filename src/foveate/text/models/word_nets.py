"""Networks for segments that are words or sentences, given as ids: word vectors, averaged."""

import torch
from torch import Tensor, nn

from foveate.models.nets import Pair, mlp
from foveate.text.tokens import PAD

__all__ = ["MeanEmbedding", "words"]


class MeanEmbedding(nn.Embedding):
    """The mean of the vectors of a segment's words, ids (N, L) to (N, width); PAD is no word."""

    def forward(self, ids: Tensor) -> Tensor:
        mask = (ids != PAD).to(self.weight.dtype)
        total = (super().forward(ids) * mask[..., None]).sum(1)
        return total / mask.sum(1, keepdim=True).clamp_min(1)


def words(vocabulary: int, classes: int, *, width: int = 64, last: bool = False) -> Pair:
    """A focus network on word vectors that it learns, and a classifier that reads them too.

    The averaged layer is the embedding, shared by f and g, or f's hidden layer: the ids themselves
    cannot be averaged.

    Args:
        vocabulary: Number of ids.
        classes: Number of classes C.
        width: Numbers of a word vector.
        last: Whether f's hidden layer is averaged instead of the word vectors.

    Example:
        >>> pair = words(10, 3)
        >>> pair.layer, pair.f(torch.tensor([[4, 0]])).shape, pair.g(torch.zeros(2, 64)).shape
        ('embedding', torch.Size([1, 1]), torch.Size([2, 3]))
    """
    vectors = MeanEmbedding(vocabulary, width)
    with torch.no_grad():
        vectors.weight.mul_(width**-0.5)  # of length one, about
    f = nn.Sequential()
    f.add_module("embedding", vectors)
    for name, layer in mlp(width, 1, (64,)).named_children():
        f.add_module(name, layer)
    g = mlp(64 if last else width, classes, (64,))
    return Pair(f, g, "hidden1" if last else "embedding")
