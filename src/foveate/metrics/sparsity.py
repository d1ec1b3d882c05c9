"""How sparse is the attention? NNZ, Dist, Ent. [pvr22] Sec. 6.2"""

import numpy as np

from foveate.types import Array

__all__ = ["distance", "entropy_bits", "nonzeros"]


def nonzeros(alpha: Array, above: float = 0.01) -> Array:
    """NNZ, the *number* of segments with attention above .01, shape (…, m) → (…).

    The text divides by m; the published values are counts.
    """
    return (alpha > above).sum(-1)


def distance(alpha: Array) -> Array:
    r"""Dist, :math:`\min_j \|\alpha - e_j\|_2`: how far the attention is from one segment.

    The nearest corner is the one of the largest weight, so that
    :math:`\|\alpha - e_j\|^2 = \|\alpha\|^2 - 2\alpha_j + 1` is taken there.
    """
    squared = np.einsum("...m,...m->...", alpha, alpha) - 2 * alpha.max(-1) + 1
    return np.sqrt(np.maximum(squared, 0.0))


def entropy_bits(alpha: Array) -> Array:
    r"""Ent, :math:`-\sum_j \alpha_j \log_2 \alpha_j`, in bits as published."""
    safe = np.where(alpha == 0, 1.0, alpha)
    return -np.einsum("...m,...m->...", safe, np.log2(safe))
