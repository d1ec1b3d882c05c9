"""The two-token toy classifier: autograd, closed form, invariants and the blog's three claims."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from foveate.dynamics import blog21

drawn = settings(deadline=None, database=None, max_examples=25)
weight = st.floats(-5, 5)


def real_loss(beta0, beta1, p):
    """The score of {0, 0} minus that of {0, 1}, each an attention-weighted sum over its tokens."""
    beta = torch.stack((beta0, beta1))
    one = torch.ones_like(p)
    return torch.stack((one, 0 * one)) @ beta - torch.stack((1 - p, p)) @ beta


@given(weight, weight, weight)
@drawn
def test_both_rates_are_the_negative_gradient_of_the_loss(beta0, beta1, third):
    state = [
        torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (beta0, beta1, third)
    ]
    free = real_loss(*state)
    expected = [-g.item() for g in torch.autograd.grad(free, state)]
    np.testing.assert_allclose(blog21.rates(beta0, beta1, third), expected, atol=1e-13)
    assert blog21.loss(beta0, beta1, third) == pytest.approx(free.item(), abs=1e-13)
    gated = real_loss(state[0], state[1], state[2].sigmoid())
    expected = [-g.item() for g in torch.autograd.grad(gated, state)]
    np.testing.assert_allclose(blog21.gated_rates(beta0, beta1, third), expected, atol=1e-13)


@given(st.tuples(weight, weight, weight))
@drawn
def test_closed_form_equals_the_integrated_flow(start):
    tau = np.linspace(0, 6, 13)
    result, expected = blog21.exact(tau, start), blog21.numerical(tau, start)
    np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-7)
    beta0, beta1, p = blog21.exact(tau, start)
    conserved = (beta1 - beta0) ** 2 - 2 * p**2
    np.testing.assert_allclose(
        conserved, conserved[0], atol=1e-12 * (1 + 2 * p.max() ** 2 + 2 * p.min() ** 2)
    )


def test_closed_form_decays_without_the_growing_mode():
    """From s = −√2 p everything dies out; cosh and sinh would leave rounding errors that grow."""
    tau = np.array([0.0, 5.0, 25.0])
    s = -np.sqrt(2.0) * 0.5
    _, _, p = blog21.exact(tau, (-s / 2, s / 2, 0.5))
    np.testing.assert_allclose(p, 0.5 * np.exp(-np.sqrt(2.0) * tau), rtol=1e-9)


@pytest.mark.parametrize("start", [*blog21.starts(2.0).values(), (1.0, -1.0, 0.5)])
def test_gated_flow_keeps_its_first_integral_and_the_sum_of_weights(start):
    tau = np.linspace(0, 30, 50)
    beta0, beta1, p = blog21.numerical(tau, start, gated=True)
    a = np.log(p) - np.log1p(-p)
    conserved = (beta1 - beta0) ** 2 - 4 * (a + np.exp(a))
    assert np.ptp(a) > 1
    np.testing.assert_allclose(conserved, conserved[0], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(beta0 + beta1, start[0] + start[1], atol=1e-9)


@pytest.mark.parametrize("gated", [False, True])
def test_from_a_uniform_start_the_classifier_moves_before_attention(gated):
    start = blog21.starts()["uniform"]
    tau = np.array([0.0, 0.01, 10.0])
    beta0, beta1, p = blog21.numerical(tau, start, gated)
    assert beta1[1] - beta0[1] == pytest.approx(0.01, rel=1e-3)  # at once, at rate 2p = 1
    assert 0 < p[1] - 0.5 < 1e-4  # a second-order effect of the first
    assert p[2] > 0.98
    if not gated:
        np.testing.assert_allclose(p, 0.5 * np.cosh(np.sqrt(2.0) * tau), rtol=1e-10)


def test_a_wrong_start_diverges_without_a_gate_and_recovers_with_one():
    wrong = blog21.starts()["wrong"]
    for gated in (False, True):
        _, _, p = blog21.numerical([0.0, 0.02, 3.0], wrong, gated)
        assert p[1] < p[0] - 0.02
    _, _, p = blog21.exact([0.0, 3.0], wrong)
    assert p[1] < -100
    tau = np.linspace(0, 30, 100)
    _, _, p = blog21.numerical(tau, (1.0, -1.0, 0.5), gated=True)
    assert 0 < p.min() < 0.4
    assert p[-1] > 0.95


def test_an_arbitrarily_low_loss_is_possible_with_uniform_attention():
    for K in (1.0, 1e6):
        beta0, beta1, p = blog21.starts(K)["low_loss"]
        assert p == 0.5
        assert blog21.loss(beta0, beta1, p) == -2 * K
