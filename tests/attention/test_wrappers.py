"""What is laid around a paradigm: weights of classes, and locations where they are known."""

import numpy as np
import pytest
import torch

from foveate.attention.paradigms import Hybrid, Progress, Soft, WithClassWeights, WithFocus
from foveate.bags.bag import Bag
from foveate.errors import FoveateError
from foveate.models.focus import FCAM
from foveate.models.nets import linear, mlp
from foveate.training.loop import fit
from foveate.training.stack import Stack
from foveate.userdata.training_rules import balanced, training_rule
from random_bags import random_bag


def test_class_weights_weigh_bags():
    bag = random_bag()
    model = Stack(lambda: FCAM(linear(3, 1), linear(3, 3)), [0], torch.float64).member(0)
    focus = model.attend(bag.x, bag.mask)
    args = focus.alpha, focus.h, model.g, bag.y
    weights = (1.0, 2.0, 5.0)
    rule = WithClassWeights(Hybrid(), weights)
    for inner, weighed in ((Hybrid(), rule), (Soft(), rule.phase(Progress(0, 10)))):
        expected = inner.loss(*args) * torch.tensor(
            [weights[c] for c in bag.y], dtype=torch.float64
        )
        torch.testing.assert_close(weighed.loss(*args), expected)
        torch.testing.assert_close(weighed.read(*args)[1], expected)
        torch.testing.assert_close(weighed.read(*args)[0], inner.log_prob(*args[:3]))
    assert rule.fresh_optimizer
    y = np.array([0, 0, 0, 1, 2, 2])
    assert np.mean([balanced(y, 3)[c] for c in y]) == pytest.approx(1)


def test_supervision_adds_minus_log_mass_where_relevance_is_known():
    alpha = torch.tensor([[0.5, 0.25, 0.25], [0.1, 0.2, 0.7]], dtype=torch.float64)
    z = torch.tensor([[False, True, True], [False, False, False]])
    rule = training_rule("hybrid", (1.0, 1.0), 3.0)
    assert isinstance(rule, WithFocus)
    phase = rule.phase(Progress(9, 10))
    assert phase.needs_z
    torch.testing.assert_close(
        phase.relevance_loss(alpha, z), torch.tensor([-3 * np.log(0.5), 0.0], dtype=torch.float64)
    )
    assert not training_rule("hybrid", (1.0, 1.0)).needs_z


def test_supervision_reaches_the_gradient_and_only_by_name():
    bags = random_bag(12)
    z = bags.mask & (torch.arange(bags.m) == 0)
    informed, blind = Bag(bags.x, bags.y, z, bags.mask), Bag(bags.x, bags.y, None, bags.mask)

    def trained(train, rule):
        return fit(
            lambda: FCAM(mlp(3, 1, (4,)), mlp(3, 3, (4,))),
            train,
            informed,
            rule,
            epochs=3,
            seeds=[0, 1],
        ).trained.flat

    plain = WithClassWeights(Soft(), (1.0, 2.0, 1.0))
    assert torch.equal(trained(informed, plain), trained(blind, plain))
    assert not torch.equal(trained(informed, WithFocus(plain)), trained(informed, plain))
    with pytest.raises(FoveateError, match="whose relevant segments are known"):
        trained(blind, WithFocus(plain))
