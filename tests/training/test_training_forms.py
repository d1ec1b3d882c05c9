"""The loop over all forms of bags and of networks: the same numbers in each."""

import numpy as np
import pytest
import torch
from torch import nn

from foveate.bags.bag import Bag
from foveate.data import DATASETS
from foveate.models.focus import FCAM, FixedFocus
from foveate.models.nets import linear, mlp
from foveate.training.loop import Training, fit
from foveate.training.plan import Plan
from foveate.training.stack import MemberBags, sources
from small_training import TRAINABLE, bags, small_model, trained


def test_mosaics_train_like_dense_bags():
    data = DATASETS.get("digits")()
    shared = data.load("train", n=100, m=20, seed=0)  # 2,000 references to 1,257 images
    test = data.load("test", n=20, m=20, seed=0)
    dense = Bag(shared.dense(), shared.y, shared.z)

    def build():
        return FCAM(mlp(64, 1, (8,)), mlp(64, 3, (8,)))

    plan = {"epochs": 3, "batch": 100, "dtype": "float64"}
    for name in ("soft", "lvml"):
        a = fit(build, shared, test, name, seeds=[0, 1], **plan)
        b = fit(build, dense, test, name, seeds=[0, 1], **plan)
        torch.testing.assert_close(a.trained.flat, b.trained.flat, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", TRAINABLE)
def test_reused_buffers_do_not_change_training(name, monkeypatch):
    data = DATASETS.get("digits-bags")()  # ragged, cut from a bank
    train, test = (data.load(split, n=30, m=5, seed=0) for split in ("train", "test"))
    dense = Bag(train.dense(), train.y, train.z, train.mask)

    def build():
        return FCAM(mlp(64, 1, (4,)), mlp(64, 2, (4,)))

    for bag in (train, dense):
        usual, same = (
            fit(build, bag, test, name, seeds=[0, 1], epochs=3, batch=8)
            for large in (sources.LARGE, 1)
            if monkeypatch.setattr(sources, "LARGE", large) is None
        )
        assert torch.equal(usual.trained.flat, same.trained.flat)
        np.testing.assert_array_equal(usual.final["alpha"], same.final["alpha"])


def test_buffers_are_reused_on_request_only(monkeypatch):
    monkeypatch.setattr(sources, "LARGE", 1)
    x = torch.arange(128.0).view(4, 2, 16)
    member_bags = MemberBags(Bag(x, torch.zeros(4, dtype=torch.long)), 1)
    first, second = torch.tensor([[0, 2]]), torch.tensor([[3, 1]])
    stored = member_bags.batch(first).x
    shared = member_bags.batch(first, reuse=True).x
    assert torch.equal(shared[0], x[first[0]])
    assert torch.equal(member_bags.batch(second, reuse=True).x[0], x[second[0]])
    assert torch.equal(shared[0], x[second[0]])  # its place was taken, as was asked for
    assert torch.equal(stored[0], x[first[0]])
    assert (
        member_bags.batch(torch.tensor([[1, 2]])).x.data_ptr() == x[1].data_ptr()
    )  # in order: no copy


def test_padded_ragged_bags_train_like_the_short_ones():
    rng = torch.Generator().manual_seed(0)
    x, y = torch.randn(20, 3, 2, generator=rng), torch.randint(3, (20,), generator=rng)
    junk = torch.full((20, 2, 2), 7.0)
    mask = torch.tensor([True] * 3 + [False] * 2).expand(20, -1)
    short, long = Bag(x, y), Bag(torch.cat([x, junk], 1), y, mask=mask)
    for name in TRAINABLE:
        a = fit(small_model, short, short, name, seeds=[0], epochs=3, batch=8, dtype="float64")
        b = fit(small_model, long, long, name, seeds=[0], epochs=3, batch=8, dtype="float64")
        torch.testing.assert_close(a.trained.flat, b.trained.flat)


def test_convolutions_and_batch_normalisation_train_in_a_stack():
    def build():
        f = nn.Sequential(
            nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(108, 1)
        )
        return FCAM(f, mlp(64, 3, (8,)))

    data = DATASETS.get("digits")()
    train = [data.load("train", n=40, m=5, seed=s) for s in (0, 1)]
    test = [data.load("test", n=20, m=5, seed=s) for s in (0, 1)]
    plan = {"epochs": 2, "batch": 20, "dtype": "float64"}
    both = fit(build, train, test, "soft", seeds=[0, 1], **plan)
    for i in (0, 1):
        alone = fit(build, train[i], test[i], "soft", seeds=[i], **plan)
        torch.testing.assert_close(both.trained.flat[i], alone.trained.flat[0])
        for name, value in both.trained.buffers.items():
            torch.testing.assert_close(value[i], alone.trained.buffers[name][0])
    moved = both.trained.buffers["f.1.running_mean"]
    assert (moved.abs() > 1e-3).any()


def test_batch_normalisation_under_vmap_equals_one_by_one():
    def build():
        f = nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 1))
        return FCAM(f, linear(2, 3))

    both = trained([0, 1], build=build, dtype="float64")
    assert both.trained.together
    for i in (0, 1):
        alone = trained([i], build=build, dtype="float64")
        torch.testing.assert_close(both.trained.flat[i], alone.trained.flat[0])
        torch.testing.assert_close(
            both.trained.buffers["f.1.running_var"][i], alone.trained.buffers["f.1.running_var"][0]
        )


