r"""The bag-of-words proxy when training starts, in the letters of [snell21] Sec. 2.3 and 4.1.

The proxy predicts :math:`p^m = \sigma\big(\tfrac{1}{L_m} \sum_l W e_{x_l}\big)` for every word of
the output of sentence pair m; i is an input word, o an output word, :math:`\gamma_{i,o} = W_o e_i`
the logit of o if i stood alone, and :math:`\theta_i = \sigma(\gamma_i)`. Under gradient flow on
:math:`\mathcal{L} = -\sum_m \sum_t \log p^m_{y_t}` time is τ.
"""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import softmax

from foveate.types import FloatArray

__all__ = [
    "FloatArray",
    "initial",
    "logit_limit",
    "logit_rate",
    "probability_limit",
    "probability_rate",
]

Matrix = Any
"""A dense or sparse matrix."""


def initial(size: tuple[int, int], d: int, seed: int) -> tuple[FloatArray, FloatArray]:
    r"""Weights before training, every entry from :math:`N(0, 1/d)`. [snell21] Sec. 4.1

    Args:
        size: Number of input and of output words (I, O).
        d: Dimension of the embeddings.
        seed: Decides the draw.

    Returns:
        W of shape (O, d) and e of shape (I, d).
    """
    I, O = size  # noqa: E741
    normal = np.random.default_rng(seed).standard_normal((O + I, d)) / np.sqrt(d)
    return normal[:O], normal[O:]


def logit_rate(W: FloatArray, e: FloatArray, source: Matrix, target: Matrix) -> FloatArray:
    r""":math:`\partial\gamma/\partial\tau` for the weights as they are, exactly.

    With the shares :math:`A_{m,i}` of the words of each input, the counts :math:`Y_{m,o}` of those
    of each output and :math:`R = A^\top (Y - T p)`, gradient flow moves
    :math:`\dot e = R W,\ \dot W = R^\top e`, and so

    .. math:: \dot\gamma = R\, W W^\top + e e^\top R

    Args:
        W: Output weights, shape (O, d).
        e: Embeddings, shape (I, d).
        source: Bags of words of the inputs, shape (n, I).
        target: Bags of words of the outputs, shape (n, O).

    Returns:
        Shape (I, O). The paper's A.2 goes through the same terms one by one.
    """
    source, target = sparse.csr_array(source), sparse.csr_array(target)
    shares = sparse.diags_array(1 / source.sum(1)) @ source
    p = softmax((shares @ e) @ W.T, axis=1)
    R = shares.T @ (target.toarray() - target.sum(1)[:, None] * p)
    return R @ (W @ W.T) + (e @ e.T) @ R


def probability_rate(W: FloatArray, e: FloatArray, source: Matrix, target: Matrix) -> FloatArray:
    r""":math:`\dot\theta_{i,o} = \theta_{i,o}\big(\dot\gamma_{i,o} - \sum_{o'} \theta_{i,o'}
    \dot\gamma_{i,o'}\big)` of the probabilities, arguments and shape as for :func:`logit_rate`.
    """
    rate, theta = logit_rate(W, e, source, target), softmax(e @ W.T, axis=1)
    return theta * (rate - (theta * rate).sum(1, keepdims=True))


def logit_limit(counts: Matrix) -> FloatArray:
    r"""Where :func:`logit_rate` goes as d → ∞, :math:`2\big(C_{i,o} - \tfrac{1}{|O|} \sum_{o'}
    C_{i,o'}\big)`.

    There :math:`W W^\top` and :math:`e e^\top` become identities and p uniform. [snell21] Eq. 12,
    which the paper states for θ; its proof in A.2 is about the logits.

    Args:
        counts: The count table C, shape (I, O), see :mod:`foveate.text.statistics.cooccurrence`.

    Example:
        >>> logit_limit(np.array([[1.0, 0.0], [0.5, 0.5]]))
        array([[ 1., -1.],
               [ 0.,  0.]])
    """
    dense = counts.toarray() if sparse.issparse(counts) else np.asarray(counts, float)
    return 2 * (dense - dense.mean(1, keepdims=True))


def probability_limit(counts: Matrix) -> FloatArray:
    r"""Where :func:`probability_rate` goes as d → ∞: the limit of the logits divided by |O|.

    At the uniform :math:`\theta = 1/|O|` the softmax has :math:`\dot\theta = \theta(\dot\gamma -
    \sum\theta\dot\gamma)`, and the limit of the logits sums to 0 over o. The paper's Eq. 12 leaves
    this factor out.
    """
    return logit_limit(counts) / counts.shape[1]
