"""A fixed focus in training: its incentive, the setting of Theorem 1, and the stack of curves."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from foveate.attention.paradigms import PARADIGMS
from foveate.bags.bag import Bag, pad
from foveate.bags.segments import Mosaics, dense
from foveate.data.sdc import sdc
from foveate.dynamics.vr23 import (
    finite_difference_incentive,
    incentive,
    losses,
    rates,
)
from foveate.errors import FoveateError
from foveate.models.focus import FixedFocus
from foveate.models.nets import mlp
from foveate.records.record import Record
from foveate.studies.vr23.fixed_focus.claims import theorem_errors
from foveate.studies.vr23.fixed_focus.curves import curve, elapsed
from foveate.studies.vr23.fixed_focus.training import (
    measure_weights,
    population,
    shrink,
    theory_direction,
    train_fixed,
    zero_linear,
)
from foveate.studies.vr23.incentive import improvement, incentives, measure_incentive
from foveate.training.loop import Training, fit
from foveate.training.optimisers import Settings, StackedOptimizer
from foveate.training.plan import Plan
from foveate.training.stack import MemberBags, Stack

NAMES = ("soft", "hard", "lvml")
ALPHAS = (0.2, 0.4, 0.6, 0.8, 1.0)
C = 5


def on_theory(mu, alpha):
    """A fixed focus whose classifier is the theorem's, in double precision."""
    g = nn.utils.skip_init(nn.Linear, C + 1, C, bias=False, dtype=torch.float64)
    g.weight = nn.Parameter(mu * theory_direction(C))
    model = FixedFocus(g, alpha)
    model.alpha = torch.tensor(alpha, dtype=torch.float64)
    return model


def stack_of(mu, alphas=ALPHAS):
    builds = [lambda a=a: on_theory(mu, a) for a in alphas]
    return Stack(builds, [0] * len(alphas), torch.float64)


def ragged_bags():
    """Bags of unequal length, with one, several, all, or no relevant segments."""
    rng = torch.Generator().manual_seed(3)
    counts = {3: 1, 5: 2, 4: 4, 2: 0}
    bags = [torch.randn(k, 6, generator=rng) for k in counts]
    z = [torch.arange(k) < count for k, count in counts.items()]
    return pad(bags, torch.tensor([0, 2, 1, 1]), z)


