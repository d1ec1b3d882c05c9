"""The proxy at the start of training: autograd of its loss, and the limit of many dimensions."""

import numpy as np
import pytest
import torch
from torch.nn.functional import log_softmax

from foveate.dynamics import snell21
from foveate.text.statistics.cooccurrence import bags, count_table
from foveate.text.tokens import Tokens


@pytest.fixture
def corpus():
    rng = np.random.default_rng(0)
    texts = [
        [rng.integers(0, size, rng.integers(1, 7)).tolist() for _ in range(12)] for size in (6, 5)
    ]
    return Tokens.of(texts[0]), Tokens.of(texts[1])


def proxy_loss(W, e, source, target):
    """[snell21] Sec. 2.3, a sentence pair at a time."""
    loss = 0.0
    for m in range(len(source)):
        logits = e[source[m]].mean(0) @ W.T
        loss = loss - log_softmax(logits, 0)[target[m]].sum()
    return loss


@pytest.mark.parametrize("d", [2, 7])
def test_rates_are_those_of_gradient_flow_on_the_proxys_loss(corpus, d):
    source, target = corpus
    W, e = snell21.initial((6, 5), d, seed=1)
    weights = [torch.tensor(value, requires_grad=True) for value in (W, e)]
    W_dot, e_dot = (-g for g in torch.autograd.grad(proxy_loss(*weights, *corpus), weights))
    bag = bags(source, 6), bags(target, 5)

    def logits(W, e):
        return e @ W.T

    def probabilities(W, e):
        return logits(W, e).softmax(1)

    for of, rate in (
        (logits, snell21.logit_rate),
        (probabilities, snell21.probability_rate),
    ):
        _, expected = torch.autograd.functional.jvp(of, tuple(weights), (W_dot, e_dot))
        np.testing.assert_allclose(rate(W, e, *bag), expected, rtol=1e-10, atol=1e-12)
        dense = (matrix.toarray() for matrix in bag)
        np.testing.assert_allclose(rate(W, e, *dense), expected, rtol=1e-10, atol=1e-12)


def deviations(corpus, rate, limit, d, seeds=6):
    source, target = corpus
    expected = limit(count_table(source, target, (6, 5)))
    bag = bags(source, 6), bags(target, 5)
    result = [rate(*snell21.initial((6, 5), d, seed), *bag) for seed in range(seeds)]
    return np.mean([np.linalg.norm(one - expected) / np.linalg.norm(expected) for one in result])


@pytest.mark.parametrize(
    ("rate", "limit"),
    [
        (snell21.logit_rate, snell21.logit_limit),
        (snell21.probability_rate, snell21.probability_limit),
    ],
)
def test_the_limit_is_approached_like_one_over_the_root_of_d(corpus, rate, limit):
    sizes = np.array([64, 256, 1024, 4096, 16384])
    errors = [deviations(corpus, rate, limit, d) for d in sizes]
    slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.06)
    assert errors[-1] < 0.05


def test_the_papers_limit_for_probabilities_lacks_a_factor(corpus):
    """Eq. 12 as printed, for θ: off by |O|, however large d is."""
    error = deviations(corpus, snell21.probability_rate, snell21.logit_limit, 16384)
    assert error == pytest.approx(1 - 1 / 5, abs=0.01)


def test_initial_weights_have_unit_length_and_are_decided_by_the_seed():
    W, e = snell21.initial((30, 20), 5000, seed=3)
    assert W.shape == (20, 5000)
    assert e.shape == (30, 5000)
    np.testing.assert_allclose((W**2).sum(1), 1, atol=0.1)
    np.testing.assert_allclose(W @ e.T, 0, atol=0.1)
    np.testing.assert_array_equal(snell21.initial((30, 20), 5000, seed=3)[0], W)


def test_flat_tables_move_nothing():
    assert not snell21.logit_limit(np.full((4, 3), 2.5)).any()
    assert not snell21.probability_limit(np.full((4, 3), 2.5)).any()
