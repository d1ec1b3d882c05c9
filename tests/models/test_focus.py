import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import oracles
from foveate.attention.maps import MAPS
from foveate.attention.paradigms import PARADIGMS
from foveate.bags.segments import Mosaics, dense
from foveate.errors import FoveateError
from foveate.models.focus import FCAM, FixedFocus
from foveate.models.nets import mlp

RULES = [name for name, kind in PARADIGMS.items() if not kind().whole_bag]


def built(make):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        return make().double()


def model(map="softmax", layer=None):
    width = {None: 3, "hidden1": 7, "hidden2": 6}[layer]
    return built(lambda: FCAM(mlp(3, 1, (7, 6)), mlp(width, 4, (5,)), map, layer))


def bags(B=4, m=5, seed=0):
    rng = torch.Generator().manual_seed(seed)
    return torch.randn(B, m, 3, generator=rng, dtype=torch.float64)


def by_hand(f, segment):
    """Both hidden layers and the score of one segment."""
    hidden1 = (f.linear1.weight @ segment + f.linear1.bias).clamp_min(0)
    hidden2 = (f.linear2.weight @ hidden1 + f.linear2.bias).clamp_min(0)
    return hidden1, hidden2, f.out.weight @ hidden2 + f.out.bias


def readings(net, x, mask=None):
    """All that training and inference see of a model: scores, attention, losses, predictions."""
    focus, y = net.attend(x, mask), torch.arange(len(x)) % 4
    aux = torch.rand(len(x), 2, generator=torch.Generator().manual_seed(1), dtype=x.dtype)
    losses, reads = [], []
    for name in RULES:
        rule = PARADIGMS.get(name)()
        losses.append(rule.loss(focus.alpha, focus.h, net.g, y, aux if rule.draws else None))
        reads.append(rule.log_prob(focus.alpha, focus.h, net.g))
    return focus, torch.stack(losses), torch.stack(reads)


@pytest.mark.parametrize("layer", [None, "hidden1", "hidden2"])
@pytest.mark.parametrize("shared", [False, True])
def test_scores_and_phi_are_those_of_a_forward_matches_manual_computation(layer, shared):
    net, x = model(layer=layer), bags()
    index = torch.tensor([[0, 1, 1, 0, 1], [1, 1, 1, 1, 0]])
    inputs = Mosaics(x[0, :2], index) if shared else x
    x = x[0][index] if shared else x
    focus = net.attend(inputs, None)
    phi = dense(focus.h)
    for i, bag in enumerate(x):
        for j, segment in enumerate(bag):
            hidden1, hidden2, score = by_hand(net.f, segment)
            expected = {None: segment, "hidden1": hidden1, "hidden2": hidden2}[layer]
            torch.testing.assert_close(phi[i, j], expected)
            torch.testing.assert_close(focus.s[i, j], score[0])
        weights = oracles.softmax_loop(focus.s[i].tolist())
        torch.testing.assert_close(focus.alpha[i], torch.tensor(weights, dtype=x.dtype))


def test_the_map_is_the_one_asked_for():
    x = bags()
    for name in MAPS.names():
        focus = model(name).attend(x, None)
        torch.testing.assert_close(focus.alpha, MAPS.get(name)(focus.s, None))
    with pytest.raises(FoveateError, match=r"unknown map 'softmx'. Did you mean 'softmax'\?"):
        model("softmx")


def test_an_unknown_layer_is_named_with_those_there_are():
    with pytest.raises(FoveateError, match="no layer 'hidden3'; it has flat, linear1, hidden1,"):
        built(lambda: FCAM(mlp(3, 1, (7, 6)), mlp(7, 4), layer="hidden3"))


def test_scores_may_have_a_trailing_axis():
    net, x = model(), bags()
    flat = FCAM(nn.Sequential(net.f, nn.Flatten(0)), net.g)
    bank = Mosaics(x[0], torch.tensor([[0, 1, 2, 3, 4, 4], [4, 3, 2, 1, 0, 1]]))
    for form in (x, bank):
        torch.testing.assert_close(flat.attend(form, None).alpha, net.attend(form, None).alpha)


@pytest.mark.parametrize("layer", [None, "hidden1"])
def test_focus_network_must_return_one_score_per_segment(layer):
    net = built(lambda: FCAM(mlp(3, 2, (4,)), mlp(3, 4), layer=layer))
    shared = Mosaics(bags()[0], torch.zeros(2, 4, dtype=torch.long))
    for form in (bags(), shared):
        with pytest.raises(FoveateError, match="one score per segment, got 2"):
            net.attend(form, None)


