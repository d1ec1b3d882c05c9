"""The two-class error mode against autograd of the losses that are trained with."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from foveate.attention.paradigms import Marginal
from foveate.dynamics.witness import follow, loss, rates, wrong_point
from foveate.errors import FoveateError

STATES = st.lists(st.floats(-3, 3), min_size=6, max_size=6).map(np.array)
WRONG = np.array([4.0, -4.0, 0.0, 4.0, 0.0, -4.0])  # B is read from the background
KINDS = ("lvml", "witness", "uniform-penalty")


def by_autograd(state, m, weight, kind):
    """Loss and minus its gradient, from real bags of one-hot segments and the real paradigm."""
    state = torch.tensor(state, requires_grad=True)
    s, t = state[:3], state[3:]
    bags = torch.stack([torch.tensor([c] + [2] * (m - 1)) for c in (0, 1)])
    x, y = torch.eye(3, dtype=torch.float64)[bags], torch.tensor([0, 1])
    alpha = s[bags].softmax(1)

    def g(rows):
        return torch.stack([rows @ t, torch.zeros(len(rows), dtype=torch.float64)], 1)

    total = Marginal().loss(alpha, x, g, y).mean()
    log_p = torch.stack([torch.nn.functional.logsigmoid(k * t[bags]) for k in (1, -1)], 2)
    if kind == "witness":
        total = total - weight * torch.stack([log_p[i, :, i].mean() for i in (0, 1)]).mean()
    if kind == "uniform-penalty":
        outside = ((1 - alpha) / (m - 1)).detach()
        total = total + weight * (outside * (-log_p.mean(2) - np.log(2))).sum(1).mean()
    (slope,) = torch.autograd.grad(total, state)
    return float(total.detach()), -slope.numpy()


@given(STATES, st.integers(3, 9), st.floats(0, 3), st.sampled_from(KINDS))
@settings(max_examples=60)
def test_rates_are_autograd_of_the_loss_that_is_trained_with(state, m, weight, kind):
    total, slope = by_autograd(state, m, weight, kind)
    assert loss(state, m, weight, kind) == pytest.approx(total, abs=1e-12)
    assert rates(state, m, weight, kind) == pytest.approx(slope, abs=1e-12)


@pytest.mark.parametrize("m", [3, 5, 20])
@pytest.mark.parametrize("weight", [0.1, 1.0, 5.0])
def test_a_witness_removes_the_wrong_fixed_point_and_a_uniform_penalty_does_not(m, weight):
    assert not wrong_point(m, weight, "witness").is_stable
    assert wrong_point(m, weight, "uniform-penalty").is_stable
    assert wrong_point(m, weight, "lvml").is_stable
    t = np.array([0.0, 1e5])
    ends = {kind: follow(WRONG, t, m, weight, kind) for kind in KINDS}
    assert ends["witness"].a[-1, 1] > 0.95
    assert ends["witness"].s[-1, 1] > ends["witness"].s[-1, 2]
    assert ends["uniform-penalty"].a[-1, 1] < 0.05
    assert ends["lvml"].a[-1, 1] < 0.05


@pytest.mark.parametrize("kind", ["witness", "uniform-penalty"])
def test_background_predicts_as_at_the_wrong_point(kind):
    """With the focus pinned to the wrong place the logits settle where the closed form has them."""
    m, weight = 6, 0.7
    state = np.array([40.0, -40.0, 0.0, 30.0, -0.0, -1.0])
    for _ in range(4000):
        step = rates(state, m, weight, kind)
        state[3:] += step[3:]
    says_b = 1 / (1 + np.exp(state[5]))
    assert says_b == pytest.approx(wrong_point(m, weight, kind).background, abs=1e-6)
    foreground = 1 / (1 + np.exp(state[4]))
    assert foreground == pytest.approx(wrong_point(m, weight, kind).foreground, abs=0.01)


def test_from_a_neutral_start_all_find_the_foreground():
    t = np.array([0.0, 1e4])
    start = np.array([0.0, 0.0, 0.0, 0.5, -0.5, 0.0])
    for kind in KINDS:
        assert (follow(start, t, 5, 1.0, kind).a[-1] > 0.95).all()


def test_invalid_arguments_are_reported():
    with pytest.raises(FoveateError, match="m must be at least 3, got 2"):
        wrong_point(2, 1.0, "witness")
    with pytest.raises(FoveateError, match="must not be negative"):
        follow(WRONG, np.array([0.0, 1.0]), 5, -1.0, "witness")