# --- the incentive -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mu", [0.0, 1.7, 6.0])
def test_incentive_is_the_closed_form_in_the_orthogonal_setting_up_to_alpha_one(name, mu):
    alphas = np.array([0.0, *ALPHAS])
    stack = stack_of(mu, alphas.tolist())
    gain = incentives(
        stack, MemberBags(population(C, 4), len(stack), torch.float64), PARADIGMS.get(name)()
    )
    result = [part.mean(1).numpy() for part in gain]
    np.testing.assert_allclose(result[0], losses(name, mu, alphas, C), rtol=1e-12)
    np.testing.assert_allclose(result[1], incentive(name, mu, alphas, C), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(
        result[2], finite_difference_incentive(name, mu, alphas, C), rtol=1e-9, atol=1e-14
    )
    assert result[2][-1] == 0  # the published difference vanishes at α = 1, the derivative does not
    assert mu == 0 or result[1][-1] > 1e-3


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("together", [True, False])
def test_incentive_is_the_slope_of_the_paradigms_own_loss_for_any_bags_and_classifier(
    name, together
):
    bag, rule = ragged_bags(), PARADIGMS.get(name)()

    def build(alpha):
        return FixedFocus(mlp(6, 3, (4,)), alpha)

    stack = Stack([lambda: build(0.3), lambda: build(0.7)], [0, 1], torch.float64)
    stack.together = together
    pile = MemberBags(bag, 2, torch.float64)
    gain = incentives(stack, pile, rule)
    x = dense(bag.x).double()
    for i in range(2):
        model = stack.member(i)

        def loss(alpha, model=model):
            model.alpha = torch.tensor(alpha, dtype=torch.float64)
            focus = model.attend(x, bag.mask, bag.z)
            return rule.loss(focus.alpha, x, model.g, bag.y).detach()

        alpha, h = float(model.alpha), 1e-5
        slope = (loss(alpha - h) - loss(alpha + h)) / (2 * h)
        torch.testing.assert_close(gain.incentive[i], slope, rtol=1e-6, atol=1e-8)
        torch.testing.assert_close(gain.difference[i], loss(alpha) - loss(alpha + 0.01))


def test_improvement_is_how_a_fixed_focus_moves_with_alpha():
    bag = ragged_bags()
    low, high = (FixedFocus(nn.Identity(), a).attend(bag.x, bag.mask, bag.z) for a in (0.25, 0.75))
    way = improvement(bag.z, bag.mask, torch.float32)
    torch.testing.assert_close(way, (high.alpha - low.alpha) / 0.5)
    torch.testing.assert_close(way.sum(1), torch.zeros(len(bag)))
    assert way.abs().amax(1).gt(0).tolist() == [True, True, False, False]


def test_incentive_needs_to_know_the_relevant_segments():
    bag = Bag(torch.zeros(2, 3, 6), torch.tensor([0, 1]))
    stack = Stack(lambda: FixedFocus(nn.Linear(6, 2), 0.5), [0])
    with pytest.raises(FoveateError, match="relevant segments z"):
        incentives(stack, MemberBags(bag, 1), PARADIGMS.get("soft")())


# --- the setting of Theorem 1 ---------------------------------------------------------------------


def gradient(bag, model, name):
    focus = model.attend(bag.x.double(), None, bag.z)
    rule = PARADIGMS.get(name)()
    loss = rule.loss(focus.alpha, focus.h, model.g, bag.y).mean()
    return torch.autograd.grad(loss, model.g.weight)[0]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mu", [0.0, 2.5])
def test_on_the_population_bags_the_gradient_is_the_flows(name, mu):
    for alpha in ALPHAS:
        grad = gradient(population(C, 4), on_theory(mu, alpha), name)
        rate = float(rates(name, mu, alpha, C)[0])
        torch.testing.assert_close(-grad, rate * theory_direction(C), rtol=1e-9, atol=1e-12)


def test_at_equal_rates_all_three_losses_start_with_one_slope():
    for alpha in ALPHAS:
        slopes = [
            -float(gradient(population(C, 4), on_theory(0.0, alpha), name).square().sum())
            for name in NAMES
        ]
        np.testing.assert_allclose(slopes, -(alpha**2) * (C - 1) / C**2, rtol=1e-9)


def test_elapsed_time_is_how_far_momentum_carries_a_constant_gradient():
    record = Record(np.arange(5), {}, meta={"steps_per_epoch": 3, "momentum": 0.9})
    flat, gone = torch.zeros(1, 1, dtype=torch.float64), [0.0]
    optimizer = StackedOptimizer("sgd", torch.tensor([0.05], dtype=torch.float64), 1, Settings(0.9))
    for _ in range(12):
        optimizer.step(flat, -torch.ones_like(flat))
        gone.append(float(flat))
    np.testing.assert_allclose(elapsed(record, 0.05), gone[::3], rtol=1e-12)


# --- the stacked training -------------------------------------------------------------------------


def tiny_bags(seed):
    def draw(kind, rng):
        return torch.randn(len(kind), 4, generator=rng) + 2 * kind[:, None]

    return Bag(*sdc(draw, classes=3, n=24, m=3, generator=torch.Generator().manual_seed(seed)))


LINES = [("soft", 0.1), ("hard", 0.1), ("lvml", 0.1), ("hard", 0.02)]
RATES = {
    "equal": dict.fromkeys(NAMES, 0.1),
    "authors": {"soft": 0.1, "hard": 0.02, "lvml": 0.1},
}
TINY = Plan(epochs=4, batch=8, optimizer="sgd", every=1, dtype="float64", save_seconds=0)


def tiny_training(checkpoint, tell=lambda done, total: None):
    bags = [(tiny_bags(seed), tiny_bags(seed + 10)) for seed in (0, 1)]
    g = lambda: mlp(4, 3, (5,))  # noqa: E731
    record = train_fixed(g, bags, LINES, (0.3, 1.0), TINY, measure_incentive, checkpoint, tell)
    return replace(record, meta={**record.meta, "rates": RATES, "classes": 3})


def test_a_curve_is_the_one_its_member_would_have_had_alone(tmp_path):
    record = tiny_training(tmp_path / "c")
    single = curve(record, "set_loss", "hard", "authors")
    assert single.shape == (5, 2, 2)
    for a, alpha in enumerate((0.3, 1.0)):
        for seed in (0, 1):
            alone = fit(
                lambda alpha=alpha: FixedFocus(mlp(4, 3, (5,)), alpha),
                tiny_bags(seed),
                tiny_bags(seed),
                "hard",
                seeds=[seed],
                plan=TINY,
                lr=0.02,
            )
            np.testing.assert_allclose(single[:, a, seed], alone.values["loss"][:, 0], rtol=1e-9)


def test_a_training_that_was_killed_ends_with_the_same_bits_probe_and_all(tmp_path):
    whole = tiny_training(tmp_path / "whole")

    def stop(done, total):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tiny_training(tmp_path / "part", stop)
    again = tiny_training(tmp_path / "part")
    assert {"set_loss", "incentive", "difference"} <= again.values.keys()
    for name, value in whole.values.items():
        np.testing.assert_array_equal(value, again.values[name])


def test_a_probe_sees_the_training_at_every_measurement():
    seen = []

    def probe(training: Training):
        seen.append(training.epoch)
        return {"twice": np.array([2.0 * training.epoch])}

    record = fit(
        lambda: FixedFocus(mlp(4, 3, (5,)), 0.5),
        tiny_bags(0),
        tiny_bags(1),
        "soft",
        probe=probe,
        epochs=5,
        every=2,
    )
    assert seen == record.t.tolist() == [0, 2, 4, 5]
    np.testing.assert_array_equal(record.values["twice"][:, 0], 2.0 * record.t)


def test_gradient_descent_on_the_population_follows_theorem_one(tmp_path):
    plan = Plan(epochs=40, batch=2 * C, optimizer="sgd", momentum=0.0, dtype="float64", every=4)
    lines = [(name, h) for name in NAMES for h in (1.0, 0.5)]
    bag, g = population(C, 3), lambda: zero_linear(C)
    record = train_fixed(
        g, [(bag, bag)], lines, ALPHAS, plan, measure_weights, tmp_path / "c", lambda a, b: None
    )
    record = replace(record, meta={**record.meta, "until": 20.0, "classes": C})
    errors = theorem_errors(record)
    assert errors.shape == (3, 2, 5)
    assert errors.max() < 0.1
    worst = errors.max(2)  # of single α the error may change its sign, and its time
    np.testing.assert_allclose(worst[:, 0] / worst[:, 1], 2, rtol=0.1)
    assert record.values["off"].max() < 1e-9


def test_shrinking_averages_pixels_and_keeps_one_bank():
    rng = torch.Generator().manual_seed(0)
    bank = torch.randint(0, 256, (9, 3, 8, 8), generator=rng, dtype=torch.uint8)
    positions = [torch.randint(9, (4, 3), generator=rng) for _ in range(2)]
    bags = [Bag(Mosaics(bank, index), torch.zeros(4, dtype=torch.long)) for index in positions]
    small = shrink(bags, 2)
    assert small[0].x.bank is small[1].x.bank
    for bag, less in zip(bags, small, strict=True):
        blocks = bag.dense().unflatten(-1, (2, 4)).unflatten(-3, (2, 4))
        torch.testing.assert_close(less.dense(), blocks.mean((-1, -3)))
    assert shrink(bags, 8)[0] is bags[0]
    with pytest.raises(FoveateError, match="one bank"):
        shrink([bags[0], Bag(Mosaics(bank.clone(), positions[0]), bags[0].y)], 2)
