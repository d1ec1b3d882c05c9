"""The oracle: what it is told, what it learns from, and that it is told nothing afterwards."""

import pytest
import torch
from torch import nn

from foveate.attention.paradigms import PARADIGMS, Hard
from foveate.bags.bag import Bag
from foveate.errors import FoveateError
from foveate.models.focus import FCAM
from foveate.models.nets import mlp
from foveate.models.oracle import Oracle, OracleModel
from foveate.training.evaluation import read
from foveate.training.loop import fit


def built():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        return OracleModel(FCAM(mlp(2, 1, (6,)), mlp(2, 3, (5,)))).double()


def bags(n=5, m=4, seed=0):
    rng = torch.Generator().manual_seed(seed)
    x = torch.randn(n, m, 2, generator=rng, dtype=torch.float64)
    y = torch.randint(3, (n,), generator=rng)
    z = torch.arange(m) == torch.randint(m, (n, 1), generator=rng)
    return x, y, z


def test_with_one_relevant_segment_it_is_two_cross_entropies():
    net, (x, y, z) = built().train(), bags()
    focus = net.attend(x, None, z)
    loss = Oracle().loss(focus.alpha, focus.h, net.g, y)
    for i in range(5):
        scores = net.model.f(x[i])[:, 0].log_softmax(0)
        log_p = net.g(x[i][z[i]]).log_softmax(1)[0, y[i]]
        torch.testing.assert_close(loss[i], -scores[z[i]][0] - log_p)


def test_the_classifier_learns_from_the_relevant_segments_alone():
    net, (x, y, z) = built().train(), bags()
    seen = []
    slope = torch.autograd.grad

    def watched(rows):
        rows = rows.detach().requires_grad_()
        seen.append((rows, net.g(rows)))
        return seen[-1][1]

    focus = net.attend(x, None, z)
    loss = Oracle().loss(focus.alpha.detach(), focus.h, watched, y).sum()
    (rows, logits) = seen[0]
    moved = slope(loss, rows)[0].abs().sum(1).view(5, 4) > 0
    assert logits.shape == (20, 3)
    assert torch.equal(moved, z)


def test_a_bag_without_relevant_segments_keeps_its_attention():
    net, (x, _, z) = built().train(), bags()
    z[0] = False
    plain = net.model.attend(x, None).alpha
    alpha = net.attend(x, None, z).alpha
    torch.testing.assert_close(alpha[0], plain[0])
    torch.testing.assert_close(alpha[1:], plain[1:] * z[1:])


def test_evaluation_needs_no_z_and_uses_hard_inference():
    net, (x, y, z) = built(), bags()
    with pytest.raises(FoveateError, match="an oracle needs the relevant segments z"):
        net.train().attend(x, None)
    focus, plain = net.eval().attend(x, None, z), net.model.attend(x, None)
    torch.testing.assert_close(focus.alpha, plain.alpha)
    with torch.no_grad():
        result = read(net, Bag(x, y, z), Oracle()).log_p
        expected = Hard().log_prob(plain.alpha, x, net.g)
    torch.testing.assert_close(result, expected)
    assert isinstance(net.g, nn.Module)


def test_oracle_is_not_registered():
    assert "oracle" not in PARADIGMS


def test_oracle_finds_the_relevant_segments():
    """The relevant segment has a positive first coordinate; its second decides the class."""
    rng = torch.Generator().manual_seed(0)
    z = torch.arange(6) == torch.randint(6, (200, 1), generator=rng)
    x = torch.rand(200, 6, 2, generator=rng)
    x[..., 0] = torch.where(z, x[..., 0], -x[..., 0])
    y = (x[z][:, 1] > 0.5).long()
    bag = Bag(x, y, z)

    def build():
        return OracleModel(FCAM(mlp(2, 1, (16,)), mlp(2, 2, (16,))))

    record = fit(build, bag, bag, Oracle(), seeds=(0, 1), epochs=12, batch=20, lr=0.05)
    assert record.last("ft").min() > 0.95
    assert record.last("accuracy").min() > 0.9
