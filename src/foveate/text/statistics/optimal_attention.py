r"""Optimal attention: the weights that make the correct word likeliest, with a certificate.

For a model with a linear output the loss of one output word is convex in the attention, so that its
minimum over the simplex can be found, and certified. [snell21] A.1
"""

from typing import NamedTuple

import torch
from torch import Tensor

from foveate.errors import FoveateError

__all__ = ["Optimum", "optimal_attention"]

CELLS = 1 << 20  # logits γ held at once, 8 MB, or those of one output word if they are more
BARRIER_FACTOR = 0.01  # factor of the barrier parameter per step
NEAR = 0.99  # fraction of the distance to the boundary that a step may go


class Optimum(NamedTuple):
    r"""The best attention found for each output word.

    Args:
        alpha: Attention weights, 0 on padding, shape (n, T, L).
        loss: :math:`-\log p_y` under them, shape (n, T).
        gap: A bound on how much lower the loss could be, shape (n, T).
    """

    alpha: Tensor
    loss: Tensor
    gap: Tensor


def optimal_attention(
    h: Tensor,
    W: Tensor,
    y: Tensor,
    *,
    state: Tensor | None = None,
    bias: Tensor | None = None,
    mask: Tensor | None = None,
    tol: float = 1e-6,
    steps: int = 100,
) -> Optimum:
    r"""Minimise over the simplex, for every output word of every text,

    .. math:: \mathcal{L}(\alpha) = -\log \sigma\big(\textstyle\sum_l \alpha_l \gamma_l
        + \gamma_s\big)_y, \qquad \gamma_l = W h_l,\ \gamma_s = W s + b

    by an interior-point method, to the certificate
    :math:`\mathcal{L}(\alpha) - \min \mathcal{L} \le \sum_l \alpha_l g_l - \min_l g_l` with the
    gradient g, which holds as the loss is convex. Interior points have no exact zeros; weights
    that should be 0 are of the order of the tolerance. Computed in float64, some words at a time:
    the logits of all (t, l) are never in memory together.

    Args:
        h: Hidden states of the inputs, shape (n, L, d).
        W: Output weights, shape (V, d).
        y: Correct output words, shape (n, T).
        state: What is added to the context of each output word, shape (n, T, d).
        bias: Output bias, shape (V,).
        mask: True where an input exists, shape (n, L).
        tol: The gap to reach, in nats.
        steps: Newton steps at most; ``gap`` tells whether they were enough.

    Example:
        >>> gamma = torch.tensor([[[0.0, 0, 0], [0, -10, 5], [0, 5, -10]]])
        >>> found = optimal_attention(gamma, torch.eye(3), torch.tensor([[0]]))
        >>> [round(weight, 6) for weight in found.alpha[0, 0].tolist()]
        [0.0, 0.5, 0.5]
    """
    n, L, _ = h.shape
    T = y.shape[1]
    present = torch.ones(n, L, dtype=torch.bool) if mask is None else mask
    if not bool(present.any(1).all()):
        raise FoveateError(f"text {int((~present.any(1)).nonzero()[0])} has no input to attend to")
    h, W = h.detach().double().masked_fill(~present[..., None], 0.0), W.detach().double()
    solutions = []
    for words in torch.arange(n * T).split(max(1, CELLS // (L * len(W)))):
        texts, index = torch.unique(words // T, return_inverse=True)
        gamma = (h[texts] @ W.T)[index]
        offset = torch.zeros(len(words), len(W), dtype=W.dtype)
        if state is not None:
            offset += state.detach().flatten(0, 1)[words].double() @ W.T
        if bias is not None:
            offset += bias.detach()
        solutions.append(
            _solve(gamma, offset, y.flatten()[words], present[texts][index], tol, steps)
        )
    alpha, loss, gap = (torch.cat(column) for column in zip(*solutions, strict=True))
    return Optimum(alpha.view(n, T, L), loss.view(n, T), gap.view(n, T))


def _solve(
    gamma: Tensor, offset: Tensor, y: Tensor, real: Tensor, tol: float, steps: int
) -> tuple[Tensor, Tensor, Tensor]:
    """A batch of problems: gamma (B, L, V), offset (B, V), y (B,), real (B, L)."""
    gamma = gamma - gamma.gather(2, y[:, None, None].expand(*gamma.shape[:2], 1))
    problem = _Problem(gamma, offset - offset.gather(1, y[:, None]), real)
    alpha = real / real.sum(1, keepdim=True).double()
    loss, gap = problem.certified(alpha)
    best, least = alpha, tol / problem.count
    mu = torch.maximum(gap / problem.count, least)
    for _ in range(steps):
        if bool((gap <= tol).all()):
            break
        alpha, slack = problem.step(alpha, mu)
        mu = torch.where(slack, torch.maximum(BARRIER_FACTOR * mu, least / 10), mu)
        new_loss, new_gap = problem.certified(alpha)
        better = (new_gap < gap) & (
            gap > tol
        )  # finished words stay fixed: no word depends on others
        best = torch.where(better[:, None], alpha, best)
        loss, gap = torch.where(better, new_loss, loss), torch.where(better, new_gap, gap)
    return best, loss, gap


class _Problem:
    r"""The loss :math:`\log \sum_o e^{z_o}` of logits :math:`z = \alpha\gamma + \gamma_s` with
    :math:`z_y = 0`, and Newton steps towards its minimum.

    A barrier keeps the weights positive, and heat keeps the loss smooth,

    .. math:: \phi(\alpha) = t \log \textstyle\sum_o e^{z_o/t} - \mu \sum_l \log \alpha_l,
        \quad t = \max(1, L\mu)

    since the logits may be hundreds apart, where the loss is a maximum with kinks. Both errors,
    at most :math:`t \log V` and :math:`L\mu`, fall together as μ does.
    """

    def __init__(self, gamma: Tensor, offset: Tensor, real: Tensor) -> None:
        self.gamma, self.offset, self.real, self.count = gamma, offset, real, real.sum(1)
        self.noise = 1e-15 * (gamma.abs().amax((1, 2)) + offset.abs().amax(1) + 1)

    def certified(self, alpha: Tensor) -> tuple[Tensor, Tensor]:
        """The loss without smoothing or barrier, and the bound on its gap."""
        logits = self._logits(alpha)
        g = self._gradient(logits.softmax(1))
        lowest = g.masked_fill(~self.real, torch.inf).amin(1)
        return logits.logsumexp(1), ((alpha * g).sum(1) - lowest).clamp(min=0)

    def step(self, alpha: Tensor, mu: Tensor) -> tuple[Tensor, Tensor]:
        """Weights after a damped Newton step on φ, and whether they are near its minimum.

        The squared length of a step, in the norm of the Hessian, is how much φ falls at first; if
        that is below μ, Newton's method converges quadratically.
        """
        heat = (self.count * mu).clamp(min=1.0)
        p = (self._logits(alpha) / heat[:, None]).softmax(1)
        g = self._gradient(p)
        slope = torch.where(self.real, g - mu[:, None] / self._inside(alpha), 0.0)
        change = alpha * self._direction(alpha, mu, slope, g, p / heat[:, None])
        fall = (slope * change).sum(1)
        size = (NEAR * _max_step(alpha, change)).clamp(max=1.0)
        before = self._barrier_objective(alpha, mu, heat)
        for _ in range(40):
            after = self._barrier_objective(alpha + size[:, None] * change, mu, heat)
            short = after > before + 1e-4 * size * fall + self.noise
            if not bool(short.any()):
                break
            size = torch.where(short, size / 2, size)
        alpha = alpha + size[:, None] * change
        return alpha / alpha.sum(1, keepdim=True), -fall <= mu

    def _direction(
        self, alpha: Tensor, mu: Tensor, slope: Tensor, g: Tensor, weight: Tensor
    ) -> Tensor:
        """Newton's direction relative to the weights, among those that keep their sum.

        Relative to the weights the matrix is well scaled however small some of them are; projected
        on what keeps the sum it needs no multiplier, whose cancellation would cost the sum.
        """
        spread = (self.gamma - g[..., None]).mul_(weight.sqrt()[:, None])
        hessian = alpha[:, :, None] * torch.bmm(spread, spread.mT) * alpha[:, None]
        barrier = torch.diag_embed(torch.where(self.real, mu[:, None], 1.0))
        unit = (alpha / alpha.norm(dim=1, keepdim=True))[..., None]
        projection = torch.eye(alpha.shape[1], dtype=alpha.dtype) - unit @ unit.mT
        matrix = projection @ (hessian + barrier) @ projection + unit @ unit.mT
        projected = projection @ -(alpha * slope)[..., None]
        return (projection @ torch.cholesky_solve(projected, torch.linalg.cholesky_ex(matrix)[0]))[
            ..., 0
        ]

    def _barrier_objective(self, alpha: Tensor, mu: Tensor, heat: Tensor) -> Tensor:
        smooth = heat * (self._logits(alpha) / heat[:, None]).logsumexp(1)
        return smooth - mu * self._inside(alpha).log().sum(1)

    def _inside(self, alpha: Tensor) -> Tensor:
        """The weights, with 1 on padding: nothing to divide by, nothing to take the log of."""
        return torch.where(self.real, alpha, 1.0)

    def _logits(self, alpha: Tensor) -> Tensor:
        return torch.baddbmm(self.offset[:, None], alpha[:, None], self.gamma)[:, 0]

    def _gradient(self, p: Tensor) -> Tensor:
        return torch.bmm(self.gamma, p[..., None])[..., 0]


def _max_step(value: Tensor, change: Tensor) -> Tensor:
    """How much of ``change`` keeps ``value`` positive, shape (B,)."""
    return torch.where(change < 0, -value / change, torch.inf).amin(1)