def test_nothing_moves_the_statistics_of_batch_norm_before_the_first_step():
    def build():
        f = nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 1))
        return FCAM(f, mlp(2, 3))

    train, test = bags([0])
    training = Training(build, train, test, "soft", [0], Plan(epochs=1, batch=10))
    start = {name: value.clone() for name, value in training.stack.buffers.items()}
    assert any("running_mean" in name for name in start)
    for name, value in start.items():
        assert (value == (1 if "running_var" in name else 0)).all(), name
    training.run_epoch()
    assert not torch.equal(training.stack.buffers["f.1.running_mean"], start["f.1.running_mean"])


@pytest.mark.parametrize("name", ["em", "lvml"])
def test_measuring_does_not_change_training_with_batch_norm(name):
    """The E-step of EM reads all bags: by the statistics that were learnt, as measuring does."""

    def build():
        f = nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 1))
        return FCAM(f, mlp(2, 3))

    often, rarely = (trained([0], name, build=build, epochs=6, every=k) for k in (1, 6))
    assert torch.equal(often.trained.flat, rarely.trained.flat)
    for key, value in often.trained.buffers.items():
        assert torch.equal(value, rarely.trained.buffers[key]), key


def test_a_fixed_focus_trains_only_the_classifier():
    train, test = bags([0])
    builds = [lambda a=a: FixedFocus(linear(2, 3), a) for a in (0.25, 1.0)]
    record = fit(builds, train * 2, test * 2, "soft", seeds=[0, 0], epochs=3, batch=16)
    np.testing.assert_allclose(record.last("a_z"), [0.25, 1.0], atol=1e-6)
    assert record.meta["parameters"] == 9


def test_logits_beyond_the_limit_are_computed_in_chunks(monkeypatch):
    plain = trained([0, 1], "lvml", dtype="float64")
    monkeypatch.setattr("foveate.training.step_gradients.LOGITS", 24)
    chunked = trained([0, 1], "lvml", dtype="float64")
    assert not chunked.trained.together
    torch.testing.assert_close(plain.trained.flat, chunked.trained.flat)


def test_the_direct_classifier_reads_the_whole_bag():
    train, test = bags([0], n=60)
    build = lambda: FCAM(linear(2, 1), mlp(8, 3, (64,)), "uniform")  # noqa: E731
    record = fit(build, train, test, "direct", seeds=[0], epochs=60, batch=20, lr=0.01)
    assert record.final["losses"][0, -1] < record.final["losses"][0, 0] / 4
    assert (record.last("ft_alpha") == 0).all()
