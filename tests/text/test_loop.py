"""Trainings in steps: killed at any moment they end with the same bits."""

from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from foveate.randomness import generator
from foveate.text import loop as steps
from foveate.text.loop import MemberTraining, built, follow

AT = (0, 2, 5, 9)


class Killed(Exception):
    pass


def course(seed, log=None, should_stop=lambda _: False):
    """Least squares on batches that the step decides; ``log`` notes the steps taken."""
    model = built(partial(nn.Linear, 3, 1), "line", seed)

    def loss(step):
        if log is not None:
            log.append((seed, step))
        x = torch.randn(8, 3, generator=generator("x", seed, step))
        return (model(x) - x.sum(1, keepdim=True)).square().mean()

    def measure(step):
        weight = model.weight.detach().double().numpy().copy()
        return {"weight": weight[0], "step": np.asarray(step)}

    return MemberTraining(model, loss, measure, 0.05, should_stop)


def members(count=3, **more):
    return [partial(course, seed, **more) for seed in range(count)]


def test_the_loop_is_plain_adam():
    record = follow(members(1), AT)
    one = course(0)
    optimizer = torch.optim.Adam(one.model.parameters(), 0.05)
    seen = []
    for step in range(AT[-1] + 1):
        if step:
            optimizer.zero_grad()
            one.loss(step).backward()
            optimizer.step()
        if step in AT:
            seen.append(one.model.weight.detach().double().numpy()[0].copy())
    np.testing.assert_allclose(record.values["weight"][:, 0], np.stack(seen), rtol=1e-6)
    assert record.t.tolist() == list(AT)
    assert record.values["step"][:, 0].tolist() == list(AT)


@pytest.mark.parametrize("calls", range(1, 11))
@pytest.mark.parametrize("pause", [0.0, 1e9])
def test_a_killed_training_ends_with_the_same_bits(calls, pause, tmp_path, monkeypatch):
    """With and without a checkpoint at every step, killed at each report in turn."""
    monkeypatch.setattr(steps, "SAVE_EVERY", pause)
    whole = follow(members(), AT, meta={"a": 1})
    position = tmp_path / "checkpoint"
    left = iter(range(calls))

    def kill(_done, _total):
        if next(left, None) is None:
            raise Killed

    with pytest.raises(Killed):
        follow(members(), AT, checkpoint=position, report=kill)
    log = []
    again = follow(members(log=log), AT, checkpoint=position, meta={"a": 1})
    for name in whole.values:
        np.testing.assert_array_equal(again.values[name], whole.values[name])
    assert again.meta == whole.meta
    done = calls // len(AT)  # members whose last measurement was reported before the kill
    assert min(seed for seed, _ in log) == done if log else done == len(members())
    if pause == 0 and calls % len(AT) == 2:
        assert log[0] == (done, AT[1] + 1 + 2), "it went on from the last step saved"


def test_an_early_end_gives_nan_and_does_not_affect_other_members():
    def should_stop(row):
        return row["step"] >= 2 and row["weight"][0] > -10

    early = [partial(course, 0, should_stop=should_stop), *members(2)[1:]]
    record = follow(early, AT)
    usual = follow(members(2), AT)
    assert np.isnan(record.values["weight"][2:, 0]).all()
    np.testing.assert_array_equal(record.values["weight"][:2, 0], usual.values["weight"][:2, 0])
    np.testing.assert_array_equal(record.values["weight"][:, 1], usual.values["weight"][:, 1])


def test_an_early_end_survives_a_kill(tmp_path):
    def should_stop(row):
        return bool(row["step"] >= 5)

    reports = []

    def kill(done, total):
        reports.append((done, total))
        if len(reports) == 5:
            raise Killed

    position = tmp_path / "checkpoint"
    with pytest.raises(Killed):
        follow(members(2, should_stop=should_stop), AT, checkpoint=position, report=kill)
    record = follow(members(2, should_stop=should_stop), AT, checkpoint=position)
    np.testing.assert_array_equal(
        record.values["weight"], follow(members(2, should_stop=should_stop), AT).values["weight"]
    )
    assert np.isnan(record.values["weight"][-1]).all()
    assert reports == [(0, 18), (2, 18), (5, 18), (9, 18), (11, 18)]


def test_frozen_parameters_stay(tmp_path):
    def frozen():
        one = course(0)
        one.model.weight.requires_grad_(False)
        return one

    record = follow([frozen], AT, checkpoint=tmp_path / "c")
    np.testing.assert_array_equal(record.values["weight"][0], record.values["weight"][-1])


def test_names_decide_the_first_weights():
    one, same, other = (built(partial(nn.Linear, 2, 2), "a", k) for k in (0, 0, 1))
    assert torch.equal(one.weight, same.weight)
    assert not torch.equal(one.weight, other.weight)
