"""Steps in parts and bags in chunks: the same losses, gradients, weights and answers."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from foveate.attention.likelihood import label_log_prob, map_segments
from foveate.attention.paradigms import (
    PARADIGMS,
    Progress,
    WithClassWeights,
    WithEntropy,
    WithFocus,
)
from foveate.bags.bag import Bag, pad
from foveate.bags.segments import Mosaics, dense, group_by_length, mix
from foveate.models.focus import FCAM
from foveate.models.nets import linear, mlp, pair
from foveate.models.null_segment import NullSegment, add_null_segment
from foveate.training import step_gradients
from foveate.training.loop import Training, fit
from foveate.training.plan import Plan
from foveate.training.stack import MemberBags
from foveate.userdata.estimator import FocusClassifier

NAMES = [name for name, kind in PARADIGMS.items() if not kind().whole_bag]
WRAPPED = {
    "weights": WithClassWeights(PARADIGMS.get("hybrid")(), (1.0, 2.0, 0.5)),
    "focus": WithFocus(PARADIGMS.get("lvml")(), 0.7),
    "entropy": WithEntropy(PARADIGMS.get("hard")(), 0.3),
}


def ragged(rng, n=5, d=4, dtype=torch.float64, spare=60):
    lengths = [3, 11, 7, 1, 9][:n]
    rows = [torch.randn(m, d, generator=rng, dtype=dtype) for m in lengths]
    z = [torch.arange(m) == m // 2 for m in lengths]
    bag = pad(rows, torch.tensor([0, 2, 1, 1, 0][:n]), z)
    others = torch.randn(spare, d, generator=rng, dtype=dtype)  # rows of bags not read here
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
        loss = loss + rule.relevance_loss(focus.alpha, bag.z)
    grads = torch.autograd.grad(loss.sum(), list(model.parameters()), allow_unused=True)
    return [loss.detach(), *grads]


@pytest.mark.parametrize("build", [zeroth, last, with_null])
@pytest.mark.parametrize("spare", [0, 60])  # a bank smaller than the bags, or larger
@pytest.mark.parametrize("name", [*NAMES, *WRAPPED])
def test_losses_and_gradients_equal_those_of_dense_bags(name, spare, build, rng):
    bag, model = ragged(rng, spare=spare), built(build)
    bag = add_null_segment(bag) if build is with_null else bag
    rule = WRAPPED[name] if name in WRAPPED else PARADIGMS.get(name)()
    aux = torch.rand(5, 2, generator=rng, dtype=torch.float64) if rule.draws else None
    for phase in {rule.phase(Progress(0, 10)), rule.phase(Progress(9, 10))}:
        expected = loss_and_gradient(model, phase, bag, dense(bag.x), aux)
        for chunk in (4, 1000):
            lazy = Mosaics(bag.x.bank, bag.x.index, chunk)
            result = loss_and_gradient(model, phase.in_chunks(chunk), bag, lazy, aux)
            for a, b in zip(result, expected, strict=True):
                assert (a is None) == (b is None)
                if a is not None:
                    torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


def test_segments_are_built_in_chunks(rng):
    bag, g = ragged(rng), built(lambda: linear(4, 3))
    alpha = torch.rand(5, 11, generator=rng, dtype=torch.float64) * bag.mask
    for chunk in (1, 6, 100):
        lazy = Mosaics(bag.x.bank, bag.x.index, chunk)
        torch.testing.assert_close(mix(alpha, lazy), mix(alpha, bag.dense()))
        torch.testing.assert_close(map_segments(g, lazy), map_segments(g, bag.dense()))
        torch.testing.assert_close(
            label_log_prob(lazy, g, bag.y), label_log_prob(bag.dense(), g, bag.y)
        )


def test_a_chunk_is_all_that_a_network_sees_at_a_time(rng):
    bag, seen = ragged(rng), []

    def network(rows):
        seen.append(len(rows))
        return rows.square().sum(1, keepdim=True)

    map_segments(network, Mosaics(bag.x.bank.requires_grad_(), bag.x.index, 4)).sum().backward()
    assert max(seen) == 4
    assert sum(seen) == 2 * 55  # once forward, once recomputed in the backward pass
    seen.clear()
    packed = ragged(rng, spare=0)
    map_segments(network, Mosaics(packed.x.bank, packed.x.index, 4))
    assert sum(seen) == 31  # a bank smaller than the bags is read once


@pytest.mark.parametrize("name", [*NAMES, *WRAPPED])
@pytest.mark.parametrize("form", ["bank", "dense"])
def test_training_in_chunks_follows_training_at_once(name, form, rng, monkeypatch):
    bag = ragged(rng, spare=60 if form == "bank" else 0)
    if form == "dense":
        bag = Bag(bag.dense(), bag.y, bag.z, bag.mask)
    rule = WRAPPED.get(name, name)
    plan = {"epochs": 3, "batch": 2, "lr": 0.02, "dtype": "float64", "seeds": [0, 1]}
    expected = fit(zeroth, bag, bag, rule, **plan)
    monkeypatch.setattr(step_gradients, "NUMBERS", 1)
    monkeypatch.setattr(step_gradients, "CHUNK", 12)  # three segments
    result = fit(zeroth, bag, bag, rule, **plan)
    torch.testing.assert_close(result.trained.flat, expected.trained.flat, rtol=1e-8, atol=1e-10)
    for key, value in expected.values.items():
        np.testing.assert_allclose(result.values[key], value, rtol=1e-8, atol=1e-10)
    for key in ("alpha", "log_p"):
        np.testing.assert_allclose(result.final[key], expected.final[key], atol=1e-6)


def test_parts_and_chunks_are_chosen_by_size(rng, monkeypatch):
    bag, plan = ragged(rng), Plan(batch=2)
    whole = Training(zeroth, bag, bag, "soft", [0], plan)
    assert (whole.part, whole.train.chunk, whole.stack.together) == (None, None, True)
    monkeypatch.setattr(step_gradients, "NUMBERS", 2 * 11 * 4 - 1)
    parts = Training(zeroth, bag, bag, "soft", [0], plan)
    assert (parts.part, parts.train.chunk, parts.test.chunk) == (
        step_gradients.CHUNK // 4,
        None,
        None,
    )
    monkeypatch.setattr(step_gradients, "NUMBERS", 11 * 4 - 1)
    chunks = Training(zeroth, bag, bag, "soft", [0], plan)
    assert (chunks.part, chunks.train.chunk) == (None, step_gradients.CHUNK // 4)
    assert chunks.test.chunk == chunks.train.chunk
    assert not chunks.stack.together


def test_a_bank_whose_rows_are_in_many_bags_is_read_once_a_step(rng, monkeypatch):
    index = torch.randint(8, (6, 5), generator=rng)
    bank = torch.randn(8, 4, generator=rng)
    bag = Bag(Mosaics(bank, index), torch.arange(6) % 3)
    monkeypatch.setattr(step_gradients, "NUMBERS", 5 * 4)  # one bag fits
    few, many = (Training(zeroth, bag, bag, "soft", [0], Plan(batch=n)) for n in (3, 4))
    assert few.part is not None  # 15 segments of 8 rows
    assert (many.part, many.train.chunk) == (None, step_gradients.CHUNK // 4)


@pytest.mark.parametrize("form", ["bank", "dense"])
def test_large_bags_with_few_stored_activations_need_no_chunks(form, rng, monkeypatch):
    """A hidden layer of 6 and 5, attention and what a copied segment is, for each of 9 segments."""
    bag = pad([torch.randn(m, 20, generator=rng) for m in (2, 9, 4)], torch.tensor([0, 1, 2]))
    bag = in_form(bag, form)
    null = add_null_segment(bag)

    def build():
        return FCAM(mlp(20, 1, (6,)), mlp(20, 3, (5,)))

    def part(build, bag, numbers, rule="soft"):
        monkeypatch.setattr(step_gradients, "NUMBERS", numbers)
        return Training(build, bag, bag, rule, [0, 1], Plan(batch=2)).part

    assert part(build, bag, 9 * 12) == step_gradients.CHUNK // 20
    assert part(build, bag, 9 * 12 - 1) is None
    assert part(lambda: NullSegment(build(), (20,)), null, 10 * 32) == step_gradients.CHUNK // 20
    assert part(lambda: NullSegment(build(), (20,)), null, 10 * 20 - 1) is None
    direct = part(lambda: FCAM(linear(20, 1), mlp(180, 3, (5,)), "uniform"), bag, 9 * 12, "direct")
    assert direct is None  # it reads bags, of which all segments are one input


@pytest.fixture
def in_parts(monkeypatch):
    """Steps of several of the ragged bags are large, single bags are not."""
    monkeypatch.setattr(step_gradients, "NUMBERS", 12 * 4)
    monkeypatch.setattr(step_gradients, "CHUNK", 10 * 4)  # ten segments


def in_form(bag, form):
    return bag if form == "bank" else Bag(bag.dense(), bag.y, bag.z, bag.mask)


@pytest.mark.parametrize("name", [*NAMES, *WRAPPED])
@pytest.mark.parametrize("form", ["bank", "dense"])
def test_training_in_parts_follows_training_at_once(name, form, rng, request):
    bag, rule = in_form(ragged(rng), form), WRAPPED.get(name, name)
    plan = {"epochs": 3, "batch": 4, "lr": 0.02, "dtype": "float64", "seeds": [0, 1]}
    expected = fit(zeroth, bag, bag, rule, **plan)
    request.getfixturevalue("in_parts")
    result = fit(zeroth, bag, bag, rule, **plan)
    assert not result.trained.together
    torch.testing.assert_close(result.trained.flat, expected.trained.flat, rtol=1e-8, atol=1e-10)
    for key, value in expected.values.items():
        np.testing.assert_allclose(result.values[key], value, rtol=1e-8, atol=1e-10)
    for key in ("alpha", "log_p"):
        np.testing.assert_allclose(result.final[key], expected.final[key], atol=1e-6)


@pytest.mark.parametrize("name", ["soft", "em", "witness"])
def test_stopping_and_resuming_in_parts(name, rng, request):
    bag = ragged(rng)
    plan = Plan(epochs=6, batch=4, lr=0.05, dtype="float64", validation=0.4, patience=2)

    def training():
        return Training(zeroth, bag, bag, name, [0, 1, 2], plan)

    whole = training()
    request.getfixturevalue("in_parts")
    parts, half, again = training(), training(), training()
    assert parts.part == 10
    for _ in range(2):
        half.run_epoch()
    again.restore(*half.snapshot())
    for one in (whole, parts, again):
        while not one.done:
            one.run_epoch()
    assert torch.equal(parts.stack.flat, again.stack.flat)
    assert parts.active.tolist() == whole.active.tolist()
    torch.testing.assert_close(parts.stack.flat, whole.stack.flat, rtol=1e-8, atol=1e-10)
    torch.testing.assert_close(parts.patience.best, whole.patience.best)


@pytest.mark.parametrize("form", ["bank", "dense"])
def test_no_more_than_a_part_is_seen_at_a_time_and_no_bag_twice(form, rng, in_parts):
    bag, seen = in_form(ragged(rng), form), []

    class Watched(FCAM):
        def attend(self, x, mask, z=None):
            if self.training:
                seen.append(mask)
            return super().attend(x, mask, z)

    def build():
        return Watched(linear(4, 1), linear(4, 3))

    plan = Plan(batch=5, epochs=1)
    training = Training(build, bag, bag, "soft", [0], plan)
    seen.clear()
    training.run_epoch()
    assert [tuple(mask.shape) for mask in seen] == [(2, 3), (1, 7), (1, 9), (1, 11)]
    assert sum(int(mask.sum()) for mask in seen) == 31


@given(st.lists(st.integers(1, 30), min_size=1, max_size=12), st.integers(1, 60))
def test_groups_of_like_length_hold_every_bag_once_and_little_padding(lengths, most):
    groups = [group.tolist() for group in group_by_length(torch.tensor(lengths), most)]
    flat = [i for group in groups for i in group]
    assert sorted(flat) == list(range(len(lengths)))
    assert [lengths[i] for i in flat] == sorted(lengths)
    for group, following in itertools.pairwise([*groups, None]):
        assert len(group) == 1 or len(group) * max(lengths[i] for i in group) <= most
        if following is not None:  # the next bag would not have fitted
            assert (len(group) + 1) * lengths[following[0]] > most


@pytest.mark.parametrize("form", ["bank", "dense"])
def test_single_bags_are_not_copied(form, rng):
    bag = pad([torch.randn(m, 20, generator=rng) for m in (3, 5, 2)], torch.tensor([0, 1, 0]))
    pile = MemberBags(in_form(bag, form), 1)
    stored = bag.x.bank if form == "bank" else pile._source.x
    start = stored[3] if form == "bank" else stored[0, 1]
    batch = pile.batch(torch.tensor([[1]]), trim=True, reuse=True)
    assert batch.x.data_ptr() == start.data_ptr()
    assert torch.equal(batch.x[0, 0], bag.dense()[1])
    short = pile.batch(torch.tensor([[2]]), trim=True, reuse=True)
    assert torch.equal(short.x[0, 0], bag.dense()[2, :2])


def test_the_phases_of_a_hybrid_classify_in_chunks_too():
    rule = WithEntropy(PARADIGMS.get("hybrid")(), 0.1).in_chunks(7)
    assert rule.paradigm.phases[1].chunk == 7


def test_answers_are_the_same_a_few_segments_at_a_time(monkeypatch):
    rng = np.random.default_rng(0)
    y = np.arange(20) % 2
    bags = [rng.normal(size=(rng.integers(2, 9), 3)) + label for label in y]
    model = FocusClassifier("hybrid", epochs=5, lr=0.02, batch=4, seeds=2).fit(bags, y)
    whole = model.predict_proba(bags), model.evidence(bags)
    monkeypatch.setattr("foveate.trust.explanation.ELEMENTS", 1)
    monkeypatch.setattr("foveate.attention.likelihood.ROWS", 2)
    np.testing.assert_allclose(model.predict_proba(bags), whole[0], atol=1e-6)
    for a, b in zip(model.evidence(bags), whole[1], strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


@pytest.mark.parametrize("name", ["soft", "hard", "witness"])
def test_convolutions_take_parts_that_fit_the_cache(name, rng, monkeypatch):
    bank = torch.randint(256, (400, 3, 32, 32), generator=rng, dtype=torch.uint8)
    index = torch.randint(400, (24, 5), generator=rng)
    bag = Bag(Mosaics(bank, index), torch.arange(24) % 3)

    def model():
        f, g, layer = pair("vr23", (3, 32, 32), 3)
        return FCAM(f, g, layer=layer)

    def trained():
        training = Training(
            model,
            bag,
            bag,
            PARADIGMS.get(name)(),
            (0, 1),
            Plan(epochs=2, batch=12, lr=0.05, optimizer="sgd"),
        )
        start = training.stack.flat.clone()
        training.run_epoch()
        return training.part, training.stack.flat - start

    whole, at_once = trained()
    monkeypatch.setattr(step_gradients, "CONVOLVED", 20 * 3 * 32 * 32)
    part, in_parts = trained()
    assert (whole, part) == (None, 20)
    torch.testing.assert_close(in_parts, at_once, rtol=0, atol=1e-6)
    assert at_once.abs().amax(1).min() > 1e-4


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("sets", [1, 2])
@pytest.mark.parametrize("d", [4, 40])  # segments of a few numbers have a layout of their own
def test_views_of_single_bags_are_their_batches(masked, sets, d, rng):
    def bags():
        mask = torch.arange(6) < torch.randint(1, 7, (7, 1), generator=rng) if masked else None
        return Bag(torch.randn(7, 6, d, generator=rng), torch.arange(7) % 2, mask=mask)

    stacked = MemberBags([bags() for _ in range(sets)] if sets > 1 else bags(), 2)
    rows, member = torch.tensor([[3, 0, 6, 2]]), torch.tensor([1])
    for trim in (True, False):
        views = list(stacked.single_bags(rows, member, trim))
        assert len(views) == rows.shape[1]
        for view, row in zip(views, rows.split(1, 1), strict=True):
            batch = stacked.batch(row, member, with_z=False, trim=trim)
            assert torch.equal(view.x[0], batch.x)
            assert torch.equal(view.y[0], batch.y)
            assert torch.equal(view.mask[0], batch.mask) if masked else view.mask is None
        assert all(stacked.holds(view.x) for view in views) == (d == 40)


def test_bags_of_a_bank_have_no_views(rng):
    x = Mosaics(torch.randn(9, 4, generator=rng), torch.arange(6).view(2, 3))
    bank = MemberBags(Bag(x, torch.tensor([0, 1])), 1)
    assert bank.single_bags(torch.tensor([[0, 1]]), torch.tensor([0]), trim=True) is None
