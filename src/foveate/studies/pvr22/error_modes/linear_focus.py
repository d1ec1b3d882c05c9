r"""Exact results for a linear focus on boxes in the plane. [pvr22] 4

FT of :math:`f(x) = w \cdot x + b` depends on the direction of w alone, and on uniform boxes it is
an integral of piecewise polynomials; whether any w reaches FT = 1 is a linear programme.
"""

from typing import NamedTuple

import numpy as np

from foveate.data.error_modes import Box, Boxes
from foveate.types import Array

__all__ = ["Separation", "attended_points", "best_separation", "exact_ft", "score_cdf"]

FLAT = 1e-7  # a side of a box seen under so small an angle counts as this share of the other


class Separation(NamedTuple):
    """The best linear focus: its margin, and its weights w (each at most 1 in absolute value)."""

    margin: float
    w: Array


def best_separation(boxes: Boxes) -> Separation:
    r"""The largest margin by which a linear focus puts all foreground above all background.

    .. math:: \max_{|w_i| \le 1} \min_{p, q} w \cdot (p - q)

    over the corners p of foreground boxes and q of the background box, by linear programming. FT is
    1 for some linear focus if and only if it is above 0. [pvr22] Sec. 4.2
    """
    from scipy.optimize import linprog

    p = np.concatenate([_corners(box) for box in boxes.foreground])
    q = _corners(boxes.background)
    gaps = (p[:, None] - q[None]).reshape(-1, 2)
    rows = np.concatenate([-gaps, np.ones((len(gaps), 1))], 1)  # margin − w·(p − q) ≤ 0
    solution = linprog(
        [0, 0, -1], rows, np.zeros(len(rows)), bounds=[(-1, 1), (-1, 1), (None, None)]
    )
    return Separation(float(-solution.fun), np.asarray(solution.x[:2]))


def exact_ft(boxes: Boxes, w: Array, m: int) -> Array:
    r"""FT of a linear focus on each foreground class, without sampling.

    .. math:: \mathrm{FT}_c = \int p_c(s)\, F_0(s)^{m-1}\, ds

    with p_c the density of class c's score and F_0 the distribution of the background's. Between
    breakpoints the integrand is a polynomial of degree 2m − 1, which m Gauss nodes integrate
    exactly.

    Args:
        boxes: The base distributions.
        w: Weights of f, shape (W, 2). All zero means ties, hence FT = 0.
        m: Segments of a bag.

    Returns:
        Shape (W, k); FT[f] is its mean over the k classes, drawn evenly. [pvr22] Sec. 3.2
    """
    w = np.asarray(w, dtype=float)
    nothing = (w == 0).all(1, keepdims=True)
    w = np.where(nothing, 1.0, w)
    node, weight = np.polynomial.legendre.leggauss(m)
    background = _breakpoints(boxes.background, w)
    result = []
    for box in boxes.foreground:
        box_angles = _breakpoints(box, w)
        edges = np.sort(
            np.clip(
                np.concatenate([box_angles, background], 1), box_angles[:, :1], box_angles[:, 3:]
            ),
            1,
        )
        half = np.diff(edges, axis=1)[..., None] / 2  # (W, 7, 1)
        s = edges[:, :-1, None] + half * (1 + node)  # (W, 7, m)
        flat = s.reshape(len(w), -1)
        above = score_cdf(boxes.background, w, flat) ** (m - 1)
        value = (_density(box_angles, flat) * above).reshape(s.shape)
        result.append((value * weight * half).sum((1, 2)))
    return np.where(nothing, 0.0, np.clip(np.stack(result, 1), 0, 1))


def score_cdf(box: Box, w: Array, s: Array) -> Array:
    """P(w·x ≤ s) for x uniform on a box: the distribution of a sum of two uniforms.

    Args:
        box: The box.
        w: Weights, shape (W, 2).
        s: Scores, shape (W, K).
    """
    breakpoints = _breakpoints(box, w)
    a, b = breakpoints[:, 1] - breakpoints[:, 0], breakpoints[:, 2] - breakpoints[:, 0]
    ramps = np.maximum(s[..., None] - breakpoints[:, None], 0) ** 2 / 2
    signed = ramps[..., 0] - ramps[..., 1] - ramps[..., 2] + ramps[..., 3]
    return np.clip(signed / (a * b)[:, None], 0, 1)


def _density(breakpoints: Array, s: Array) -> Array:
    a, b = breakpoints[:, 1] - breakpoints[:, 0], breakpoints[:, 2] - breakpoints[:, 0]
    ramps = np.maximum(s[..., None] - breakpoints[:, None], 0)
    signed = ramps[..., 0] - ramps[..., 1] - ramps[..., 2] + ramps[..., 3]
    return np.maximum(signed / (a * b)[:, None], 0)


def _breakpoints(box: Box, w: Array) -> Array:
    """The scores of the four corners in order, where the polynomial pieces meet, shape (W, 4)."""
    sides = np.abs(w) * np.array([box.right - box.left, box.high - box.low])
    sides = np.sort(np.maximum(sides, FLAT * sides.max(1, keepdims=True)), 1)
    low = np.minimum(w * [box.left, box.low], w * [box.right, box.high]).sum(1)
    a, b = sides.T
    return low[:, None] + np.stack([np.zeros_like(a), a, b, a + b], 1)


def _corners(box: Box) -> Array:
    return np.array([(x, y) for x in (box.left, box.right) for y in (box.low, box.high)])


def attended_points(x: Array, w: Array) -> Array:
    r"""Attended points :math:`\tilde x = \sum_j \mathrm{softmax}_j(w \cdot x_j)\, x_j`, (n, 2).

    Args:
        x: Segments, shape (n, m, 2).
        w: Weights of a linear focus, shape (2,). [pvr22] Sec. 3.2
    """
    s = x @ w
    e = np.exp(s - s.max(1, keepdims=True))
    return np.einsum("nm,nmd->nd", e / e.sum(1, keepdims=True), x)
