"""The loop: the path of a member, its schedule, its end, and what is kept of it."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

from foveate.attention.maps import softmax
from foveate.attention.paradigms import PARADIGMS, Hard, Hybrid, Marginal, Soft, Witness
from foveate.bags.bag import Bag
from foveate.data import DATASETS
from foveate.errors import FoveateError
from foveate.models.focus import FCAM
from foveate.models.nets import linear
from foveate.randomness import generator
from foveate.training.evaluation import read
from foveate.training.loop import Training, fit
from foveate.training.plan import Plan
from small_training import TRAINABLE, bags, small_model, trained


@pytest.mark.parametrize("name", TRAINABLE)
def test_seed_in_a_stack_trains_as_alone(name):
    seeds = [3, 1, 4]
    together = trained(seeds, name, dtype="float64", epochs=12)
    for i, seed in enumerate(seeds):
        alone = trained([seed], name, dtype="float64", epochs=12)
        for key, value in together.values.items():
            np.testing.assert_allclose(value[:, i], alone.values[key][:, 0], rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(
            together.trained.flat[i], alone.trained.flat[0], rtol=1e-7, atol=1e-9
        )


def test_single_precision_follows_to_rounding_for_a_hundred_steps():
    seeds = [0, 1, 2]
    together = trained(seeds, epochs=34, lr=0.01, optimizer="sgd")  # 3 steps an epoch
    for i, seed in enumerate(seeds):
        alone = trained([seed], epochs=34, lr=0.01, optimizer="sgd")
        gap = (together.trained.flat[i] - alone.trained.flat[0]).abs().max()
        assert gap < 1e-4


@pytest.mark.parametrize("name", TRAINABLE)
def test_the_same_seeds_give_the_same_bits_twice(name):
    first, second = trained([0, 1], name), trained([0, 1], name)
    assert torch.equal(first.trained.flat, second.trained.flat)
    for key, value in first.values.items():
        np.testing.assert_array_equal(value, second.values[key])


def test_the_loop_is_plain_gradient_descent():
    """Three epochs against a loop written with torch.optim and the definition of the loss."""
    train, test = bags([5])
    plan = {"epochs": 3, "batch": 16, "lr": 0.01, "dtype": "float64"}
    record = fit(small_model, train, test, "soft", seeds=[5], **plan)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        model = small_model().double()
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    x, y = train[0].dense().double(), train[0].y
    for epoch in range(3):
        order = torch.randperm(40, generator=generator("order", 5, epoch))
        for rows in order.split(16):
            s = model.f(x[rows].flatten(0, 1)).view(len(rows), 4)
            mixed = (s.softmax(1)[..., None] * x[rows]).sum(1)
            loss = nn.functional.cross_entropy(model.g(mixed), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    expected = torch.cat([p.detach().flatten() for p in model.parameters()])
    torch.testing.assert_close(record.trained.flat[0], expected)


@pytest.mark.parametrize("name", ["soft", "hard-sampled", "em", "hybrid", "random"])
@pytest.mark.parametrize("stop_after", [1, 4, 5])
def test_resuming_gives_the_same_bits(name, stop_after, tmp_path):
    train, test = bags([0, 1])
    plan = Plan(epochs=7, batch=16, lr=0.05, validation=0.25, patience=3, save_seconds=0)
    rule = PARADIGMS.get(name)()

    def training():
        return Training(small_model, train, test, rule, [0, 1], plan)

    whole = training()
    while not whole.done:
        whole.run_epoch()
    half = training()
    for _ in range(stop_after):
        half.run_epoch()
    again = training()
    again.restore(*half.snapshot())
    while not again.done:
        again.run_epoch()
    a, b = whole.record(), again.record()
    assert torch.equal(a.trained.flat, b.trained.flat)
    assert a.meta["classifier_calls"] == b.meta["classifier_calls"]
    for part in ("values", "final"):
        for key, value in getattr(a, part).items():
            np.testing.assert_array_equal(value, getattr(b, part)[key])


def test_a_checkpoint_of_another_training_is_refused(tmp_path):
    (train, test), (other, _) = bags([0]), bags([7])
    inputs = {"seeds": [0], "epochs": 3, "batch": 16, "save_seconds": 0}
    folder = tmp_path / "checkpoint.safetensors"
    first = fit(small_model, train, test, "soft", checkpoint=folder, **inputs)
    again = fit(small_model, train, test, "soft", checkpoint=folder, **inputs | {"save_seconds": 9})
    assert torch.equal(first.trained.flat, again.trained.flat)
    for bags_, rule, changed, expected in (
        (other, "soft", {}, "training bags differ"),
        (train, "hard", {}, "paradigms differ"),
        (train, Witness(switch=2), {"epochs": 4}, "plan and paradigms differ"),
        (train, "soft", {"seeds": [1]}, "seeds differ"),
    ):
        with pytest.raises(FoveateError, match=f"another training, its {expected}: remove it"):
            fit(small_model, bags_, test, rule, checkpoint=folder, **inputs | changed)


def test_a_checkpoint_of_another_model_is_refused():
    train, test = bags([0])
    one = Training(small_model, train, test, "soft", [0], Plan(epochs=1))
    one.run_epoch()
    other = Training(lambda: FCAM(linear(2, 1), linear(2, 3)), train, test, "soft", [0], Plan())
    with pytest.raises(FoveateError, match="another model"):
        other.restore(*one.snapshot())


def test_members_may_differ_in_paradigm_and_rate():
    train, test = bags([0])
    rules = [Soft(), Hard(), Marginal()]
    mixed = fit(
        small_model, train * 3, test * 3, rules, seeds=[0, 0, 0], epochs=4, batch=16,
        lr=(0.05, 0.01, 0.02), dtype="float64",
    )  # fmt: skip
    for i, (rule, lr) in enumerate(zip(rules, (0.05, 0.01, 0.02), strict=True)):
        alone = trained([0], rule, epochs=4, lr=lr, dtype="float64")
        np.testing.assert_allclose(mixed.trained.flat[i], alone.trained.flat[0], rtol=1e-8)


@pytest.mark.parametrize("second_lr", [None, 0.02])
def test_the_hybrid_is_soft_then_hard_with_a_fresh_optimiser(second_lr):
    train, test = bags([0])
    plan = {"epochs": 6, "batch": 16, "lr": 0.05, "dtype": "float64"}
    hybrid = fit(
        small_model, train, test, Hybrid(switch=3), seeds=[0], switched_lr=second_lr, **plan
    )
    first = fit(small_model, train, test, Soft(), seeds=[0], **{**plan, "epochs": 3})
    plan["lr"] = second_lr or plan["lr"]
    second = Training(small_model, train, test, Hard(), [0], Plan(**plan))
    second.stack.flat = first.trained.flat.clone()
    second.epoch, second.losses = 3, [torch.zeros(1, dtype=torch.float64)] * 3
    while not second.done:
        second.run_epoch()
    torch.testing.assert_close(hybrid.trained.flat, second.stack.flat)


def test_the_rate_after_the_switch_is_kept_when_a_hybrid_resumes():
    train, test = bags([0])
    plan = Plan(epochs=6, batch=16, lr=0.05, switched_lr=0.01)

    def training():
        return Training(small_model, train, test, Hybrid(switch=2), [0], plan)

    whole, half, again = training(), training(), training()
    while not whole.done:
        whole.run_epoch()
    for _ in range(4):
        half.run_epoch()
    again.restore(*half.snapshot())
    while not again.done:
        again.run_epoch()
    assert torch.equal(whole.stack.flat, again.stack.flat)


def test_stopped_members_do_not_change():
    plan = {"lr": 0.1, "dtype": "float64"}
    easy = trained([0, 1], epochs=30, stop_below=0.3, **plan)
    losses = easy.final["losses"]
    stopped = [int(np.argmax(row < 0.3)) if (row < 0.3).any() else None for row in losses]
    assert any(stop is not None for stop in stopped)
    for i, stop in enumerate(stopped):
        if stop is not None:
            assert (losses[i, stop:] == losses[i, stop]).all()
            shorter = trained([i], epochs=stop + 1, **plan)
            torch.testing.assert_close(easy.trained.flat[i], shorter.trained.flat[0])


def test_patience_restores_the_best_validation_epoch():
    train, test = bags([0], n=60)
    plan = Plan(epochs=40, batch=15, lr=0.3, validation=0.5, patience=4)
    training = Training(small_model, train, test, "soft", [0], plan)
    seen = []
    while not training.done:
        before = training.stack.flat.clone()
        training.run_epoch()
        seen.append((float(training.patience.best[0]), before))
    assert training.epoch < 40
    held_out = train[0].take(training.held_out[0])
    model = training.stack.member(0)
    best = float(training.patience.best[0])
    assert float(read(model, held_out).loss.mean()) == pytest.approx(best, 1e-5)
    assert len(set(training.rows[0].tolist()) & set(training.held_out[0].tolist())) == 0


def test_given_validation_rows_are_not_trained_on():
    train, test = bags([0, 1], n=20)
    inputs = torch.tensor([1, 4, 19])
    plan = Plan(epochs=2, batch=15, validation=0.5, patience=4)
    training = Training(small_model, train, test, "soft", [0, 1], plan, None, [inputs, inputs])
    rest = [i for i in range(20) if i not in (1, 4, 19)]
    assert training.held_out.tolist() == [[1, 4, 19]] * 2
    assert training.rows.tolist() == [rest] * 2
    training.run_epoch()
    held_out = [bag.take(inputs) for bag in train]
    losses = [float(read(training.stack.member(i), held_out[i]).loss.mean()) for i in range(2)]
    assert training.patience.best.tolist() == pytest.approx(losses, 1e-5)


def test_no_member_stops_before_its_last_phase():
    """Soft attention meets both rules long before the switch; its hard phase is still run."""
    easy = {"lr": 0.1, "epochs": 30, "dtype": "float64"}
    soft = trained([0, 1], Soft(), stop_below=0.5, **easy)
    assert soft.meta["epochs_run"] < 20
    for rules in ({"stop_below": 0.5}, {"validation": 0.4, "patience": 1}):
        record = trained([0, 1], Hybrid(switch=20), **easy, **rules)
        assert 20 < record.meta["epochs_run"] < 30
        assert record.meta["stopped"] == [True, True]
        assert (np.diff(record.final["losses"][:, :20], axis=1) != 0).all()


def test_patience_restarts_with_the_last_phase():
    """The validation loss of hard attention starts above the best that soft attention had."""
    train, test = bags([0], n=60)
    plan = Plan(epochs=24, batch=15, lr=0.05, validation=0.5, patience=4)
    training = Training(small_model, train, test, Hybrid(switch=12), [0], plan)
    best = []
    while not training.done:
        training.run_epoch()
        best.append(float(training.patience.best[0]))
    assert all(later <= first for first, later in pairwise(best[:12]))
    assert best[12] > best[11]
    held_out = train[0].take(training.held_out[0])
    hard = read(training.stack.member(0), held_out, "hard").loss.mean()
    assert float(hard) == pytest.approx(min(best[12:]), 1e-5)


def test_random_epochs_are_read_as_hard_attention_regardless_of_the_last_one_was():
    rule = PARADIGMS.get("random")()
    train, test = bags([0, 1, 2])
    plan = Plan(epochs=3, batch=16, lr=0.05)
    training = Training(small_model, train, test, rule, [0, 1, 2], plan)
    last = set()
    while not training.done:
        training.run_epoch()
        last |= {type(phase) for phase in training._phases(training.epoch - 1)}
        log_p = torch.from_numpy(training.record().final["log_p"])
        for i, bag in enumerate(test):
            expected = read(training.stack.member(i), bag, "hard").log_p
            torch.testing.assert_close(log_p[i], expected, rtol=1e-4, atol=1e-5)
    assert last == {Soft, Hard}


def test_held_out_bags_do_not_change_training():
    train, test = bags([0])
    other = DATASETS.get("error-mode-1")().load("test", n=11, m=4, seed=99)
    a = fit(small_model, train, test, seeds=[0], epochs=2, batch=16)
    b = fit(small_model, train, other, seeds=[0], epochs=2, batch=16)
    assert torch.equal(a.trained.flat, b.trained.flat)


def test_relevance_never_reaches_a_loss():
    train, test = bags([0])
    blind = [Bag(bag.x, bag.y) for bag in train]
    a = fit(small_model, train, test, "lvml", seeds=[0], epochs=2, batch=16)
    b = fit(small_model, blind, test, "lvml", seeds=[0], epochs=2, batch=16)
    assert torch.equal(a.trained.flat, b.trained.flat)


@pytest.mark.parametrize("every", [1, 100])
def test_record_matches_its_weights(every):
    train, test = bags([0, 1])
    plan = Plan(epochs=3, batch=16, lr=0.05, every=every)

    def training():
        return Training(small_model, train, test, "soft", [0, 1], plan)

    one, again = training(), training()
    for done in range(1, 4):
        one.run_epoch()
        again.restore(*one.snapshot())
        for resumed in (one, again):
            record = resumed.record()
            for i, bag in enumerate(test):
                reading = read(record.trained.member(i), bag, "soft")
                np.testing.assert_allclose(record.final["alpha"][i], reading.alpha, rtol=1e-5)
        assert one.done == (done == 3)


def test_the_share_of_unchanged_top_segments_is_recorded():
    train, test = bags((0, 1))
    tops = []

    def probe(training):
        tops.append(training._read.alpha.argmax(-1))
        return {}

    record = fit(small_model, train, test, "soft", seeds=(0, 1), epochs=3, lr=0.5, probe=probe)
    shares = [(a == b).double().mean(1).numpy() for a, b in pairwise(tops)]
    assert np.isnan(record.values["same_top"][0]).all()
    np.testing.assert_allclose(record.values["same_top"][1:], shares)
    assert np.min(shares) < 1  # something changes


def test_counts_of_classifier_calls():
    train, _ = bags([0])
    per_epoch = len(train[0])
    calls = {
        n: trained([0], n, epochs=5).meta["classifier_calls"][0] for n in ("soft", "hard", "em")
    }
    assert calls == {"soft": 5 * per_epoch, "hard": 20 * per_epoch, "em": 40 * per_epoch}
    hybrid = trained([0], Hybrid(switch=0.8), epochs=5).meta["classifier_calls"][0]
    assert hybrid == (4 + 4) * per_epoch


def test_measures_at_the_start_are_those_of_the_untrained_model():
    train, test = bags([0])
    record = fit(small_model, train, test, "soft", seeds=[0], epochs=1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = small_model()
    x = test[0].dense()
    alpha = softmax(model.f(x.flatten(0, 1)).view(30, 4)).detach()
    a_z = float((alpha * test[0].z).sum(1).mean())
    assert record.values["a_z"][0, 0] == pytest.approx(a_z, 1e-5)
    assert record.t.tolist() == [0, 1]


def test_sizes_that_do_not_fit_are_refused():
    train, test = bags([0, 1])
    with pytest.raises(FoveateError, match="3 members need"):
        fit(small_model, train, test, seeds=[0, 1, 2])
    with pytest.raises(FoveateError, match="as many values"):
        fit(small_model, train, test, seeds=[0, 1], lr=(0.1, 0.2, 0.3))
    with pytest.raises(FoveateError, match="Did you mean 'soft'"):
        fit(small_model, train, test, "sofd", seeds=[0, 1])
    with pytest.raises(FoveateError, match="same parameters"):
        fit([small_model, lambda: FCAM(linear(2, 1), linear(2, 3))], train, test, seeds=[0, 1])


def test_witnesses_are_uniform_over_existing_segments():
    n, present = 3000, torch.tensor([True, False, True, True, False])
    bag = Bag(torch.zeros(n, 5, 2), torch.zeros(n, dtype=torch.long), mask=present.expand(n, 5))
    few = bag.take(slice(0, 4))
    plan = Plan(epochs=1)
    training = Training(small_model, bag, few, "witness", (0, 7), plan)
    positions = training._prepare.aux(Witness().phases[0], torch.tensor([1, 0]), 0)
    assert positions.shape == (2, n, 3)
    share = positions[0].flatten().bincount(minlength=5) / (3 * n)
    torch.testing.assert_close(share, present / 3, atol=0.03, rtol=0)
    assert not torch.equal(positions[0], positions[1])
    whole = Training(small_model, Bag(bag.x, bag.y), few, "witness", (0,), plan)
    positions = whole._prepare.aux(Witness().phases[0], torch.tensor([0]), 0).flatten()
    even = positions.bincount(minlength=5) / (3 * n)
    torch.testing.assert_close(even, torch.full((5,), 0.2), atol=0.03, rtol=0)


def test_each_member_leaves_its_own_validation_rows_out_of_training():
    (train,), test = bags([0])
    rows = [torch.arange(4), torch.arange(4, 7)]
    changed = Bag(train.dense().clone(), train.y)
    changed.dense()[:4] += 1.0

    def weights(bag):
        plan = Plan(epochs=2, batch=16)
        training = Training(small_model, bag, test, "soft", [0, 1], plan, None, rows)
        assert training.held_out.tolist() == [[0, 1, 2, 3], [4, 5, 6, 4]]
        while not training.done:
            training.run_epoch()
        return training.stack.flat

    one, other = weights(train), weights(changed)
    assert torch.equal(one[0], other[0])
    assert not torch.equal(one[1], other[1])
