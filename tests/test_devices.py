"""Trainings on another device: the same numbers, and no tensor left behind."""

import numpy as np
import pytest
import torch

import foveate as fv
from fake_device import OnDevice, fake_device
from foveate.attention.paradigms import PARADIGMS
from foveate.bags.bag import Bag, pad
from foveate.errors import FoveateError
from foveate.records.record import load_checkpoint, save_checkpoint
from foveate.settings import VARIABLE, current_device, find_device, use_device
from foveate.training.plan import Plan
from foveate.training.stack import MemberBags, Stack
from foveate.training.state import Training
from foveate.trust.explanation import explain
from foveate.trust.subject import Stacked

TRAIN, TEST = fv.load("error-mode-1", n=30, m=4, seed=0)
BY_ATTENTION = [name for name, kind in PARADIGMS.items() if not kind.whole_bag]
PLAN = Plan(epochs=2, batch=15, lr=0.05, optimizer="sgd")


def build() -> fv.FCAM:
    return fv.FCAM(fv.mlp(2, 1, (6,)), fv.mlp(2, 3, (6,)))


def ragged(bag: Bag) -> Bag:
    lengths = torch.arange(len(bag)) % 3 + 2
    x = bag.dense()
    return pad([row[:k] for row, k in zip(x, lengths.tolist(), strict=True)], bag.y)


@pytest.mark.parametrize("name", BY_ATTENTION)
def test_every_paradigm_trains_to_the_same_bits(name):
    plain = fv.fit(build, TRAIN, TEST, name, seeds=range(2), plan=PLAN)
    with fake_device():
        assert isinstance(Stack(build, [0]).flat, OnDevice)
        other = fv.fit(build, TRAIN, TEST, name, seeds=range(2), plan=PLAN)
    assert type(other.trained.flat) is torch.Tensor
    assert torch.equal(other.trained.flat, plain.trained.flat)
    assert not torch.equal(plain.trained.flat, Stack(build, range(2)).flat)  # it moved
    for key, value in plain.values.items():
        np.testing.assert_array_equal(other.values[key], value)


def test_ragged_bags_early_stopping_and_adam():
    train, test = ragged(TRAIN), ragged(TEST)
    plan = Plan(epochs=4, batch=15, validation=0.3, patience=1, lr=0.05)
    plain = fv.fit(build, train, test, "hard", seeds=range(3), plan=plan)
    with fake_device():
        other = fv.fit(build, train, test, "hard", seeds=range(3), plan=plan)
    assert torch.equal(other.trained.flat, plain.trained.flat)


@pytest.mark.parametrize("first_on_device", [True, False])
def test_a_checkpoint_moves_between_devices(tmp_path, first_on_device):
    whole = fv.fit(build, TRAIN, TEST, "lvml", seeds=range(2), plan=PLAN)

    def start() -> None:
        training = Training(build, TRAIN, TEST, "lvml", range(2), PLAN)
        training.run_epoch()
        save_checkpoint(tmp_path / "state", *training.snapshot())

    def finish() -> torch.Tensor:
        training = Training(build, TRAIN, TEST, "lvml", range(2), PLAN)
        training.restore(*load_checkpoint(tmp_path / "state"))
        while not training.done:
            training.run_epoch()
        return training.record().trained.flat

    if first_on_device:
        with fake_device():
            start()
        flat = finish()
    else:
        start()
        with fake_device():
            flat = finish()
    assert torch.equal(flat, whole.trained.flat)


def test_predictions_and_evidence_of_trust_are_the_same():
    stack = fv.fit(build, TRAIN, TEST, "soft", seeds=range(2), plan=PLAN).trained
    bag, rule = ragged(TEST), PARADIGMS.get("soft")()
    plain, seen = explain(stack, bag, rule), Stacked(stack, rule).read([bag])
    keep = np.ones((2, 1, len(bag), bag.m), dtype=bool)
    keep[..., 1:] = False
    only_first = Stacked(stack, rule).reread([bag], keep)
    with fake_device():
        np.testing.assert_array_equal(explain(stack, bag, rule).log_p, plain.log_p)
        subject = Stacked(stack, rule)
        assert isinstance(subject.stack.flat, OnDevice)
        for one, other in zip(subject.read([bag]), seen, strict=True):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(subject.reread([bag], keep), only_first)


def test_the_fake_device_detects_a_tensor_that_is_left_behind():
    with fake_device():
        bags = MemberBags(TRAIN, 1)
        with pytest.raises(RuntimeError, match="on the device and on the CPU"):
            bags.y + TRAIN.y
        with pytest.raises((RuntimeError, TypeError)):
            bags.y.numpy()


def test_a_device_that_does_not_exist_is_an_error(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(FoveateError, match=r"'cuda:1' is not available: .* finds no CUDA device"):
        find_device("cuda:1")
    with pytest.raises(FoveateError, match="one of auto, cpu, cuda, mps, got 'gpu'"):
        find_device("gpu")
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert find_device("auto") == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert find_device("auto") == torch.device("cuda")
    assert find_device("cuda:1") == torch.device("cuda:1")
    with pytest.raises(FoveateError, match="there are 2 CUDA devices, got 'cuda:2'"):
        find_device("cuda:2")


def test_the_environment_and_a_block_choose_the_device(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.delenv(VARIABLE, raising=False)
    assert current_device() == torch.device("cpu")
    with use_device("cuda"):
        assert current_device() == torch.device("cuda")
        with use_device(None):
            assert current_device() == torch.device("cuda")
    assert current_device() == torch.device("cpu")
    monkeypatch.setenv(VARIABLE, "cuda:0")
    assert current_device() == torch.device("cuda:0")


def test_mps_has_no_float64(monkeypatch):
    with pytest.raises(FoveateError, match="mps has no float64"):
        Stack(build, [0], torch.float64, torch.device("mps"))
