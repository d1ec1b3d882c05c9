"""Closed gradients: equal to autograd for every paradigm, network and form of bags."""

from dataclasses import dataclass
from itertools import product

import pytest
import torch
from torch import nn

from foveate.attention.paradigms import (
    EM,
    Hard,
    LogitAverage,
    Marginal,
    Soft,
    WithClassWeights,
    WithEntropy,
)
from foveate.bags.bag import Bag, pad
from foveate.bags.segments import Mosaics
from foveate.models.focus import FCAM
from foveate.models.nets import linear, mlp
from foveate.training import step_gradients
from foveate.training.closed import ClosedGradients, flush_denormals, gradients
from foveate.training.loop import Training
from foveate.training.plan import Plan
from foveate.training.stack import MemberBags, Stack, batches
from foveate.training.step_gradients import _mean_loss

N, C, PICKED = 12, 3, 7
WEIGHTS = (1.0, 2.0, 0.5)
PHASES = (
    Soft(),
    Hard(),
    Marginal(),
    EM(),
    WithClassWeights(Soft(), WEIGHTS),
    WithClassWeights(Marginal(), WEIGHTS),
)


def networks(d):
    return {
        "linear": lambda: FCAM(linear(d, 1), linear(d, C)),
        "mlp": lambda: FCAM(mlp(d, 1, (7,)), mlp(d, C, (6,))),
        "deep": lambda: FCAM(mlp(d, 1, (7, 5)), mlp(d, C, (6, 4), bias=False)),
        "tanh": lambda: FCAM(
            nn.Sequential(nn.Linear(d, 8), nn.Tanh(), nn.Linear(8, 1, bias=False)), linear(d, C)
        ),
    }


def forms(d, m, rng):
    y = torch.randint(C, (N,), generator=rng)
    lengths = torch.randint(1, m + 1, (N,), generator=rng).tolist()
    bank = torch.randn(9, d, generator=rng)
    return {
        "dense": Bag(torch.randn(N, m, d, generator=rng), y),
        "ragged": pad([torch.randn(k, d, generator=rng) for k in lengths], y),
        "bank": Bag(Mosaics(bank, torch.randint(9, (N, m), generator=rng)), y),
    }


def responsibilities(bag, rows, rng):
    gamma = torch.rand(*rows.shape, bag.m, generator=rng, dtype=torch.float64)
    gamma = gamma if bag.mask is None else gamma * bag.mask[rows]
    return gamma / gamma.sum(-1, keepdim=True)


@pytest.mark.parametrize("network", ["linear", "mlp", "deep", "tanh"])
@pytest.mark.parametrize(("d", "m"), [(2, 5), (20, 6)])
def test_losses_and_gradients_equal_those_of_autograd(network, d, m, rng):
    build = networks(d)[network]
    for (form, bag), size, phase in product(forms(d, m, rng).items(), (1, 3), PHASES):
        stack = Stack(build, range(size), torch.float64)
        bags = MemberBags(bag, size, torch.float64)
        rows = torch.stack([torch.randperm(N, generator=rng)[:PICKED] for _ in range(size)])
        aux = responsibilities(bag, rows, rng) if phase.recalls else None
        batch = bags.batch(rows, aux=aux)
        closed = ClosedGradients(stack)
        assert closed.supports(phase, bags)
        loss, grad = closed.gradients(phase, batch)
        expected = stack.gradients(_mean_loss, batch, phase)
        case = f"{form}, {size} members, {phase}"
        torch.testing.assert_close(loss, expected[0], rtol=0, atol=1e-12, msg=case)
        torch.testing.assert_close(grad, expected[1], rtol=0, atol=1e-12, msg=case)


def of_words(layer="words", bias=True):
    """Networks that read rows of a table, f 10-7-1 and g 10-6-C."""
    f = nn.Sequential()
    f.add_module("words", nn.Embedding(9, 10))
    f.add_module("score", mlp(10, 1, (7,), bias=bias))
    return FCAM(f, mlp(10, C, (6,)), layer=layer)


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("m", [2, 6])  # 14 segments of a batch: a whole bank of 9 rows, or not
@pytest.mark.parametrize("ragged", [False, True])
def test_gradients_of_a_table_of_words_equal_those_of_autograd(size, m, ragged, rng):
    y, index = torch.randint(C, (N,), generator=rng), torch.randint(8, (N, m), generator=rng)
    mask = torch.arange(m) < torch.randint(1, m + 1, (N, 1), generator=rng) if ragged else None
    bag = Bag(Mosaics(torch.tensor([0, 1, 2, 4, 5, 6, 7, 8]), index), y, mask=mask)
    stack = Stack(of_words, range(size), torch.float64)
    bags, closed = MemberBags(bag, size, torch.float64), ClosedGradients(stack)
    for phase in (*PHASES, PHASES[0]):  # the last after others have written gradients
        assert closed.supports(phase, bags)
        rows = torch.stack([torch.randperm(N, generator=rng)[:3] for _ in range(size)])
        aux = responsibilities(bag, rows, rng) if phase.recalls else None
        batch = bags.batch(rows, aux=aux)
        for part, expected in zip(
            closed.gradients(phase, batch),
            stack.gradients(_mean_loss, batch, phase),
            strict=True,
        ):
            torch.testing.assert_close(part, expected, rtol=0, atol=1e-12, msg=str(phase))


def test_words_that_are_read_otherwise_are_left_to_autograd(rng):
    y, index = torch.randint(C, (N,), generator=rng), torch.randint(8, (N, 3), generator=rng)
    rising, falling = (Bag(Mosaics(ids, index), y) for ids in (torch.arange(9), -torch.arange(9)))

    def supported(build, bag):
        return ClosedGradients(Stack(build, [0])).supports(Soft(), MemberBags(bag, 1))

    assert supported(of_words, rising)
    assert not supported(of_words, falling)
    assert not supported(of_words, Bag(index, y))
    assert not supported(lambda: of_words("score.out"), rising)
    assert not supported(networks(1)["mlp"], rising)


