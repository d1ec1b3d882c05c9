from functools import cache

import pytest
import torch

from foveate.attention.paradigms import (
    PARADIGMS,
    Direct,
    Hard,
    Hybrid,
    SampledHard,
    Soft,
    WithEntropy,
)
from foveate.errors import FoveateError
from foveate.models.focus import FCAM
from foveate.models.nets import direct, linear, mlp, pair
from foveate.training.cost import epochs_within, training_cost

D, C, M = 4, 3, 5
F, G = D * 6 + 6, D * 7 + 7 * C  # multiplications of one segment through f and g


def built(make):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return make()


@cache
def small():
    return built(lambda: FCAM(mlp(D, 1, (6,)), mlp(D, C, (7,))))


def cost(rule, epochs, model=None):
    return training_cost(rule, model or small(), (D,), M, epochs)


def test_linear_matches_manual_computation():
    model = built(lambda: FCAM(linear(D, 1), linear(D, C)))
    assert cost(Soft(), 1, model) == M * D + D * C
    assert cost(Hard(), 1, model) == M * D + M * D * C
    assert cost(Hard(), 7, model) == 7 * (M * D + M * D * C)


@pytest.mark.parametrize(
    ("name", "calls"),
    [("soft", 1), ("hard", M), ("lvml", M), ("logit", M), ("em", 2 * M), ("hard-sampled", 2)],
)
def test_mlp_matches_manual_computation(name, calls):
    assert cost(PARADIGMS.get(name)(), 3) == 3 * (M * F + calls * G)


def test_the_hidden_layer_of_f_costs_f_once():
    model = built(lambda: FCAM(mlp(D, 1, (6,)), mlp(6, C, (7,)), layer="hidden1"))
    assert cost(Hard(), 1, model) == M * F + M * (6 * 7 + 7 * C)


def test_convolutions_matches_manual_computation():
    f, g, _ = built(lambda: pair("vr23", (3, 32, 32), 3))
    of_f = 30**2 * 32 * 27 + 13**2 * 64 * 288 + 4**2 * 64 * 576
    of_f += 1024 * 512 + 512 * 64 + 64 * 10 + 10
    of_g = 28**2 * 6 * 75 + 10**2 * 16 * 150 + 400 * 120 + 120 * 84 + 84 * 10 + 30
    assert training_cost(Soft(), FCAM(f, g), (3, 32, 32), 2, 1) == 2 * of_f + of_g


def test_the_direct_classifier_reads_the_bag_once():
    model = built(lambda: FCAM(mlp(D, 1, (6,)), direct((D,), M, C, (8,)), "uniform"))
    assert cost(Direct(), 2, model) == 2 * (M * F + M * D * 8 + 8 * C)


@pytest.mark.parametrize(
    ("switch", "epochs", "hard_epochs"), [(0.8, 10, 2), (0.5, 6, 3), (3, 10, 7), (0, 4, 4)]
)
def test_cost_is_the_sum_over_phases(switch, epochs, hard_epochs):
    rule = Hybrid(switch=switch)
    calls = (epochs - hard_epochs) + hard_epochs * M
    assert cost(rule, epochs) == epochs * M * F + calls * G
    assert cost(WithEntropy(rule, 0.1), epochs) == cost(rule, epochs)


@pytest.mark.parametrize(
    "rule",
    [
        *(kind() for _, kind in PARADIGMS.items() if not kind().whole_bag),
        Hybrid(switch=0.5),
        Hybrid(switch=4),
        WithEntropy(Hybrid(), 0.1),
    ],
    ids=repr,
)
def test_epochs_are_the_most_within_the_budget(rule):
    costs = [cost(rule, epochs) for epochs in range(1, 30)]
    exact = costs[11]
    for budget in (exact, exact - 1, exact + 1, cost(Soft(), 15), 0):
        fitting = [epochs for epochs, price in enumerate(costs, 1) if price <= budget]
        assert fitting != list(range(1, 30))  # the brute force saw far enough
        expected = max(fitting, default=1)
        assert epochs_within(budget, rule, small(), (D,), M) == expected


def test_soft_gets_all_its_epochs_and_sampling_nearly():
    budget = cost(Soft(), 60)
    counts = [epochs_within(budget, rule, small(), (D,), M) for rule in (Soft(), SampledHard())]
    assert counts == [60, int(60 * (M * F + G) / (M * F + 2 * G))]


@pytest.mark.parametrize("rule", [Hybrid(switch="plateau"), WithEntropy(Hybrid("plateau"), 0.1)])
def test_plateau_switch_has_no_known_cost(rule):
    with pytest.raises(
        FoveateError, match="equal compute needs a switch epoch that is known in advance"
    ):
        epochs_within(1e4, rule, small(), (D,), M)
