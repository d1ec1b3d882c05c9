r"""Sentences kept as counts of words, and their contexts under attention.

With the counts N (sentences × words), scores s and any values F of the words, attention's mean of F
over each sentence is :math:`R_1/R_2` for :math:`R = N e^s [F, 1]`: one sparse product, and one with
:math:`N^\top` in the backward pass.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from foveate.bags.bag import Bag
from foveate.bags.segments import shared_bank, stored
from foveate.errors import FoveateError

__all__ = ["Contexts", "Sentences"]


class Contexts(NamedTuple):
    """Attention over sentences, and what the backward pass needs.

    Args:
        c: Contexts, shape (S, n, h).
        e: Weights of the words before they are normalised, shape (S, W, 1).
        total: Their sums over the sentences, shape (S, n, 1).
        values: What is averaged, shape (S, W, h).
    """

    c: Tensor
    e: Tensor
    total: Tensor
    values: Tensor


class Sentences:
    """Sentences of S members as counts of words, one block of a sparse matrix to a member.

    Args:
        bags: One set of equally many sentences to a member; the bank is the vocabulary.
        dtype: Number type of the counts.
    """

    def __init__(self, bags: Sequence[Bag], dtype: torch.dtype = torch.float32) -> None:
        self.y = torch.stack([bag.y for bag in bags])
        marked = all(bag.z is not None for bag in bags)
        self.topic = torch.stack([_topic(bag) for bag in bags]) if marked else None
        self.by_sentence, self.by_word = _counts(bags, dtype)

    def contexts(self, s: Tensor, values: Tensor) -> Contexts:
        """Attention's mean of ``values`` (S, W, h) over each sentence, by scores ``s`` (S, W)."""
        # One shift for all sentences of a member: scores 80 apart do not occur.
        e = (s - s.amax(1, keepdim=True)).exp_()[..., None]
        sums = self.sums(torch.cat([e * values, e], -1))
        total = sums[..., -1:]
        return Contexts(sums[..., :-1] / total, e, total, values)

    def back(self, of: Contexts, grad: Tensor) -> tuple[Tensor, Tensor]:
        r"""Gradients of s (S, W) and F (S, W, h) from :math:`G = \partial L/\partial c` (S, n, h).

        With :math:`M = N^\top [G, -G^\top c] / R_2` they are :math:`e^s (F^\top M_1 + M_2)` and
        :math:`e^s M_1`. Written out, because autograd takes twice as long.
        """
        inner = torch.linalg.vecdot(grad, of.c)[..., None]
        spread = self.spread(torch.cat([grad, -inner], -1) / of.total)
        d_values = spread[..., :-1] * of.e
        d_s = torch.linalg.vecdot(d_values, of.values) + (spread[..., -1:] * of.e).squeeze(-1)
        return d_s, d_values

    def sums(self, table: Tensor) -> Tensor:
        """Sum of the rows of a table over each sentence's words, (S, W, h) → (S, n, h)."""
        return (self.by_sentence @ table.flatten(0, 1)).unflatten(0, self.y.shape)

    def spread(self, rows: Tensor) -> Tensor:
        """Sum over each word's sentences, the transpose of :meth:`sums`, (S, n, h) → (S, W, h)."""
        return (self.by_word @ rows.flatten(0, 1)).unflatten(0, (len(rows), -1))


def _topic(bag: Bag) -> Tensor:
    """The id of each sentence's topic word, shape (n,)."""
    return stored(bag.x)[bag.z]


def _counts(bags: Sequence[Bag], dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """How often each word stands in each sentence, blocks on a diagonal, and the transpose."""
    import scipy.sparse as sp

    blocks = []
    for bag in bags:
        if shared_bank(bag.x) is None:
            raise FoveateError("sentences must be an index into their vocabulary (Mosaics)")
        present = torch.ones(bag.shape, dtype=torch.bool) if bag.mask is None else bag.mask
        row, _ = present.nonzero(as_tuple=True)
        shape = (len(bag), len(bag.bank))
        ones = np.ones(len(row))
        blocks.append(sp.coo_array((ones, (row.numpy(), bag.index[present].numpy())), shape))
    matrix = sp.block_diag(blocks, format="csr")
    return _as_torch(matrix, dtype), _as_torch(matrix.T.tocsr(), dtype)


def _as_torch(matrix: Any, dtype: torch.dtype) -> Tensor:
    import warnings

    matrix.sum_duplicates()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(
            torch.from_numpy(matrix.indptr.astype(np.int32)),  # the layout of MKL: avoids copies
            torch.from_numpy(matrix.indices.astype(np.int32)),
            torch.from_numpy(matrix.data).to(dtype),
            matrix.shape,
            check_invariants=True,
        )
