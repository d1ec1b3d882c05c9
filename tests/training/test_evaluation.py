import numpy as np
import pytest
import torch
from torch import nn

from foveate.attention import likelihood
from foveate.attention.paradigms import PARADIGMS, Hard, Hybrid, Marginal, Soft, WithEntropy
from foveate.bags.bag import Bag, pad
from foveate.bags.segments import Mosaics
from foveate.metrics import focus
from foveate.metrics import focus as metrics
from foveate.metrics.focus import label_probability
from foveate.models.focus import FCAM, FixedFocus
from foveate.models.nets import direct, mlp
from foveate.training import evaluation
from foveate.training.evaluation import Reading, measure, read, read_stack
from foveate.training.stack import MemberBags, Stack

NAMES = PARADIGMS.names()


def mosaics(rows=11, n=9, m=4, seed=0, shared=True):
    rng = torch.Generator().manual_seed(seed)
    bank = torch.randn(rows, 2, generator=rng, dtype=torch.float64)
    index = torch.randint(rows, (n, m), generator=rng)
    y = torch.randint(3, (n,), generator=rng)
    z = nn.functional.one_hot(torch.randint(m, (n,), generator=rng), m).bool()
    return Bag(Mosaics(bank, index) if shared else bank[index], y, z)


def ragged(seed=0):
    rng = torch.Generator().manual_seed(seed)
    bags = [torch.randn(k, 2, generator=rng, dtype=torch.float64) for k in (4, 1, 3, 2)]
    z = [torch.rand(len(bag), generator=rng) < 0.5 for bag in bags]
    return pad(bags, torch.tensor([0, 2, 1, 1]), z)


def build(name="soft", layer=None, m=4):
    width = 2 if layer is None else 6
    g = direct((2,), m, 3, (5,)) if PARADIGMS.get(name)().whole_bag else mlp(width, 3, (5,))
    return FCAM(mlp(2, 1, (6,)), g, layer=layer)


def model(name="soft", layer=None):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(2)
        return build(name, layer).double()


def by_definition(net, bag, name):
    """The same reading on the bags written out, from the paradigm alone."""
    rule = PARADIGMS.get(name)()
    with torch.no_grad():
        focus = net.attend(bag.dense(), bag.mask)
        inputs = (focus.alpha, focus.h, net.g)
        loss = rule.objective().loss(*inputs, bag.y)
        weights = rule.segment_weights(*inputs)
        s = (
            focus.s
            if rule.uses_attention
            else weights.clamp_min(torch.finfo(weights.dtype).tiny).log()
        )
        return Reading(s, weights, rule.log_prob(*inputs), loss)


def assert_same(reading, expected):
    for part, other in zip(reading, expected, strict=True):
        torch.testing.assert_close(part, other)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bag", [mosaics(), mosaics(rows=99), mosaics(shared=False)])
def test_read_equals_inference_and_loss_of_the_paradigm(name, bag):
    net = model(name)
    assert_same(read(net, bag, name), by_definition(net, bag, name))
    assert_same(read(net, bag, PARADIGMS.get(name)()), by_definition(net, bag, name))


@pytest.mark.parametrize("name", [n for n in NAMES if not PARADIGMS.get(n)().whole_bag])
def test_any_model_may_be_read_at_a_hidden_layer_and_from_ragged_bags(name):
    for net in (model(), model(layer="hidden1")):
        assert_same(read(net, ragged(), name), by_definition(net, ragged(), name))


@pytest.mark.parametrize("last", [Soft(), Hard(), Marginal()])
def test_a_hybrid_is_read_as_its_last_phase_is(last):
    rule = Hybrid(phases=(Hard(), last))
    assert_same(read(model(), mosaics(), rule), read(model(), mosaics(), last))
    assert_same(read(model(), mosaics(), WithEntropy(rule, 0.0)), read(model(), mosaics(), last))


def test_read_restores_the_training_mode():
    net = model("soft")
    for trains in (True, False):
        read(net.train(trains), mosaics())
        assert all(part.training is trains for part in net.modules())


def test_a_reading_with_the_regulariser_has_its_loss():
    net, bag = model(), mosaics()
    plain, with_entropy = read(net, bag, Hard()), read(net, bag, WithEntropy(Hard(), 0.5))
    nats = -(plain.alpha * plain.alpha.log()).sum(1)
    torch.testing.assert_close(with_entropy.loss, plain.loss + 0.5 * nats)
    assert torch.equal(with_entropy.log_p, plain.log_p)


def test_fixed_focus_gets_z():
    bag = mosaics()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(2)
        net = FixedFocus(mlp(2, 3), 0.7).double()
    reading = read(net, bag)
    torch.testing.assert_close(reading.alpha[bag.z], torch.full((9,), 0.7).double())
    torch.testing.assert_close(reading.alpha[~bag.z], torch.full((27,), 0.1).double())


def test_images_are_read_in_the_models_precision():
    bank = torch.arange(12, dtype=torch.uint8).view(6, 2) * 20
    index, y = torch.tensor([[0, 5, 5, 1]]), torch.tensor([1])
    numbers = (bank.double() / 255 - 0.5) / 0.5
    reading = read(model(), Bag(Mosaics(bank, index), y))
    assert reading.log_p.dtype == torch.float64
    expected = read(model(), Bag(Mosaics(numbers, index), y))
    torch.testing.assert_close(reading.log_p, expected.log_p, atol=1e-6, rtol=0)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bag", [mosaics(), mosaics(rows=99), mosaics(shared=False), ragged()])
