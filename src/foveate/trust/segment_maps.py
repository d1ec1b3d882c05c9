r"""Maps of bags: a number for every segment and class.

With the attention :math:`\alpha_j` of a segment (or its share of the prediction, where a paradigm
has no attention) and :math:`v_{jc}`, the centred logit of class c of the bag that consists of
segment j alone, the maps are

.. math:: \text{attention: } \alpha_j, \qquad \text{evidence: } v_{jc}, \qquad
    \text{product: } \alpha_j\, v_{jc}, \qquad
    \text{posterior: } \frac{\alpha_j\, p_c(j)}{\sum_k \alpha_k\, p_c(k)}, \quad
    p(j) = \operatorname{softmax}(v_j).

The posterior is the probability that segment j was read, given that the class is c, where attention
is the probability that it is read; it has no sign, and neither has attention, which is the same for
all classes. Of a mixture, attention and product are means over its models by their weights, and v
is the logit of the mixture.
"""

from typing import Literal

import numpy as np

from foveate.errors import FoveateError
from foveate.trust.explanation import Explained
from foveate.types import Array

__all__ = [
    "DEFAULT_MAP",
    "MAP_KINDS",
    "MapKind",
    "posterior",
    "probabilities_of",
    "ranking",
    "segment_map",
    "signed_map",
]

MapKind = Literal["posterior", "evidence", "product", "attention"]
MAP_KINDS: tuple[MapKind, ...] = ("posterior", "evidence", "product", "attention")
DEFAULT_MAP: MapKind = "posterior"  # chosen by measurement: the study real-bags


def segment_map(explained: Explained, kind: MapKind = DEFAULT_MAP) -> list[Array]:
    """The map of every bag, one array (m_i, C) each.

    Args:
        explained: What a model makes of the bags, with evidence.
        kind: Which map.

    Example:
        >>> alone, alpha = np.array([[-1.0, 1.0], [2.0, -2.0]]), np.array([0.25, 0.75])
        >>> one = Explained(np.zeros((1, 1, 2)), [alpha], [alpha[:, None] * alone], [alone])
        >>> segment_map(one, "product")[0].tolist()
        [[-0.25, 0.25], [1.5, -1.5]]
        >>> segment_map(one, "attention")[0].tolist()
        [[0.25, 0.25], [0.75, 0.75]]
        >>> segment_map(one, "posterior")[0].round(3).tolist()
        [[0.039, 0.942], [0.961, 0.058]]
    """
    if kind not in MAP_KINDS:
        raise FoveateError(f"the map must be one of {', '.join(MAP_KINDS)}, got '{kind}'")
    if len(explained.alone) != len(explained.alpha):
        raise FoveateError("a map needs evidence: explain the bags with evidence")
    if kind == "evidence":
        return list(explained.alone)
    if kind == "product":
        return list(explained.evidence)
    pairs = zip(explained.alpha, explained.alone, strict=True)
    if kind == "posterior":
        return [posterior(alpha, alone) for alpha, alone in pairs]
    return [np.repeat(alpha[:, None], alone.shape[1], 1) for alpha, alone in pairs]


def probabilities_of(alone: Array) -> Array:
    """Probabilities of the classes for segments alone, from their logits (m, C)."""
    return np.exp(_log_softmax(alone, 1))


def posterior(alpha: Array, alone: Array) -> Array:
    """The probability that each segment was read, given the class, shape (m, C).

    Args:
        alpha: Attention, shape (m,).
        alone: Logits of the segments alone, shape (m, C).
    """
    log_alpha = np.log(np.maximum(alpha, np.finfo(np.float64).tiny))
    share: Array = np.exp(_log_softmax(_log_softmax(alone, 1) + log_alpha[:, None], 0))
    return share


def _log_softmax(values: Array, axis: int) -> Array:
    shifted = values - values.max(axis, keepdims=True)
    log_p: Array = shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))
    return log_p


def signed_map(explained: Explained, kind: MapKind = DEFAULT_MAP) -> list[Array]:
    """The map of every bag, or what has a sign in it: evidence for the posterior, else product."""
    signed: dict[MapKind, MapKind] = {"posterior": "evidence", "attention": "product"}
    return segment_map(explained, signed.get(kind, kind))


def ranking(explained: Explained, predicted: Array, kind: MapKind = DEFAULT_MAP) -> list[Array]:
    """What ranks the segments of every bag, one array (m_i,) each: its map for one class.

    Args:
        explained: What a model makes of the bags, with evidence.
        predicted: The class of each bag, shape (n,).
        kind: Which map.
    """
    maps = segment_map(explained, kind)
    return [class_map[:, int(c)] for class_map, c in zip(maps, predicted, strict=True)]
