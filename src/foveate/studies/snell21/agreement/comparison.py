"""What a part of the agreement experiment records: agreements by set and by measure.

Every part, of labelled texts or of sentence pairs, leaves a record with

* ``values`` over the checkpoints τ, (T, S, 3, 3) by seed, set (:data:`SETS`) and measure
  (:data:`MEASURES`); the first quantity says where, the second is asked (A is not symmetric):
  ``alpha_uf`` A(α, β_uf(τ)), ``delta_uf`` A(Δ, β_uf(τ)), ``uf_px`` A(β_uf(τ), β_px), ``uf_trans``
  A(β_uf(τ), Trans(y|x)), ``alpha_alpha`` A(α, α_B(τ)), ``alpha_beta_other`` A(α, β_B(τ)); texts
  also ``alpha_beta`` A(α_B(τ), β_B(τ)) and ``frozen_alpha`` A(α_fr(τ), α);
* ``values`` of performance, (T, S, 3) by seed and set: ``partner_accuracy`` p(τ) of model B (for
  pairs the token accuracy), ``uniform_accuracy``, for texts ``frozen_accuracy``; for pairs
  ``partner_bleu``, (T, S), NaN at checkpoints where nothing was translated;
* ``final``: ``alpha_beta`` A(α, β) of the standard model, (S, 3, 3); ``random``, the random level,
  (S, 3); ``standard_accuracy`` and, for texts, ``proxy_accuracy``, (S, 3);
* ``meta``: ``data``, its name; ``kind``, "texts" or "pairs"; ``counts``; ``deviation``, in words.

α, β and Δ are those of the standard model at its end, B is a standard model of another seed.
"""

import numpy as np

from foveate.metrics.agreement import agreement, fair_agreement, random_level
from foveate.metrics.kendall import kendall
from foveate.types import Array

__all__ = [
    "CHOOSING",
    "FAIR",
    "MEASURES",
    "PAPER",
    "REPORTING",
    "SETS",
    "TAU",
    "TRAINING",
    "by_set",
    "compare",
    "random_levels",
]


SETS = ("choosing half", "reporting half", "training sample")
CHOOSING, REPORTING, TRAINING = range(3)
MEASURES = ("paper", "fair", "tau")
PAPER, FAIR, TAU = range(3)


def by_set(values: Array, group: Array) -> Array:
    """The mean of finite rows in each of the three sets, NaN if there is none, (3,).

    Args:
        values: One value for each row, shape (R,).
        group: The set of each row, 0, 1 or 2, shape (R,).

    Example:
        >>> by_set(np.array([1.0, 2.0, np.nan, 5.0]), np.array([0, 0, 0, 2]))
        array([1.5, nan, 5. ])
    """
    present = ~np.isnan(values)
    total = np.bincount(group[present], values[present], len(SETS))
    count = np.bincount(group[present], minlength=len(SETS))
    return np.divide(total, count, out=np.full(len(SETS), np.nan), where=count > 0)


def compare(u: Array, v: Array, start: Array, group: Array) -> Array:
    """Agreement of u with v: the paper's form, with fair ties, and Kendall's τ, by set.

    Args:
        u: The quantity whose largest value is compared, flat rows, shape (N,).
        v: The quantity that is evaluated there, shape (N,).
        start: Where each row begins, and N at the end, shape (R + 1,).
        group: The set of each row, shape (R,).

    Returns:
        Shape (3, 3), by set and measure.
    """
    rows = (
        agreement(u, v, start).astype(np.float64),
        fair_agreement(u, v, start),
        kendall(u, v, start),
    )
    return np.stack([by_set(row, group) for row in rows], 1)


def random_levels(start: Array, group: Array) -> Array:
    """The exact random level of A in each set, shape (3,)."""
    return by_set(random_level(np.diff(start)), group)
