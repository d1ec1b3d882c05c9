"""Bags read in chunks: the same losses, gradients, weights and answers as written out."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from foveate import train as loop
from foveate.bag import Bag, pad
from foveate.estimator import FocusClassifier
from foveate.likelihood import label_log_prob
from foveate.models.focus import FCAM
from foveate.models.nets import linear, mlp
from foveate.models.null import NullSegment, with_place_for_null
from foveate.paradigms import PARADIGMS, Progress, WithClassWeights, WithEntropy, WithFocus
from foveate.segments import Mosaics, dense, each, mix
from foveate.train import Training, _in_chunks, fit

NAMES = [name for name in PARADIGMS.names() if name != "direct"]
WRAPPED = {
    "weights": WithClassWeights(PARADIGMS.get("hybrid")(), (1.0, 2.0, 0.5)),
    "focus": WithFocus(PARADIGMS.get("lvml")(), 0.7),
    "entropy": WithEntropy(PARADIGMS.get("hard")(), 0.3),
}


def ragged(chance, n=5, d=4, dtype=torch.float64, spare=60):
    lengths = [3, 11, 7, 1, 9][:n]
    rows = [torch.randn(m, d, generator=chance, dtype=dtype) for m in lengths]
    z = [torch.arange(m) == m // 2 for m in lengths]
    bag = pad(rows, torch.tensor([0, 2, 1, 1, 0][:n]), z)
    others = torch.randn(spare, d, generator=chance, dtype=dtype)  # rows of bags not read here
    return replace(bag, x=Mosaics(torch.cat([bag.x.bank, others]), bag.x.index))


def built(make, dtype=torch.float64):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        return make().to(dtype)


def zeroth():
    return FCAM(mlp(4, 1, (6,)), mlp(4, 3, (5,)))


def last():
    return FCAM(mlp(4, 1, (6,)), mlp(6, 3, (5,)), layer="hidden1")


def with_null():
    return NullSegment(zeroth(), (4,))


def loss_and_gradient(model, rule, bag, x, aux):
    focus = model.attend(x, bag.mask)
    loss = rule.loss(focus.alpha, focus.h, model.g, bag.y, aux)
    if rule.needs_z:
        loss = loss + rule.told(focus.alpha, bag.z)
    grads = torch.autograd.grad(loss.sum(), list(model.parameters()), allow_unused=True)
    return [loss.detach(), *grads]


@pytest.mark.parametrize("build", [zeroth, last, with_null])
@pytest.mark.parametrize("spare", [0, 60])  # a bank smaller than the bags, or larger
@pytest.mark.parametrize("name", [*NAMES, *WRAPPED])
def test_losses_and_gradients_are_those_of_bags_written_out(name, spare, build, chance):
    bag, model = ragged(chance, spare=spare), built(build)
    bag = with_place_for_null(bag) if build is with_null else bag
    rule = WRAPPED[name] if name in WRAPPED else PARADIGMS.get(name)()
    aux = torch.rand(5, 2, generator=chance, dtype=torch.float64) if rule.draws else None
    for phase in {rule.phase(Progress(0, 10)), rule.phase(Progress(9, 10))}:
        expected = loss_and_gradient(model, phase, bag, dense(bag.x), aux)
        for chunk in (4, 1000):
            lazy = Mosaics(bag.x.bank, bag.x.index, chunk)
            found = loss_and_gradient(model, _in_chunks(phase, chunk), bag, lazy, aux)
            for a, b in zip(found, expected, strict=True):
                assert (a is None) == (b is None)
                if a is not None:
                    torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


def test_what_segments_are_made_of_in_chunks(chance):
    bag, g = ragged(chance), built(lambda: linear(4, 3))
    alpha = torch.rand(5, 11, generator=chance, dtype=torch.float64) * bag.mask
    for chunk in (1, 6, 100):
        lazy = Mosaics(bag.x.bank, bag.x.index, chunk)
        torch.testing.assert_close(mix(alpha, lazy), mix(alpha, bag.dense()))
        torch.testing.assert_close(each(g, lazy), each(g, bag.dense()))
        torch.testing.assert_close(
            label_log_prob(lazy, g, bag.y), label_log_prob(bag.dense(), g, bag.y)
        )


def test_a_chunk_is_all_that_a_network_sees_at_a_time(chance):
    bag, seen = ragged(chance), []

    def network(rows):
        seen.append(len(rows))
        return rows.square().sum(1, keepdim=True)

    each(network, Mosaics(bag.x.bank.requires_grad_(), bag.x.index, 4)).sum().backward()
    assert max(seen) == 4
    assert sum(seen) == 2 * 55  # once ahead, once again on the way back
    seen.clear()
    packed = ragged(chance, spare=0)
    each(network, Mosaics(packed.x.bank, packed.x.index, 4))
    assert sum(seen) == 31  # a bank smaller than the bags is read once


@pytest.mark.parametrize("name", [*NAMES, *WRAPPED])
@pytest.mark.parametrize("form", ["bank", "dense"])
def test_training_in_chunks_follows_training_at_once(name, form, chance, monkeypatch):
    bag = ragged(chance, spare=60 if form == "bank" else 0)
    if form == "dense":
        bag = Bag(bag.dense(), bag.y, bag.z, bag.mask)
    rule = WRAPPED.get(name, name)
    plan = {"epochs": 3, "batch": 2, "lr": 0.02, "dtype": "float64", "seeds": [0, 1]}
    expected = fit(zeroth, bag, bag, rule, **plan)
    monkeypatch.setattr(loop, "NUMBERS", 1)
    monkeypatch.setattr(loop, "CHUNK", 12)  # three segments
    found = fit(zeroth, bag, bag, rule, **plan)
    torch.testing.assert_close(found.trained.flat, expected.trained.flat, rtol=1e-8, atol=1e-10)
    for key, value in expected.values.items():
        np.testing.assert_allclose(found.values[key], value, rtol=1e-8, atol=1e-10)
    for key in ("alpha", "log_p"):
        np.testing.assert_allclose(found.final[key], expected.final[key], atol=1e-6)


def test_large_steps_turn_to_chunks_by_themselves(chance, monkeypatch):
    bag = ragged(chance)
    plan = loop.Plan(batch=2)
    assert Training(zeroth, bag, bag, "soft", [0], plan).train.chunk is None
    monkeypatch.setattr(loop, "NUMBERS", 2 * 11 * 4 - 1)
    training = Training(zeroth, bag, bag, "soft", [0], plan)
    assert training.train.chunk == loop.CHUNK // 4
    assert not training.stack.together


def test_the_phases_of_a_hybrid_classify_in_chunks_too():
    rule = _in_chunks(WithEntropy(PARADIGMS.get("hybrid")(), 0.1), 7)
    assert rule.paradigm.phases[1].chunk == 7


def test_answers_are_the_same_a_few_segments_at_a_time(monkeypatch):
    chance = np.random.default_rng(0)
    y = np.arange(20) % 2
    bags = [chance.normal(size=(chance.integers(2, 9), 3)) + label for label in y]
    model = FocusClassifier("hybrid", epochs=5, lr=0.02, batch=4, seeds=2).fit(bags, y)
    whole = model.predict_proba(bags), model.evidence(bags)
    monkeypatch.setattr("foveate.evidence.ELEMENTS", 1)
    monkeypatch.setattr("foveate.segments.ROWS", 2)
    np.testing.assert_allclose(model.predict_proba(bags), whole[0], atol=1e-6)
    for a, b in zip(model.evidence(bags), whole[1], strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)
