r"""The identity between a topic word's score and its embedding norm, in the letters of lu21.

Here q is the query, :math:`\kappa_t, \nu_t` are key and embedding of topic word t,
:math:`s = q^\top\kappa_t` is its score and m counts the other words of a sentence. With q held,
gradient flow has :math:`\dot\nu_t = E[a_t h]` and :math:`\dot s = \|q\|^2 E[a_t(\nu_t -
\bar\nu)^\top h]`, where h is what the classifier sends back and :math:`a_t = e^s/(e^s + m)`. While
the other words add nothing to the context, :math:`\nu_t - \bar\nu = (1-a_t)\,\nu_t`, so that
:math:`(1 + e^s/m)\,\dot s = \tfrac12\|q\|^2 \frac{d}{d\tau}\|\nu_t\|^2`, whatever h is.
"""

import numpy as np
from numpy.typing import ArrayLike

from foveate.types import FloatArray

__all__ = ["FloatArray", "embedding_norm", "relative_gap", "topic_attention"]


def embedding_norm(
    s: ArrayLike, m: ArrayLike, q_norm: ArrayLike, s0: ArrayLike = 0.0, norm0: ArrayLike = 0.0
) -> FloatArray:
    r"""The norm that the identity gives to an embedding, from its word's score. [lu21] Sec. 4

    .. math:: \|q\|^2 (\|\nu_t\|^2 - \|\nu_t(0)\|^2) = 2\,[\,s + e^s/m\,]_0^\tau

    Args:
        s: Score.
        m: Other words in a sentence.
        q_norm: Norm of the query.
        s0: Score at the start.
        norm0: Norm of the embedding at the start.

    Returns:
        The norm, in the common shape of the arguments; 0 where the score has fallen so far that
        no embedding could have followed it.

    Example:
        >>> round(float(embedding_norm(3.0, 20, 1.0)), 3)
        2.812
    """
    s, s0, m = (np.asarray(part, float) for part in (s, s0, m))
    gained = 2 * (s - s0 + (np.exp(s) - np.exp(s0)) / m)
    squared = np.asarray(norm0, float) ** 2 + gained / np.asarray(q_norm, float) ** 2
    return np.sqrt(np.maximum(squared, 0.0))


def relative_gap(norm: ArrayLike, theory: ArrayLike) -> FloatArray:
    r"""How far the identity is missed, :math:`|\,\|\nu_t\| - \text{theory}\,| / \|\nu_t\|`."""
    norm = np.asarray(norm, float)
    return np.abs(norm - np.asarray(theory, float)) / np.maximum(norm, np.finfo(float).tiny)


def topic_attention(s: ArrayLike, m: ArrayLike) -> FloatArray:
    r"""Attention on a word of score s among m words of score 0, :math:`e^s/(e^s + m)`."""
    return 1 / (1 + np.asarray(m, float) * np.exp(-np.asarray(s, float)))
