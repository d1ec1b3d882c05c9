"""The null segment: a place to rest on where there is no evidence."""

import torch

from foveate.bags.bag import Bag, pad
from foveate.bags.segments import Mosaics
from foveate.models.focus import FCAM
from foveate.models.nets import mlp
from foveate.models.null_segment import NullSegment, add_null_segment
from foveate.training.evaluation import read
from random_bags import random_bag


def test_null_segment_replaces_segment_zero():
    bag = random_bag()
    with torch.random.fork_rng(devices=[]):
        inner = FCAM(mlp(3, 1, (4,)), mlp(3, 3)).double()
    model = NullSegment(inner, (3,)).double()
    with torch.no_grad():
        model.null.copy_(torch.tensor([1.0, -2.0, 0.5]))
    roomy = add_null_segment(bag)
    expected = pad(
        [
            torch.cat([model.null.detach()[None], bag.x.bank[bag.x.index[i][bag.mask[i]]]])
            for i in range(len(bag))
        ],
        bag.y,
    )
    for rule in ("soft", "hard", "lvml"):
        a, b = read(model, roomy, rule), read(inner, expected, rule)
        torch.testing.assert_close(a.alpha, b.alpha)
        torch.testing.assert_close(a.log_p, b.log_p)
    whole = model.attend(Mosaics(roomy.x.bank, roomy.x.index), roomy.mask)
    torch.testing.assert_close(whole.alpha, model.attend(roomy.dense(), roomy.mask).alpha)


def test_the_null_segment_is_relevant_where_nothing_is_known_to_be():
    bag = random_bag(4)
    z = bag.mask & (torch.arange(bag.m) == 0)
    z[1:3] = False
    known = torch.tensor([True, True, False, False])
    result = add_null_segment(Bag(bag.x, bag.y, z, bag.mask), has_z=known).z
    assert result[:, 0].tolist() == [False, True, False, False]
    assert torch.equal(result[:, 1:], z)