def test_reading_in_small_parts_gives_the_same_numbers(monkeypatch, name, bag):
    net = model(name)
    whole = read(net, bag, name)
    monkeypatch.setattr(evaluation, "ELEMENTS", 2 * bag.m * 2)  # two bags at a time
    monkeypatch.setattr(likelihood, "ROWS", 3)
    assert_same(read(net, bag, name), whole)


class Counting(nn.Module):
    """Passes rows on and remembers them."""

    def __init__(self, net):
        super().__init__()
        self.net, self.seen = net, []

    def forward(self, rows):
        self.seen += rows.tolist()
        return self.net(rows)


@pytest.mark.parametrize("name", ["soft", "hard", "lvml", "em", "logit", "hybrid"])
@pytest.mark.parametrize("small", [False, True])
def test_each_row_of_a_bank_passes_through_f_once(monkeypatch, name, small):
    bag, net = mosaics(), model()
    net.f, net.g = Counting(net.f), Counting(net.g)
    if small:
        monkeypatch.setattr(evaluation, "ELEMENTS", 1)
        monkeypatch.setattr(likelihood, "ROWS", 3)
    read(net, bag, name)
    assert net.f.seen == bag.x.bank.tolist()
    if name == "soft":  # one mixture a bag; the others classify each row of the bank once too
        assert len(set(map(tuple, net.g.seen))) == len(bag)
    else:
        assert net.g.seen == bag.x.bank.tolist()


@pytest.mark.parametrize("owned", [False, True])
def test_members_of_a_stack_are_read_as_each_alone(owned):
    stack = Stack(build, [0, 1, 2], torch.float64)
    bags = [mosaics(seed=s if owned else 0, rows=8 + s * owned) for s in range(3)]
    pile = MemberBags(bags if owned else bags[0], 3, torch.float64)
    for rule in (Soft(), Hard(), Marginal()):
        together = read_stack(stack, pile, rule)
        for i in range(3):
            alone = read(stack.member(i), bags[i], rule)
            assert_same(Reading(*(part[i] for part in together)), alone)
        rows = torch.tensor([[3, 0], [8, 8]])
        some = read_stack(stack, pile, rule, torch.tensor([2, 0]), rows)
        for part, whole in zip(some, together, strict=True):
            torch.testing.assert_close(part[0], whole[2][rows[0]])
            torch.testing.assert_close(part[1], whole[0][rows[1]])


@pytest.mark.parametrize("bag", [mosaics(), ragged()])
def test_measures_are_the_metrics_of_the_arrays(bag):
    # Under this map the largest score is not always the largest weight.
    stack = Stack(lambda: FCAM(mlp(2, 1), mlp(2, 3), "spherical"), [0, 1, 2], torch.float64)
    pile = MemberBags(bag, 3, torch.float64)
    reading = read_stack(stack, pile, Soft())
    measured = measure(reading, pile)
    assert bag.mask is not None or (measured["ft"] != measured["ft_alpha"]).any()
    y, z = bag.y.numpy(), bag.z.numpy()
    mask = None if bag.mask is None else bag.mask.numpy()
    for i in range(3):
        s, alpha, log_p, loss = (part[i].numpy() for part in reading)
        correct = np.array([log_p[k].argmax() == y[k] for k in range(len(y))])
        p_y = np.array([np.exp(log_p[k, y[k]]) for k in range(len(y))])
        a_z, focused = metrics.attention_on(alpha, z), metrics.focus_true(s, z, mask)
        expected = {
            "loss": loss.mean(),
            "accuracy": correct.mean(),
            "nnz": focus.nonzeros(alpha).mean(),
            "dist": focus.distance(alpha).mean(),
            "ent": focus.entropy_bits(alpha).mean(),
            "ft": focused.mean(),
            "ft_alpha": metrics.focus_true(alpha, z, mask).mean(),
            "saif": metrics.saif(a_z, p_y),
            "a_z": a_z.mean(),
            "heat": metrics.heat_map(a_z, p_y),
            "ftpt": (focused & correct).mean(),
            "ffpt": (~focused & correct).mean(),
            "ftpf": (focused & ~correct).mean(),
            "ffpf": (~focused & ~correct).mean(),
        }
        assert measured.keys() == expected.keys()
        for name, value in expected.items():
            assert measured[name][i] == pytest.approx(value), name


def test_without_relevance_there_are_no_focus_metrics():
    bag = mosaics()
    blind = Bag(bag.x, bag.y)
    pile = MemberBags(blind, 1, torch.float64)
    measured = measure(read_stack(Stack(build, [0], torch.float64), pile, Soft()), pile)
    assert set(measured) == {"loss", "accuracy", "nnz", "dist", "ent"}


def test_probability_of_the_label():
    p = np.array([[[0.2, 0.8], [0.6, 0.4]], [[0.5, 0.5], [0.1, 0.9]]])
    y = np.array([1, 0])
    np.testing.assert_allclose(label_probability(np.log(p), y), [[0.8, 0.6], [0.5, 0.1]])
    targets = np.array([[1, 0], [0, 1]])
    np.testing.assert_allclose(label_probability(np.log(p), targets), [[0.8, 0.6], [0.5, 0.9]])
