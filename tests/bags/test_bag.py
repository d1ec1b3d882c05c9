import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from foveate.attention.maps import MAPS
from foveate.attention.paradigms import PARADIGMS
from foveate.bags.bag import Bag, pad
from foveate.bags.segments import Mosaics
from foveate.errors import FoveateError
from foveate.models.focus import FCAM
from foveate.models.nets import mlp


def ragged(lengths, d=3, C=3, seed=0):
    rng = torch.Generator().manual_seed(seed)
    bags = [torch.randn(k, d, generator=rng, dtype=torch.float64) for k in lengths]
    z = [torch.rand(k, generator=rng) < 0.5 for k in lengths]
    return bags, torch.arange(len(lengths)) % C, z


def model(map="softmax", layer=None):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        f, g = mlp(3, 1, (6,)), mlp(3 if layer is None else 6, 3, (5,))
    return FCAM(f, g, map, layer).double()


x = torch.zeros(3, 4, 2)
y = torch.tensor([0, 2, 1])
yes = torch.ones(3, 4, dtype=torch.bool)


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"x": torch.zeros(3)}, r"x must have shape \(n, m, …\), got \(3,\)"),
        ({"y": torch.zeros(2, dtype=torch.long)}, r"y must have shape \(3,\), got \(2,\)"),
        ({"y": torch.zeros(3)}, "y must hold whole numbers from 0 on"),
        ({"y": torch.tensor([0, -1, 2])}, "y must hold whole numbers from 0 on"),
        ({"z": yes[:2]}, r"z must have shape \(3, 4\), got \(2, 4\)"),
        ({"z": yes.float()}, "z must be boolean, got torch.float32"),
        ({"mask": yes[:, :3]}, r"mask must have shape \(3, 4\), got \(3, 3\)"),
        ({"mask": yes.long()}, "mask must be boolean, got torch.int64"),
        ({"group": torch.zeros(4)}, r"group must have shape \(3,\), got \(4,\)"),
        ({"mask": torch.tensor([1, 0, 1]).bool()[:, None] & yes}, "bag 1 has none"),
        ({"x": torch.zeros(3, 0, 2)}, "every bag needs a segment: bag 0 has none"),
        ({"x": Mosaics(torch.zeros(5, 2), torch.full((3, 4), 5))}, "bank of 5 rows.* got 5"),
        ({"x": Mosaics(torch.zeros(5, 2), torch.full((3, 4), -1))}, "bank of 5 rows.* got -1"),
    ],
)
def test_parts_must_fit(parts, sentence):
    with pytest.raises(FoveateError, match=sentence):
        Bag(**{"x": x, "y": y, **parts})


@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
def test_values_that_are_not_finite_are_reported(value):
    bad = x.clone()
    bad[1, 3, 0] = value
    with pytest.raises(FoveateError, match="must be finite: bag 1 holds NaN or infinity"):
        Bag(bad, y)
    bank = torch.zeros(9, 2)
    bank[7, 1] = value
    for rows in (bank, bank[:, 1]):
        with pytest.raises(FoveateError, match="must be finite: row of the bank 7 holds"):
            Bag(Mosaics(rows, torch.zeros(3, 4, dtype=torch.long)), y)


def test_sizes():
    images = Mosaics(torch.zeros(9, 1, 8, 8, dtype=torch.uint8), torch.zeros(3, 4).long())
    for segments, shape in ((x, (2,)), (images, (1, 8, 8))):
        bag = Bag(segments, y)
        assert (len(bag), bag.m, bag.shape, bag.segment_shape) == (3, 4, (3, 4), shape)
        assert tuple(bag.dense().shape) == (3, 4, *shape)
    assert (Bag(images, y).dense() == -1).all()


@pytest.mark.parametrize("rows", [torch.tensor([2, 0]), slice(1, 3), slice(0, 0)])
def test_take_selects_rows_of_every_field(rows):
    rng = torch.Generator().manual_seed(0)
    bank = torch.randn(9, 2, generator=rng)
    index = torch.randint(9, (3, 4), generator=rng)
    z, mask = torch.rand(3, 4, generator=rng) < 0.5, yes.clone()
    mask[1, 2:] = False
    group = torch.tensor([7, 8, 9])
    for segments in (Mosaics(bank, index), bank[index]):
        bag = Bag(segments, y, z, mask, group)
        part = bag.take(rows)
        for name in ("y", "z", "mask", "group"):
            assert torch.equal(getattr(part, name), getattr(bag, name)[rows])
        assert torch.equal(part.dense(), bank[index][rows])
    assert Bag(Mosaics(bank, index), y).take(rows).x.bank is bank
    assert Bag(x, y).take(rows).z is None


