r"""Attention over contextual words: self-attention, then focus and classify.

"HateXplain-2" of [vr23] Sec. 5: one layer of self-attention with two heads precedes f.
"""

from typing import ClassVar

import torch
from torch import Tensor, nn

from foveate.attention.maps import softmax
from foveate.bags.segments import Segments, shared_bank, stored
from foveate.errors import FoveateError
from foveate.models.focus import AttentionModel, Focus
from foveate.models.nets import mlp

__all__ = ["Contextual", "SelfAttention"]


class SelfAttention(nn.Module):
    r"""Self-attention over the segments of a bag, without position embeddings.

    :math:`h_i = W_o\,[\textstyle\sum_j a^k_{ij} V^k e_j]_{k}`,
    :math:`a^k_{i\cdot} = \mathrm{softmax}(\langle Q^k e_i, K^k e_j\rangle / \sqrt{d/K})`.

    Args:
        width: Numbers d of a segment.
        heads: Heads K, among which d is shared.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        if width % heads:
            raise FoveateError(f"{heads} heads must share {width} numbers evenly")
        self.heads = heads
        self.into = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, e: Tensor, mask: Tensor | None) -> Tensor:
        """Segments (B, m, d) to contextual ones (B, m, d); those outside ``mask`` are ignored."""
        q, k, v = (
            part.unflatten(2, (self.heads, -1)).transpose(1, 2)
            for part in self.into(e).chunk(3, dim=2)
        )
        similarity = q @ k.mT / q.shape[-1] ** 0.5
        if mask is not None:
            similarity = similarity.masked_fill(~mask[:, None, None, :], -torch.inf)
        return self.out((similarity.softmax(3) @ v).transpose(1, 2).flatten(2))


class Contextual(AttentionModel):
    r"""Words, self-attention, then f and g on the contextual vector :math:`\phi_j = h_j`.

    [vr23] Sec. 5, HateXplain-2: word vectors of 100 numbers, 2 heads, f 100-50-1; g is that of
    HateXplain-1, 100-200-k. The paper mentions no residual connection and no normalisation; there
    is none here.

    Args:
        words: Number of words W; segments are their ids.
        classes: Number of classes C.
        width: Numbers of a word vector.
        heads: Heads of the self-attention.
        hidden: Hidden units of f and of g.
    """

    compares_segments: ClassVar[bool] = True

    def __init__(
        self,
        words: int,
        classes: int,
        width: int = 100,
        heads: int = 2,
        hidden: tuple[int, int] = (50, 200),
    ) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.context = SelfAttention(width, heads)
        self.f = mlp(width, 1, hidden[:1])
        self.g = mlp(width, classes, hidden[1:])

    def attend(self, x: Segments, mask: Tensor | None, z: Tensor | None = None) -> Focus:
        h = self.context(self._vectors(x), mask)
        s = self.f(h.flatten(0, 1)).view(h.shape[:2])
        return Focus(s, softmax(s, mask), h)

    def _vectors(self, x: Segments) -> Tensor:
        """Word vectors, shape (B, m, d); a repeated word is looked up once."""
        shared = shared_bank(x)
        if shared is None:
            return self.words(stored(x))
        rows = self.words(shared.bank).index_select(0, shared.index.flatten())
        return rows.unflatten(0, shared.index.shape)
