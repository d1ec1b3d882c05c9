"""Laws of the pooling family: max, presence, noisy-or, additive, mean."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import oracles
from attention.test_paradigms import built, case
from foveate.attention.maps import softmax
from foveate.attention.paradigms import (
    PARADIGMS,
    Additive,
    Hybrid,
    Marginal,
    Max,
    Mean,
    NoisyOr,
    Presence,
    Soft,
    WithEntropy,
)
from foveate.bags.segments import Mosaics
from foveate.errors import FoveateError

POOLED = {"max": Max, "presence": Presence, "noisy-or": NoisyOr}
FAMILY = [Max(), Presence(), NoisyOr(), Additive(), Mean(), Presence(strength=0.3)]
IDS = [repr(rule) for rule in FAMILY]


@pytest.mark.parametrize("kind", POOLED)
@settings(max_examples=15)
@given(st.integers(1, 4), st.integers(1, 5), st.integers(2, 4), st.integers(0, 10**6))
def test_losses_equal_enumeration(kind, B, m, C, seed):
    alpha, x, g, y = case(B, m, 3, C, seed)
    absent = (0,) if C == 2 else ()
    expected = oracles.pooled_loop(x, g, y, kind, absent)
    torch.testing.assert_close(POOLED[kind]().loss(alpha, x, g, y), expected)


@pytest.mark.parametrize("kind", POOLED)
@pytest.mark.parametrize("absent", [(), (0,), (1, 3)])
def test_declared_classes_have_no_evidence(kind, absent):
    alpha, x, g, y = case()
    rule = POOLED[kind](absent=absent, bias=0.7)
    expected = oracles.pooled_loop(x, g, y, kind, absent, bias=0.7)
    torch.testing.assert_close(rule.loss(alpha, x, g, y), expected)


@pytest.mark.parametrize("absent", [(4,), (-1,), (0, 1, 2, 3)])
def test_absent_classes_must_exist_and_leave_one_with_evidence(absent):
    alpha, x, g, _ = case()
    with pytest.raises(FoveateError, match="absent must name some of the classes 0 … 3"):
        Max(absent=absent).log_prob(alpha, x, g)


@settings(max_examples=25)
@given(st.integers(1, 6), st.integers(2, 4), st.integers(0, 10**6))
def test_additive_and_mean_equal_their_definitions(m, C, seed):
    alpha, x, g, y = case(3, m, 3, C, seed)
    torch.testing.assert_close(
        Additive().loss(alpha, x, g, y), oracles.additive_loop(alpha, x, g, y)
    )
    torch.testing.assert_close(Mean().loss(alpha, x, g, y), oracles.mean_loop(alpha, x, g, y))


@settings(max_examples=25)
@given(st.integers(1, 6), st.integers(0, 10**6))
def test_probability_of_presence_lies_between_max_and_noisy_or(m, seed):
    alpha, x, g, _ = case(5, m, 3, 2, seed)
    low, middle, high = (
        rule.log_prob(alpha, x, g)[:, 1] for rule in (Max(), Presence(), NoisyOr())
    )
    assert (low <= middle + 1e-12).all()
    assert (middle <= high + 1e-12).all()


@settings(max_examples=25)
@given(st.integers(2, 5), st.integers(0, 10**6))
def test_a_further_segment_never_lowers_one_sided_evidence(m, seed):
    alpha, x, g, _ = case(5, m, 3, 2, seed)
    fewer = torch.cat([alpha[:, :-1], torch.zeros_like(alpha[:, -1:])], 1)
    for rule in (Max(), Presence(), NoisyOr()):
        with_all, without = (rule.log_prob(a, x, g)[:, 1] for a in (alpha, fewer))
        assert (with_all >= without - 1e-12).all()


@pytest.mark.parametrize("absent", [None, (), (2,)])
@settings(max_examples=15)
@given(st.integers(1, 6), st.integers(0, 10**6))
def test_presence_of_strength_zero_is_lvml(absent, m, seed):
    alpha, x, g, y = case(4, m, 3, 4, seed)
    rule = Presence(absent=absent, strength=0)
    torch.testing.assert_close(rule.loss(alpha, x, g, y), Marginal().loss(alpha, x, g, y))
    torch.testing.assert_close(rule.log_prob(alpha, x, g), Marginal().log_prob(alpha, x, g))


def test_presence_is_lvml_with_the_attention_of_the_classifier():
    alpha, x, g, y = case()
    logits = g(x.flatten(0, 1)).unflatten(0, x.shape[:2])
    tied = softmax(logits.logsumexp(2))
    torch.testing.assert_close(Presence().loss(alpha, x, g, y), Marginal().loss(tied, x, g, y))
    torch.testing.assert_close(Presence().segment_weights(alpha, x, g), tied)


@pytest.mark.parametrize("absent", [(), (0,)])
def test_the_family_between_lvml_and_presence_is_continuous_at_both_ends(absent):
    alpha, x, g, _ = case()
    for end, near in ((0.0, 1e-7), (1.0, 1 - 1e-7)):
        exact, close = (
            Presence(absent=absent, strength=t).log_prob(alpha, x, g) for t in (end, near)
        )
        torch.testing.assert_close(exact, close, atol=1e-4, rtol=0)
    with pytest.raises(FoveateError, match=r"strength must lie in \[0, 1\], got 2"):
        Presence(strength=2)
    assert Presence(strength=0.9).uses_attention
    assert not Presence().uses_attention


def test_strength_interpolates_geometrically():
    alpha, x, g, _ = case(B=2, m=3)
    t = 0.4
    logits = g(x.flatten(0, 1)).unflatten(0, x.shape[:2])
    z, p = logits.exp().sum(2), logits.softmax(2)
    odds = (alpha ** (1 - t) * z**t)[..., None] * p
    odds = odds.sum(1)
    odds[:, 0] = (1 - t) * odds[:, 0] + t * torch.tensor(0.5).double().exp()
    expected = (odds / odds.sum(1, keepdim=True)).log()
    rule = Presence(absent=(0,), bias=0.5, strength=t)
    torch.testing.assert_close(rule.log_prob(alpha, x, g), expected)


@pytest.mark.parametrize("rule", FAMILY, ids=IDS)
def test_one_hot_attention_reads_that_segment(rule):
    alpha, x, g, y = case()
    alpha = torch.eye(5, dtype=alpha.dtype)[:4]
    torch.testing.assert_close(rule.loss(alpha, x, g, y), Soft().loss(alpha, x, g, y))
    torch.testing.assert_close(rule.segment_weights(alpha, x, g), alpha)


@pytest.mark.parametrize("rule", FAMILY, ids=IDS)
def test_masking_is_deleting_and_order_does_not_matter(rule):
    alpha, x, g, y = case()
    padded = torch.cat([alpha, torch.zeros(4, 3, dtype=alpha.dtype)], 1).requires_grad_()
    filler = torch.full((4, 3, 3), 1e3, dtype=x.dtype)
    longer = torch.cat([x, filler], 1)
    loss = rule.loss(padded, longer, g, y)
    torch.testing.assert_close(loss, rule.loss(alpha, x, g, y))
    if rule.uses_attention:
        assert torch.isfinite(torch.autograd.grad(loss.sum(), padded)[0]).all()
    else:
        assert not loss.requires_grad
    torch.testing.assert_close(rule.evidence(padded, longer, g)[:, :5], rule.evidence(alpha, x, g))
    assert (rule.evidence(padded, longer, g)[:, 5:] == 0).all()
    assert (rule.segment_weights(padded, longer, g)[:, 5:] == 0).all()
    order = torch.tensor([3, 0, 4, 1, 2])
    torch.testing.assert_close(rule.loss(alpha[:, order], x[:, order], g, y), loss)
    torch.testing.assert_close(
        rule.evidence(alpha[:, order], x[:, order], g), rule.evidence(alpha, x, g)[:, order]
    )


@pytest.mark.parametrize("rule", FAMILY, ids=IDS)
def test_gradients_are_right(rule):
    g = built(lambda: nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3)))
    _, x, _, _ = case(B=3, m=4, C=3)
    s = torch.randn(3, 4, generator=torch.Generator().manual_seed(1), dtype=x.dtype)
    y = torch.tensor([0, 1, 2])

    def loss(s, x, *weights):
        names = [name for name, _ in g.named_parameters()]
        parameters = dict(zip(names, weights, strict=True))

        def classifier(rows):
            return torch.func.functional_call(g, parameters, (rows,))

        return rule.loss(softmax(s), x, classifier, y)

    inputs = [s, x, *(p.detach() for p in g.parameters())]
    leaves = [part.clone().requires_grad_() for part in inputs]
    assert torch.autograd.gradcheck(loss, leaves, check_undefined_grad=False)


@pytest.mark.parametrize("rule", FAMILY, ids=IDS)
@pytest.mark.parametrize("rows", [7, 30])  # fewer than the 20 references, and more
def test_a_bank_with_an_index_equals_dense_segments(rule, rows):
    alpha, _, g, y = case()
    rng = torch.Generator().manual_seed(1)
    bank = torch.randn(rows, 3, generator=rng, dtype=torch.float64)
    index = torch.randint(rows, (4, 5), generator=rng)
    shared, dense = Mosaics(bank, index), bank[index]
    torch.testing.assert_close(rule.loss(alpha, shared, g, y), rule.loss(alpha, dense, g, y))
    torch.testing.assert_close(rule.evidence(alpha, shared, g), rule.evidence(alpha, dense, g))


@pytest.mark.parametrize("rule", FAMILY, ids=IDS)
def test_weights_of_segments_sum_to_one_and_evidence_to_zero(rule):
    alpha, x, g, _ = case()
    ones = torch.ones(4, dtype=x.dtype)
    torch.testing.assert_close(rule.segment_weights(alpha, x, g).sum(1), ones)
    total = rule.evidence(alpha, x, g).sum(2)
    torch.testing.assert_close(total, torch.zeros_like(total))


def test_extreme_logits_stay_finite():
    x = torch.tensor([[[-200.0], [-300.0]], [[200.0], [300.0]]], dtype=torch.float32)
    alpha = torch.full((2, 2), 0.5)
    weight = torch.ones(1, requires_grad=True)

    def g(rows):
        return torch.cat([torch.zeros_like(rows), rows * weight], 1)

    for rule in (Max(), Presence(), NoisyOr()):
        loss = rule.loss(alpha, x, g, torch.tensor([0, 1]))
        assert torch.isfinite(loss).all()
        assert torch.isfinite(torch.autograd.grad(loss.sum(), weight)[0]).all()


def test_evidence_of_a_two_class_bag_is_the_signed_log_odds_of_each_segment():
    alpha, x, g, _ = case(C=2)
    logit = g(x.flatten(0, 1)).unflatten(0, x.shape[:2])[..., 1]
    for rule in (Max(), Presence(), NoisyOr()):
        alone = rule.segment_logits(alpha, x, g)
        torch.testing.assert_close(alone[..., 1] - alone[..., 0], logit)
        weights = rule.segment_weights(alpha, x, g).unsqueeze(2)
        torch.testing.assert_close(rule.evidence(alpha, x, g), weights * alone)


def test_credit_of_max_pooling_is_exact_for_two_classes():
    alpha, x, g, _ = case(C=2)
    logits = Max().logits(alpha, x, g)
    total = Max().evidence(alpha, x, g).sum(1)
    torch.testing.assert_close(total, logits - logits.mean(1, keepdim=True))


def test_credit_of_additive_attention_is_exact():
    alpha, x, g, _ = case()
    total = Additive().evidence(alpha, x, g).sum(1)
    logits = Additive().logits(alpha, x, g)
    torch.testing.assert_close(total, logits - logits.mean(1, keepdim=True))


def test_credit_of_mean_pooling_is_exact_for_a_linear_classifier():
    alpha, x, _, _ = case()
    g = built(lambda: nn.Linear(3, 4))
    logits = Mean().logits(alpha, x, g)
    total = Mean().evidence(alpha, x, g).sum(1)
    torch.testing.assert_close(total, logits - logits.mean(1, keepdim=True))


@pytest.mark.parametrize("name", [n for n, kind in PARADIGMS.items() if not kind().whole_bag])
def test_every_paradigm_has_evidence_for_every_segment_and_class(name):
    alpha, x, g, _ = case()
    rule = PARADIGMS.get(name)()
    result = rule.evidence(alpha, x, g)
    assert result.shape == (4, 5, 4)
    torch.testing.assert_close(result.sum(2), torch.zeros(4, 5, dtype=x.dtype))
    alone = rule.segment_logits(alpha, x, g)
    assert alone.shape == (4, 5, 4)
    torch.testing.assert_close(alone.sum(2), torch.zeros(4, 5, dtype=x.dtype))
    torch.testing.assert_close(WithEntropy(rule).evidence(alpha, x, g), result)
    torch.testing.assert_close(WithEntropy(rule).segment_logits(alpha, x, g), alone)


def test_evidence_of_the_published_paradigms_is_attention_times_centred_logits():
    alpha, x, g, _ = case()
    logits = g(x.flatten(0, 1)).unflatten(0, x.shape[:2])
    expected = alpha[..., None] * (logits - logits.mean(2, keepdim=True))
    for rule in (Soft(), Marginal(), Hybrid()):
        torch.testing.assert_close(rule.evidence(alpha, x, g), expected)


def test_max_points_to_the_strongest_segment():
    x = torch.tensor([[[0.0], [3.0], [1.0]]])
    alpha = torch.tensor([[0.8, 0.1, 0.1]])
    weights = Max().segment_weights(alpha, x, lambda rows: torch.cat([9 - rows, rows], 1))
    assert weights.tolist() == [[0.0, 1.0, 0.0]]
