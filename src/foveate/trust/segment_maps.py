r"""Maps of bags: one signed number for every segment and class.

With the attention :math:`\alpha_j` of a segment (or its share of the prediction, where a paradigm
has no attention) and :math:`v_{jc}`, the centred logit of class c of the bag that consists of
segment j alone, the maps are

.. math:: \text{attention: } \alpha_j, \qquad \text{evidence: } v_{jc}, \qquad
    \text{product: } \alpha_j\, v_{jc}.

Attention is the same for all classes and has no sign. Of an ensemble, each map is the mean of the
maps of its models by their weights.
"""

from typing import Literal

import numpy as np

from foveate.errors import FoveateError
from foveate.trust.explanation import Explained
from foveate.types import Array

__all__ = ["DEFAULT_MAP", "MAP_KINDS", "MapKind", "ranking", "segment_map", "signed_map"]

MapKind = Literal["evidence", "product", "attention"]
MAP_KINDS: tuple[MapKind, ...] = ("evidence", "product", "attention")
DEFAULT_MAP: MapKind = "evidence"  # chosen by measurement: the study real-bags


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
    return [np.repeat(alpha[:, None], alone.shape[1], 1) for alpha, alone in pairs]


def signed_map(explained: Explained, kind: MapKind = DEFAULT_MAP) -> list[Array]:
    """The map of every bag; the product in place of attention, which has no sign."""
    return segment_map(explained, "product" if kind == "attention" else kind)


def ranking(explained: Explained, predicted: Array, kind: MapKind = DEFAULT_MAP) -> list[Array]:
    """What ranks the segments of every bag, one array (m_i,) each: its map for one class.

    Args:
        explained: What a model makes of the bags, with evidence.
        predicted: The class of each bag, shape (n,).
        kind: Which map.
    """
    maps = segment_map(explained, kind)
    return [class_map[:, int(c)] for class_map, c in zip(maps, predicted, strict=True)]
