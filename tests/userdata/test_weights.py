"""Weights of bags and classes, dropout and search: what they change, and what they leave alone."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from foveate.bags.bag import Bag
from foveate.errors import FoveateError
from foveate.io import read_bags
from foveate.jobs.fit import start_fit
from foveate.models.focus import FCAM
from foveate.models.nets import mlp, with_dropout
from foveate.records.record import load_arrays
from foveate.training.loop import fit
from foveate.training.plan import Plan
from foveate.userdata.linear_models import fit_linear
from foveate.userdata.settings import FitSettings

from .made import numbers

QUICK = {"folds": 2, "seeds": 1, "epochs": 2, "batch": 64, "paradigms": ("soft",)}


def _build():
    return FCAM(mlp(3, 1, (4,)), mlp(3, 2, (4,)))


def test_a_whole_weight_equals_copies_of_the_bag():
    chance = torch.Generator().manual_seed(0)
    x, y = torch.randn(6, 4, 3, generator=chance), torch.tensor([0, 1, 0, 1, 0, 1])
    weight = torch.tensor([3.0, 1, 1, 2, 1, 1])
    copies = torch.repeat_interleave(torch.arange(6), weight.long())
    test = Bag(x, y)
    plan = Plan(epochs=5, batch=9, lr=0.1, optimizer="sgd", momentum=0.0, dtype="float64")
    scaled = Bag(x, y, weight=weight / weight.mean())
    one = fit(_build, scaled, test, "soft", plan=plan.model_copy(update={"batch": 6}))
    other = fit(_build, Bag(x[copies], y[copies]), test, "soft", plan=plan)
    torch.testing.assert_close(one.trained.flat, other.trained.flat)


def test_the_validation_loss_is_weighted_too():
    from foveate.training.stack import MemberBags

    bags = MemberBags(
        Bag(torch.zeros(3, 1, 1), torch.tensor([0, 1, 0]), weight=torch.tensor([1.0, 3.0, 4.0])),
        2,
        torch.float64,
    )
    loss = torch.tensor([[1.0, 5.0], [2.0, 2.0]], dtype=torch.float64)
    mean = bags.mean(loss, torch.tensor([[0, 1], [2, 0]]), torch.tensor([0, 1]))
    assert mean.tolist() == [4.0, 2.0]


def test_weights_must_be_above_zero(tmp_path):
    with pytest.raises(FoveateError, match="that of bag 1 is 0"):
        Bag(torch.zeros(2, 1, 1), torch.tensor([0, 1]), weight=torch.tensor([1.0, 0.0]))
    table = tmp_path / "t.csv"
    table.write_text("bag,label,w,x\na,no,2,1\na,no,2,3\nb,yes,0.5,2\nb,yes,0.5,1\n")
    bags = read_bags(table, weight="w")
    assert bags.bag.weight.tolist() == [2.0, 0.5]
    assert bags.columns == ("x",)
    table.write_text("bag,label,w,x\na,no,-2,1\n")
    with pytest.raises(FoveateError, match=r"line 2, column 'w': a weight must be above 0"):
        read_bags(table, weight="w")


def test_the_linear_baseline_is_weighted():
    chance = np.random.default_rng(0)
    x, y = chance.normal(size=(40, 2)), np.arange(40) % 2
    weight = np.where(y == 1, 5.0, 1.0)
    plain, weighted = fit_linear(x, y, 2), fit_linear(x, y, 2, sample_weight=weight)
    assert weighted.probabilities(x)[:, 1].mean() > plain.probabilities(x)[:, 1].mean() + 0.2


def test_weights_and_classes_change_a_fit_and_equal_weights_do_not(tmp_path):
    bags = numbers(40)
    equal = replace(bags, bag=replace(bags.bag, weight=torch.full((40,), 7.0)))

    def probabilities(collection, name, **more):
        run = start_fit(collection, FitSettings(**QUICK, **more), tmp_path / name)
        return load_arrays(run.path / "out_of_fold.npz")["p/soft"]

    plain = probabilities(bags, "plain")
    np.testing.assert_allclose(probabilities(equal, "equal"), plain, atol=1e-6)
    rare = probabilities(bags, "rare", class_weight={"yes": 20.0})
    assert FitSettings(class_weight={"yes": 20.0}).class_weight == "yes=20.0"
    assert rare[:, 1].mean() > plain[:, 1].mean()
    with pytest.raises(FoveateError, match="class_weight names 'maybe'"):
        start_fit(bags, FitSettings(**QUICK, class_weight="maybe=2"), tmp_path / "odd")
    with pytest.raises(Exception, match="CLASS=NUMBER"):
        FitSettings(class_weight="yes:2")


def test_dropout_is_drawn_by_seed_epoch_and_step_and_is_off_in_inference():
    bag = Bag(torch.randn(8, 3, 3, generator=torch.Generator().manual_seed(1)), torch.arange(8) % 2)

    def build():
        return FCAM(with_dropout(mlp(3, 1), 0.5), with_dropout(mlp(3, 2), 0.5))

    def trained(seeds=(0, 1)):
        state = torch.random.get_rng_state()
        record = fit(build, bag, bag, "soft", seeds=seeds, epochs=3, batch=4, lr=0.05)
        assert torch.random.get_rng_state().equal(state)
        return record

    first, again = trained(), trained()
    assert first.trained.flat.equal(again.trained.flat)
    assert (first.final["log_p"] == again.final["log_p"]).all()
    plain = fit(lambda: FCAM(mlp(3, 1), mlp(3, 2)), bag, bag, "soft", seeds=(0, 1), epochs=3,
                batch=4, lr=0.05)  # fmt: skip
    assert plain.trained.flat.shape == first.trained.flat.shape
    assert not torch.allclose(plain.trained.flat, first.trained.flat)
    member = first.trained.member(0)
    kinds = [type(module) for module in member.modules()]
    assert kinds.count(nn.Dropout) == 2
    assert not member.training


def test_search_chooses_within_the_folds(tmp_path):
    pytest.importorskip("optuna")
    settings = FitSettings(**{**QUICK, "epochs": 3}, search=3)
    run = start_fit(numbers(120), settings, tmp_path / "searched")
    again = start_fit(numbers(120), settings, tmp_path / "again")
    result = run.manifest["resolved"]["soft"]["searched"]
    assert result == again.manifest["resolved"]["soft"]["searched"]
    assert len(result) == 2
    for fold, best in enumerate(result):
        plan = run.record(f"soft-fold{fold + 1}").meta["plan"]
        assert plan["lr"] == best["lr"]
        assert plan["weight_decay"] == best["weight_decay"]
    with pytest.raises(Exception, match="search needs folds"):
        FitSettings(folds=1, search=3)


def test_the_first_trial_is_the_given_setting_and_the_best_wins():
    pytest.importorskip("optuna")
    from foveate.userdata.search import search_settings

    tried = []

    def score(settings, number):
        tried.append((number, settings.lr))
        return abs(np.log(settings.lr / 0.004))

    settings = FitSettings(search=15)
    best, values = search_settings(settings, score, seed=0)
    assert tried[0] == (0, settings.lr)
    assert len(tried) == 15
    assert (
        best.lr
        == values["lr"]
        == min((lr for _, lr in tried), key=lambda lr: abs(np.log(lr / 0.004)))
    )