def test_some_members_have_the_gradients_that_all_have(rng):
    bag = forms(2, 5, rng)["dense"]
    stack, bags = (
        Stack(networks(2)["mlp"], range(4), torch.float64),
        MemberBags(bag, 4, torch.float64),
    )
    rows = torch.randint(N, (4, 6), generator=rng)
    closed, some = ClosedGradients(stack), torch.tensor([1, 3])
    every = [part.clone() for part in closed.gradients(Soft(), bags.batch(rows))]
    few = closed.gradients(Soft(), bags.batch(rows[some], some), some)
    for part, whole in zip(few, every, strict=True):
        torch.testing.assert_close(part, whole[some], rtol=0, atol=1e-14)


@dataclass(frozen=True)
class Doubled(Soft):
    """A paradigm of a user that changes the loss."""

    def loss(self, alpha, x, g, y, aux=None):
        return 2 * super().loss(alpha, x, g, y, aux)


def test_other_losses_and_models_are_left_to_autograd(rng):
    bag = forms(2, 5, rng)["dense"]
    bags = MemberBags(bag, 1)
    usual = ClosedGradients(Stack(networks(2)["mlp"], [0]))
    assert usual.supports(Soft(), bags)
    others = (Doubled(), LogitAverage(), Hard(chunk=3), WithEntropy(Soft(), 0.1))
    assert not any(usual.supports(phase, bags) for phase in others)
    assert not usual.supports(Soft(), bags.in_chunks(4))
    assert not usual.supports(Soft(), MemberBags(bag, 1, torch.float64))

    def hooked():
        model = networks(2)["mlp"]()
        model.g.out.register_forward_hook(lambda *_: None)
        return model

    for build in (
        lambda: FCAM(mlp(2, 1), mlp(2, C), map="sparsemax"),
        lambda: FCAM(mlp(2, 1), mlp(64, C), layer="hidden1"),
        lambda: FCAM(nn.Sequential(nn.Linear(2, 4), nn.GELU(), nn.Linear(4, 1)), linear(2, C)),
        lambda: FCAM(nn.Sequential(nn.Linear(2, 4), nn.Dropout(), nn.Linear(4, 1)), linear(2, C)),
        hooked,
    ):
        assert not ClosedGradients(Stack(build, [0])).supports(Soft(), bags)


def run(bags, phase, d=2, seeds=(0, 1, 2), epochs=4, batch=5):
    build = networks(d)["mlp"]
    plan = Plan(epochs=epochs, batch=batch, lr=0.05, optimizer="sgd", dtype="float64")
    training = Training(build, bags, bags, phase, seeds, plan)
    while not training.done:
        training.run_epoch()
    return training


@pytest.mark.parametrize("phase", ["soft", "hard", "lvml", "em", "hybrid"])
@pytest.mark.parametrize("form", ["dense", "ragged", "bank"])
@pytest.mark.parametrize("d", [2, 20])
def test_training_follows_the_general_path(phase, form, d, rng, monkeypatch):
    bags = forms(d, 6, rng)[form]
    fast = run(bags, phase, d=d)
    monkeypatch.setattr(ClosedGradients, "supports", lambda *_: False)
    slow = run(bags, phase, d=d)
    torch.testing.assert_close(fast.stack.flat, slow.stack.flat, rtol=1e-9, atol=1e-10)
    torch.testing.assert_close(
        torch.stack(fast.losses), torch.stack(slow.losses), rtol=1e-9, atol=1e-10
    )


@pytest.mark.parametrize("phase", ["soft", "lvml", "em"])
@pytest.mark.parametrize("form", ["dense", "ragged"])
def test_large_bags_are_computed_one_by_one(phase, form, rng, monkeypatch):
    bags = forms(20, 6, rng)[form]
    usual = run(bags, phase, d=20)
    monkeypatch.setattr(step_gradients, "LARGE_BAG", 1)
    single = run(bags, phase, d=20)
    assert single.gradients._bag_by_bag(single._phases(0)[0])
    torch.testing.assert_close(single.stack.flat, usual.stack.flat, rtol=1e-9, atol=1e-10)
    torch.testing.assert_close(torch.stack(single.losses), torch.stack(usual.losses))


@pytest.mark.parametrize("form", ["dense", "bank"])
def test_neither_groups_of_members_nor_windows_change_a_training(form, rng, monkeypatch):
    bags = forms(2, 5, rng)[form]
    usual = run(bags, "soft")
    monkeypatch.setattr(batches, "MAX_CUT", 1)
    cut = run(bags, "soft")
    assert torch.equal(cut.stack.flat, usual.stack.flat)
    monkeypatch.setattr(gradients, "CACHED", 1)
    apart = run(bags, "soft")
    torch.testing.assert_close(apart.stack.flat, usual.stack.flat, rtol=1e-9, atol=1e-10)


def test_a_bias_of_all_scores_stays_where_it_was(rng):
    """A constant added to the scores changes nothing: its gradient is exactly 0."""
    training = run(forms(2, 5, rng)["dense"], "soft")
    start = Stack(networks(2)["mlp"], (0, 1, 2), torch.float64)
    name = "f.out.bias"
    assert torch.equal(training.stack.tensors()[name], start.tensors()[name])


def test_subnormal_numbers_are_zero_inside_and_as_before_outside():
    def product_is_zero():
        return float(torch.tensor(2e-38) * 0.25) == 0

    before = product_is_zero()
    with flush_denormals():
        assert product_is_zero()
    assert product_is_zero() == before