@settings(max_examples=15)
@given(st.integers(2, 8), st.integers(0, 10**6), st.sampled_from([None, "hidden2"]))
def test_permuting_segments_permutes_alpha_and_changes_no_reading(m, seed, layer):
    x = bags(3, m, seed)
    order = torch.randperm(m, generator=torch.Generator().manual_seed(seed))
    for map in MAPS.names():
        net = model(map, layer)
        focus, losses, reads = readings(net, x)
        moved, new_losses, new_reads = readings(net, x[:, order])
        torch.testing.assert_close(moved.alpha, focus.alpha[:, order])
        ties = {"witness", "taught"} if map == "uniform" else set()  # top segments of equal weight
        by_place = {"hard-sampled"} | ties
        keep = [k for k, name in enumerate(RULES) if name not in by_place]
        torch.testing.assert_close(new_losses[keep], losses[keep])
        if map != "uniform":  # ties: the top segment is the first
            torch.testing.assert_close(new_reads, reads)


@settings(max_examples=15)
@given(st.integers(2, 8), st.integers(0, 10**6), st.sampled_from([None, "hidden2"]))
def test_masking_equals_deleting_for_whole_models(m, seed, layer):
    x = bags(1, m, seed)
    mask = torch.rand(1, m, generator=torch.Generator().manual_seed(seed)) < 0.6
    mask[0, seed % m] = True
    garbage = torch.where(mask[..., None], x, 1e4)
    for map in MAPS.names():
        net = model(map, layer)
        masked, losses, reads = readings(net, garbage, mask)
        deleted, fewer_losses, fewer_reads = readings(net, x[mask][None])
        torch.testing.assert_close(masked.alpha[mask], deleted.alpha[0])
        torch.testing.assert_close(losses, fewer_losses)
        torch.testing.assert_close(reads, fewer_reads)


def test_masked_segments_get_no_gradient():
    net, x = model(), bags().requires_grad_()
    mask = torch.ones(4, 5, dtype=torch.bool)
    mask[:, 3:] = False
    _, losses, _ = readings(net, x, mask)
    slope = torch.autograd.grad(losses.sum(), x)[0]
    assert (slope[:, 3:] == 0).all()
    assert (slope[:, :3] != 0).any()


@given(st.integers(2, 8), st.floats(0, 1), st.integers(0, 10**6))
def test_a_fixed_focus_shares_alpha_and_the_rest(m, alpha, seed):
    rng = torch.Generator().manual_seed(seed)
    z, mask = torch.rand(3, m, generator=rng) < 0.5, torch.rand(3, m, generator=rng) < 0.7
    z[:, 0], z[:, 1], mask[:, :2] = True, False, True
    z &= mask
    x = bags(3, m)
    focus = FixedFocus(nn.Identity(), alpha).double().attend(x, mask, z)
    expected = [oracles.fixed_focus_loop(alpha, z[i], mask[i]) for i in range(3)]
    torch.testing.assert_close(
        focus.alpha, torch.tensor(expected, dtype=x.dtype), atol=1e-7, rtol=0
    )
    torch.testing.assert_close(focus.alpha.sum(1), torch.ones(3, dtype=x.dtype))
    assert focus.h is x


def test_a_fixed_focus_matches_manual_computation():
    z = torch.tensor([[False, True, False, False, False]])
    focus = FixedFocus(nn.Identity(), 0.6).attend(bags(1), None, z)
    torch.testing.assert_close(focus.alpha, torch.tensor([[0.1, 0.6, 0.1, 0.1, 0.1]]))
    two = torch.tensor([[True, True, False, False, False]])
    focus = FixedFocus(nn.Identity(), 0.6).attend(bags(1), None, two)
    torch.testing.assert_close(focus.alpha, torch.tensor([[0.3, 0.3, *[0.4 / 3] * 3]]))


def test_fixed_focus_reports_missing_z():
    assert FixedFocus.needs_z
    assert not FCAM.needs_z
    with pytest.raises(FoveateError, match="needs the relevant segments z"):
        FixedFocus(nn.Identity(), 0.5).attend(bags(), None)
    for alpha in (-0.1, 1.1):
        with pytest.raises(FoveateError, match=rf"alpha must lie in \[0, 1\], got {alpha}"):
            FixedFocus(nn.Identity(), alpha)