def test_take_does_not_check_the_bank_again():
    bank = torch.zeros(9, 2)
    bag = Bag(Mosaics(bank, torch.zeros(3, 4, dtype=torch.long)), y)
    bank[8] = torch.nan  # was found finite, and is not looked at again
    part = bag.take(torch.tensor([0, 2]))
    assert part.shape == (2, 4)
    with pytest.raises(FoveateError, match="row of the bank 8"):
        Bag(part.x, part.y)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=6), st.integers(0, 10**6))
def test_pad_preserves_rows(lengths, seed):
    bags, y, z = ragged(lengths, seed=seed)
    group = torch.arange(len(lengths))
    bag = pad(bags, y, z, group)
    assert bag.m == max(lengths)
    assert len(bag.x.bank) == sum(lengths)  # nothing is stored for padding
    for i, member in enumerate(bags):
        k = len(member)
        assert bag.mask[i].tolist() == [True] * k + [False] * (bag.m - k)
        assert torch.equal(bag.dense()[i, :k], member)
        assert bag.z[i].tolist() == z[i].tolist() + [False] * (bag.m - k)
    assert torch.equal(bag.group, group)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"bags": []}, "at least one bag is needed"),
        ({"bags": [torch.zeros(2, 3), torch.zeros(0, 3)]}, "bag 1 has none"),
        ({"y": torch.tensor([0])}, r"y must have shape \(2,\)"),
        ({"bags": [torch.zeros(2, 3), torch.zeros(1, 4)]}, "one shape: bag 1 has .4,., bag 0 .3,."),
        (
            {"z": [torch.ones(1).bool(), torch.ones(2).bool()]},
            "z of bag 0 must name 2 segments, got 1",
        ),
        ({"z": [torch.ones(2).bool()]}, "z must be given for all 2 bags, got 1"),
    ],
)
def test_pad_rejects_invalid_input(change, sentence):
    inputs = {"bags": [torch.zeros(2, 3), torch.zeros(1, 3)], "y": torch.tensor([0, 1])}
    with pytest.raises(FoveateError, match=sentence):
        pad(**{**inputs, **change})


@pytest.mark.parametrize("layer", [None, "hidden1"])
@pytest.mark.parametrize("map", MAPS.names())
def test_a_padded_batch_attends_as_bag_by_bag(map, layer):
    bags, y, _ = ragged([3, 1, 6, 4])
    net, bag = model(map, layer), pad(bags, y)
    together = net.attend(bag.x, bag.mask)
    for i, member in enumerate(bags):
        alone = net.attend(member[None], None)
        torch.testing.assert_close(together.alpha[i, : len(member)], alone.alpha[0])
        torch.testing.assert_close(together.s[i, : len(member)], alone.s[0])
        assert (together.alpha[i, len(member) :] == 0).all()


@settings(max_examples=10)
@given(st.lists(st.integers(1, 6), min_size=2, max_size=5), st.integers(0, 10**6))
def test_a_padded_batch_has_the_losses_and_readings_of_bag_by_bag(lengths, seed):
    bags, y, _ = ragged(lengths, seed=seed)
    net, bag = model(), pad(bags, y)
    draws = torch.rand(len(bags), 2, generator=torch.Generator().manual_seed(seed)).double()
    focus = net.attend(bag.x, bag.mask)
    for name in PARADIGMS.names():
        rule = PARADIGMS.get(name)()
        if rule.whole_bag:  # a network of fixed width reads no ragged bags
            continue
        aux = draws if rule.draws else None
        loss = rule.loss(focus.alpha, focus.h, net.g, bag.y, aux)
        read = rule.log_prob(focus.alpha, focus.h, net.g)
        for i, member in enumerate(bags):
            alone = net.attend(member[None], None)
            inputs = (alone.alpha, alone.h, net.g)
            one = rule.loss(*inputs, y[i : i + 1], None if aux is None else aux[i : i + 1])
            torch.testing.assert_close(loss[i], one[0])
            torch.testing.assert_close(read[i], rule.log_prob(*inputs)[0])
