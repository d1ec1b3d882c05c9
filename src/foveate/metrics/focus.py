"""Metrics of focus and sparsity of attention: FT, SAIF, heat map, NNZ, Dist, Ent.

Arrays carry any leading axes; the last ones are bags ``n`` and segments ``m``.
"""

from math import prod

import numpy as np

from foveate.records.record import Record
from foveate.types import Array

__all__ = [
    "ACCURATE",
    "EDGES",
    "FOCUSED",
    "QUADRANTS",
    "attention_on",
    "distance",
    "entropy_bits",
    "focus_and_prediction",
    "focus_true",
    "heat_map",
    "label_probability",
    "nonzeros",
    "quadrants",
    "released_heat_map",
    "saif",
    "threshold_curve",
]

ACCURATE, FOCUSED = 0.95, 0.85  # accuracy and FT from which a model is called so
EDGES = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
QUADRANTS = ("ftpt", "ffpt", "ftpf", "ffpf")


def attention_on(alpha: Array, z: Array) -> Array:
    r"""Attention mass on the relevant segments, :math:`a_z = \sum_{j \in z} \alpha_j`. [vr23] 5

    Args:
        alpha: Attention, shape (…, n, m).
        z: Relevance, boolean, shape (…, n, m).

    Returns:
        Shape (…, n).
    """
    return np.minimum(np.einsum("...m,...m->...", alpha, z), 1.0)


def label_probability(log_p: Array, y: Array) -> Array:
    """Probability of the true class, shape (…, n), from log-probabilities (…, n, C).

    Args:
        log_p: Log-probabilities of the classes, shape (…, n, C).
        y: Labels, shape (n,) or (…, n).
    """
    y = np.broadcast_to(y, log_p.shape[:-1])
    return np.exp(np.take_along_axis(log_p, y[..., None], -1)[..., 0])


def focus_and_prediction(record: Record) -> tuple[Array, Array]:
    """Attention on the relevant segments and probability of the true class at the end of training.

    In double precision, as SAIF is measured during training, so that a bag at a threshold is
    counted the same way.

    Returns:
        ``a_z`` and ``p_y``, each of shape (S, n).
    """
    final = record.final
    a_z = attention_on(final["alpha"].astype(np.float64), final["z"])
    return a_z, label_probability(final["log_p"].astype(np.float64), final["y"])


def focus_true(s: Array, z: Array, mask: Array | None = None) -> Array:
    """Whether the best relevant segment scores strictly above every other one. [pvr22] Sec. 3.2

    A tie is not FT, nor is a bag without a relevant segment. The mean over bags is FT[f].

    Args:
        s: Focus scores f (or alpha, for FT by attention), shape (…, n, m).
        z: Relevance, boolean, shape (…, n, m).
        mask: True where a segment exists, shape (…, n, m).

    Returns:
        Boolean, shape (…, n).
    """
    relevant, other = (z, ~z) if mask is None else (z & mask, ~z & mask)
    return np.where(relevant, s, -np.inf).max(-1) > np.where(other, s, -np.inf).max(-1)


def saif(a_z: Array, p_y: Array, tau: float = 0.8) -> Array:
    """Strongly accurate interpretable fraction: both scores in [tau, 1]. [vr23] Sec. 2.4

    Args:
        a_z: Attention on the relevant segments, shape (…, n).
        p_y: Predicted probability of the true class, shape (…, n).
        tau: The threshold; .8 in the paper, .3 in its captioning experiment.

    Returns:
        Shape (…).
    """
    return ((a_z >= tau) & (p_y >= tau)).mean(-1)


def heat_map(a_z: Array, p_y: Array, edges: Array = EDGES) -> Array:
    """Share of bags in each cell of (focus score, prediction score). [vr23] Fig. 1

    Cells are [e_i, e_{i+1}), the last one closed, so that the top right cell is SAIF. The edges are
    fixed; the released script bins the range of the data (:func:`released_heat_map`). A score that
    is not a number, as after a diverged training, is in no cell.

    Returns:
        Shape (…, p cells, a cells): rows follow the prediction score, columns the focus score.
    """
    cells = len(edges) - 1
    column = np.clip(np.searchsorted(edges, a_z, side="right") - 1, 0, cells - 1)
    row = np.clip(np.searchsorted(edges, p_y, side="right") - 1, 0, cells - 1)
    batch_shape, n = column.shape[:-1], column.shape[-1]
    first = (
        np.arange(prod(batch_shape)).reshape(*batch_shape, 1) * cells**2
    )  # one count over all leading axes
    inside = ~(np.isnan(a_z) | np.isnan(p_y))
    counts = np.bincount(
        (first + row * cells + column)[inside], minlength=prod(batch_shape) * cells**2
    )
    return (counts / n).reshape(*batch_shape, cells, cells)


def released_heat_map(a_z: Array, p_y: Array, cells: int = 5) -> Array:
    """The heat map as the released script bins it: over the range of the data, for comparison.

    Args:
        a_z: Focus scores, shape (n,).
        p_y: Prediction scores, shape (n,).
        cells: Cells along each axis.
    """
    counts, _, _ = np.histogram2d(p_y, a_z, bins=cells)
    return counts / len(a_z)


def threshold_curve(a_z: Array, thresholds: Array) -> Array:
    """Share of bags with attention on the relevant segments above each threshold. [pvr22] Fig. 6

    Returns:
        Shape (…, len(thresholds)).
    """
    return (a_z[..., None, :] > np.asarray(thresholds)[:, None]).mean(-1)


def quadrants(focused: Array, correct: Array) -> dict[str, Array]:
    """Shares of focus true/false × prediction true/false, which sum to 1. [pvr22] Fig. 5

    Args:
        focused: Boolean, shape (…, n), see :func:`focus_true`.
        correct: Boolean, shape (…, n).
    """
    return {
        "ftpt": (focused & correct).mean(-1),
        "ffpt": (~focused & correct).mean(-1),
        "ftpf": (focused & ~correct).mean(-1),
        "ffpf": (~focused & ~correct).mean(-1),
    }


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
