"""The focus taught by an auditor: E-step by a plain loop, gradients in closed form."""

import pytest
import torch

from foveate.attention.maps import softmax
from foveate.attention.paradigms import Taught, TaughtFocus, TopMarginal
from foveate.errors import FoveateError


def case(seed=0, B=3, m=4, C=3):
    rng = torch.Generator().manual_seed(seed)
    s, x = (torch.randn(B, m, *more, generator=rng).double() for more in ((), (C,)))
    return softmax(s), 2 * x, torch.arange(B) % C


@pytest.mark.parametrize("prior", [0.0, 0.5, 1.0])
def test_weights_equal_a_plain_loop(prior):
    alpha, x, y = case()
    w = TaughtFocus(prior).remember(alpha, x, lambda rows: rows, y)
    for i in range(3):
        excess = []
        for j in range(4):
            p = x[i, j].softmax(0)[y[i]]
            ratio = 2 * p / (1 - p)
            excess.append(max(0.0, float(ratio - 1)) * float(alpha[i, j]) ** prior)
        expected = torch.tensor(excess, dtype=torch.float64)
        total = expected.sum()
        torch.testing.assert_close(w[i], expected / total if total else expected)


def test_a_bag_without_evidence_does_not_teach_the_focus():
    alpha = torch.full((1, 2), 0.5, dtype=torch.float64)
    x = torch.tensor([[[0.0, 1.0], [0.0, 3.0]]], dtype=torch.float64)
    w = TaughtFocus().remember(alpha, x, lambda rows: rows, torch.tensor([0]))
    assert w.tolist() == [[0.0, 0.0]]
    loss = TaughtFocus().loss(alpha, x, lambda rows: rows, torch.tensor([0]))
    torch.testing.assert_close(loss, -x.log_softmax(2)[:, :, 0].mean(1))


def test_gradient_on_scores_is_attention_minus_weights():
    alpha, x, y = case()
    s = alpha.log().requires_grad_()
    w = TaughtFocus().remember(alpha, x, lambda rows: rows, y)
    assert (w.sum(1) > 0).any()
    loss = TaughtFocus().loss(softmax(s), x, lambda rows: rows, y, w)
    (gradient,) = torch.autograd.grad(loss.sum(), s)
    torch.testing.assert_close(gradient, w.sum(1, keepdim=True) * alpha - w)


def test_padding_is_the_same_as_deleting():
    alpha, x, y = case()
    padded = torch.cat([alpha, torch.zeros(3, 2, dtype=alpha.dtype)], 1)
    filler = torch.full((3, 2, 3), 50.0, dtype=x.dtype)
    rule = TaughtFocus(1.0)
    both = [
        rule.loss(a, h, lambda rows: rows, y)
        for a, h in ((alpha, x), (padded, torch.cat([x, filler], 1)))
    ]
    torch.testing.assert_close(*both)


def test_the_second_phase_is_that_of_the_witness():
    assert Taught().phases[1] == TopMarginal()
    with pytest.raises(FoveateError, match="prior"):
        TaughtFocus(-1.0)
