"""Words that look at each other: against torch's layer, under masks, and in stacks."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import cross_entropy

from foveate.attention.paradigms import PARADIGMS
from foveate.bags.bag import Bag
from foveate.bags.segments import Mosaics, dense
from foveate.errors import FoveateError
from foveate.models.contextual import Contextual, SelfAttention
from foveate.models.focus import FCAM
from foveate.models.nets import pair
from foveate.models.published import VOCABULARY_ROWS
from foveate.training.loop import fit

RULES = ("soft", "hard", "lvml", "logit")


def built(make):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        return make().double()


def model():
    return built(lambda: Contextual(11, 3, width=6, heads=2, hidden=(5, 4)))


def ids(B, m, seed=0):
    return torch.randint(11, (B, m), generator=torch.Generator().manual_seed(seed))


def readings(net, x, mask=None):
    focus, y = net.attend(x, mask), torch.arange(len(x)) % 3
    losses = [PARADIGMS.get(k)().loss(focus.alpha, focus.h, net.g, y) for k in RULES]
    return focus, torch.stack(losses)


@pytest.mark.parametrize("masked", [False, True])
def test_self_attention_is_that_of_torch(masked):
    layer = built(lambda: SelfAttention(6, 2))
    theirs = built(lambda: nn.MultiheadAttention(6, 2, batch_first=True))
    with torch.no_grad():
        theirs.in_proj_weight.copy_(layer.into.weight)
        theirs.in_proj_bias.copy_(layer.into.bias)
        theirs.out_proj.weight.copy_(layer.out.weight)
        theirs.out_proj.bias.copy_(layer.out.bias)
    e = torch.randn(3, 4, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    mask = torch.tensor([[True] * 4, [True, False, True, False], [True, True, True, False]])
    mask = mask if masked else None
    expected, _ = theirs(e, e, e, key_padding_mask=None if mask is None else ~mask)
    torch.testing.assert_close(layer(e, mask), expected)


def test_heads_share_the_numbers_evenly():
    with pytest.raises(FoveateError, match="4 heads must share 6 numbers evenly"):
        SelfAttention(6, 4)


@settings(max_examples=20)
@given(st.integers(1, 7), st.integers(0, 10**6))
def test_masking_equals_deleting(m, seed):
    net, x = model(), ids(1, m, seed)
    mask = torch.rand(1, m, generator=torch.Generator().manual_seed(seed)) < 0.6
    mask[0, seed % m] = True
    masked, losses = readings(net, torch.where(mask, x, 7), mask)
    deleted, fewer = readings(net, x[mask][None])
    torch.testing.assert_close(masked.alpha[mask], deleted.alpha[0])
    torch.testing.assert_close(masked.h[mask], deleted.h[0])
    torch.testing.assert_close(losses, fewer)
    assert (masked.alpha[~mask] == 0).all()


@settings(max_examples=20)
@given(st.integers(2, 7), st.integers(0, 10**6))
def test_permuting_words_permutes_alpha_and_phi(m, seed):
    net, x = model(), ids(2, m, seed)
    order = torch.randperm(m, generator=torch.Generator().manual_seed(seed))
    focus, losses = readings(net, x)
    moved, again = readings(net, x[:, order])
    torch.testing.assert_close(moved.alpha, focus.alpha[:, order])
    torch.testing.assert_close(moved.h, focus.h[:, order])
    torch.testing.assert_close(again, losses)


def test_a_bank_of_words_gives_what_the_ids_give():
    net, index = model(), ids(3, 5)
    bank = torch.arange(11).flip(0)
    shared, written = net.attend(Mosaics(bank, index), None), net.attend(bank[index], None)
    torch.testing.assert_close(shared.alpha, written.alpha)
    torch.testing.assert_close(shared.h, written.h)


def test_phi_of_hatexplain_1_is_the_word_vector():
    f, g = built(lambda: nn.ModuleList(pair("hatexplain-1", (11,), 3)[:2]))
    focus = FCAM(f, g, layer="words").attend(ids(2, 4), None)
    torch.testing.assert_close(dense(focus.h), f.words.weight[ids(2, 4)])
    expected = f.score(f.words.weight)[:, 0][ids(2, 4)]
    torch.testing.assert_close(focus.s, expected)
    sizes = [sum(p.numel() for p in net.parameters()) for net in (f, g)]
    assert sizes == [11 * 100 + 100 * 200 + 200 + 200 + 1, 100 * 200 + 200 + 200 * 3 + 3]


def test_hidden_layer_of_hatexplain_1_and_size_of_its_vocabulary():
    with torch.random.fork_rng(devices=[]):
        f, g, layer = pair("hatexplain-1", (), 3, "last")
    assert f.words.num_embeddings == VOCABULARY_ROWS
    phi = dense(FCAM(f, g, layer=layer).attend(ids(1, 2), None).h)
    hidden = f.score.linear1(f.words.weight[ids(1, 2)]).clamp_min(0)
    torch.testing.assert_close(phi, hidden)


@pytest.mark.parametrize("rule", ["soft", "lvml"])
@pytest.mark.parametrize("kind", ["words", "context"])
def test_a_stack_over_words_takes_the_step_of_one_model(kind, rule):
    """Words that recur in a batch are sent through f and g once; the gradient is the same."""
    index, y = ids(4, 5), torch.tensor([0, 1, 2, 0])
    mask = torch.ones(4, 5, dtype=torch.bool)
    mask[1, 3:] = False
    bag = Bag(Mosaics(torch.arange(11), index), y, None, mask)

    def build():
        if kind == "context":
            return Contextual(11, 3, width=6, heads=2, hidden=(5, 4))
        f, g, layer = pair("hatexplain-1", (11,), 3)
        return FCAM(f, g, layer=layer)

    how = {"epochs": 1, "batch": 4, "lr": 0.1, "optimizer": "sgd", "dtype": "float64"}
    stack = fit(build, bag, bag, rule, seeds=(0, 1), **how).trained
    for seed in (0, 1):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            net = build().double()
        focus = net.attend(index, mask)
        if rule == "soft":
            mixed = torch.einsum("bm,bmd->bd", focus.alpha, focus.h)
            loss = cross_entropy(net.g(mixed), y)
        else:
            p = net.g(focus.h.flatten(0, 1)).softmax(1).unflatten(0, (4, 5))
            loss = -(focus.alpha * p[torch.arange(4), :, y]).sum(1).log().mean()
        loss.backward()
        after = stack.member(seed).state_dict()
        for name, value in net.named_parameters():
            torch.testing.assert_close(after[name], value.detach() - 0.1 * value.grad)


@pytest.mark.parametrize("rule", ["soft", "hard", "em", "hard-sampled"])
def test_groups_of_similar_length_give_the_same_training(rule, monkeypatch):
    lengths = torch.tensor([1, 7, 2, 5, 3, 3, 6, 1, 4])
    mask = torch.arange(7) < lengths[:, None]
    index = ids(9, 7).masked_fill(~mask, 0)
    bag = Bag(Mosaics(torch.arange(11), index), torch.arange(9) % 3, None, mask)

    def trained(grouped):
        monkeypatch.setattr(Contextual, "compares_segments", grouped)
        return fit(
            lambda: Contextual(11, 3, width=6, heads=2, hidden=(5, 4)), bag, bag, rule,
            seeds=(0, 1, 2), epochs=3, batch=5, lr=0.1, optimizer="sgd", dtype="float64",
        )  # fmt: skip

    one, other = trained(True), trained(False)
    torch.testing.assert_close(one.trained.flat, other.trained.flat, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one.values["loss"], other.values["loss"], rtol=1e-9)
