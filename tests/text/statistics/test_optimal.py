"""Optimal attention: the paper's example, SciPy's minimum, a certificate that is a true bound."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from foveate.errors import FoveateError
from foveate.text.statistics import optimal_attention as optimal
from foveate.text.statistics.optimal_attention import optimal_attention


def drawn(n, L, V, d, T, scale, seed=0):
    rng = torch.Generator().manual_seed(seed)
    h = scale * torch.randn(n, L, d, generator=rng, dtype=torch.float64)
    W = torch.randn(V, d, generator=rng, dtype=torch.float64)
    y = torch.randint(V, (n, T), generator=rng)
    state = torch.randn(n, T, d, generator=rng, dtype=torch.float64)
    return h, W, y, state, torch.randn(V, generator=rng, dtype=torch.float64)


def loss_of(alpha, h, W, y, state, bias):
    """The model's own loss, one output word at a time."""
    context = torch.einsum("ntl,nld->ntd", alpha, h) + state
    logits = context @ W.T + bias
    return -logits.log_softmax(-1).gather(-1, y[..., None])[..., 0]


def test_the_word_with_the_largest_gradient_may_get_no_attention():
    """[snell21] C13: position 0 has the largest β, and optimal attention leaves it out."""
    gamma = torch.tensor([[[0.0, 0, 0], [0, -10, 5], [0, 5, -10]]]).double()
    y = torch.tensor([[0]])
    beta = gamma[0].softmax(1)[:, 0]
    assert beta.argmax() == 0
    result = optimal_attention(gamma, torch.eye(3), y, tol=1e-10)
    np.testing.assert_allclose(result.alpha[0, 0], [0, 0.5, 0.5], atol=1e-8)
    assert result.loss.item() == pytest.approx(np.log(1 + 2 * np.exp(-2.5)))
    assert result.gap.item() < 1e-10


@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_the_minimum_is_scipys(scale):
    h, W, y, state, bias = drawn(4, 5, 6, 4, 3, scale)
    result = optimal_attention(h, W, y, state=state, bias=bias, tol=1e-9)
    np.testing.assert_allclose(result.loss, loss_of(result.alpha, h, W, y, state, bias))
    gammas, offsets = (h @ W.T).numpy(), (state @ W.T + bias).numpy()

    def loss(alpha, gamma, offset, o):
        z = alpha @ gamma + offset
        p = np.exp(z - z.max())
        return np.log(p.sum()) + z.max() - z[o], gamma @ (p / p.sum()) - gamma[:, o]

    for n in range(4):
        for t in range(3):
            best = minimize(
                loss,
                np.full(5, 0.2),
                (gammas[n], offsets[n, t], int(y[n, t])),
                jac=True,
                method="SLSQP",
                bounds=[(0, 1)] * 5,
                constraints={"type": "eq", "fun": lambda a: a.sum() - 1, "jac": np.ones_like},
                options={"ftol": 1e-14, "maxiter": 500},
            )
            assert result.loss[n, t].item() <= best.fun + 1e-8
            assert result.loss[n, t].item() >= best.fun - result.gap[n, t].item() - 1e-8


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0, 100.0, 1000.0])
def test_every_problem_is_solved_to_its_certificate(scale):
    h, W, y, state, bias = drawn(20, 7, 9, 5, 4, scale)
    result = optimal_attention(h, W, y, state=state, bias=bias, tol=1e-7)
    assert result.gap.max() <= 1e-7
    assert result.alpha.min() >= 0
    np.testing.assert_allclose(result.alpha.sum(-1), 1)


def test_the_certificate_bounds_what_the_loss_lacks_at_every_stage():
    h, W, y, state, bias = drawn(20, 7, 9, 5, 4, 2.0)
    best = optimal_attention(h, W, y, state=state, bias=bias, tol=1e-10).loss
    for steps in (0, 1, 3, 6):
        early = optimal_attention(h, W, y, state=state, bias=bias, steps=steps)
        lack = early.loss - best
        assert (lack <= early.gap + 1e-9).all()
        assert (lack >= -1e-9).all()
        if steps < 3:
            assert lack.max() > 1e-3


def test_no_other_attention_is_better(rng):
    h, W, y, state, bias = drawn(10, 6, 8, 5, 3, 1.0)
    result = optimal_attention(h, W, y, state=state, bias=bias)
    for _ in range(50):
        other = torch.rand(result.alpha.shape, generator=rng, dtype=torch.float64) ** 4
        other /= other.sum(-1, keepdim=True)
        assert (loss_of(other, h, W, y, state, bias) >= result.loss - 1e-6).all()


def test_masking_equals_deleting():
    h, W, y, state, bias = drawn(3, 6, 8, 5, 2, 2.0)
    mask = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 0, 1, 1, 0, 1], [0, 0, 0, 1, 0, 0]]).bool()
    h[~mask] = torch.nan
    result = optimal_attention(h, W, y, state=state, bias=bias, mask=mask)
    assert (result.alpha[~mask[:, None].expand_as(result.alpha)] == 0).all()
    for i in range(3):
        one = optimal_attention(
            h[i : i + 1, mask[i]], W, y[i : i + 1], state=state[i : i + 1], bias=bias
        )
        np.testing.assert_allclose(result.alpha[i][:, mask[i]], one.alpha[0], atol=1e-9)
        np.testing.assert_allclose(result.loss[i], one.loss[0], atol=1e-12)
    mask[1] = False
    with pytest.raises(FoveateError, match="text 1 has no input"):
        optimal_attention(h, W, y, mask=mask)


def test_the_logits_of_all_words_and_positions_are_never_held_whole(monkeypatch):
    h, W, y, state, bias = drawn(6, 4, 50, 3, 10, 1.0)
    whole = optimal_attention(h, W, y, state=state, bias=bias)
    solve, seen = optimal._solve, []

    def watched(gamma, *rest):
        seen.append(gamma.shape)
        return solve(gamma, *rest)

    monkeypatch.setattr(optimal, "_solve", watched)
    monkeypatch.setattr(optimal, "CELLS", 7 * 4 * 50)
    parts = optimal_attention(h, W, y, state=state, bias=bias)
    assert seen == [(7, 4, 50)] * 8 + [(4, 4, 50)]
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_two_words_make_a_linear_problem():
    """With V = 2 all attention goes to the position that says most for y."""
    h, W, y, _, _ = drawn(10, 8, 2, 4, 1, 1.0)
    result = optimal_attention(h, W, y, tol=1e-9)
    margin = torch.einsum("nld,nd->nl", h, W[y[:, 0]] - W[1 - y[:, 0]])
    assert (result.alpha[:, 0].argmax(1) == margin.argmax(1)).all()
    expected = torch.nn.functional.softplus(-margin.amax(1))
    np.testing.assert_allclose(result.loss[:, 0], expected, atol=1e-8)
