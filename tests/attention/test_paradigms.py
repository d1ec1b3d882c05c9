import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import oracles
from foveate.attention.likelihood import entropy, label_log_prob
from foveate.attention.maps import softmax
from foveate.attention.paradigms import (
    EM,
    PARADIGMS,
    Hard,
    Hybrid,
    LogitAverage,
    Marginal,
    Progress,
    RandomEpochs,
    SampledHard,
    Soft,
    TopMarginal,
    WithEntropy,
    WithWitness,
    Witness,
)
from foveate.bags.segments import Mosaics
from foveate.errors import FoveateError

LOOPS = {
    Soft: oracles.soft_loop,
    Hard: oracles.hard_loop,
    Marginal: oracles.marginal_loop,
    LogitAverage: oracles.logit_loop,
}
PER_BAG = [Soft, Hard, Marginal, LogitAverage]


def case(B=4, m=5, d=3, C=4, seed=0, scale=1.0):
    rng = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(*shape, generator=rng, dtype=torch.float64)

    weight, bias = draw(C, d), draw(C)

    def g(rows):
        return torch.tanh(rows) @ weight.T + bias

    return softmax(scale * draw(B, m)), draw(B, m, d), g, torch.arange(B) % C


def built(make):
    """A module with reproducible weights in double precision, the global generator left alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        return make().double()


@settings(max_examples=25)
@given(st.integers(1, 6), st.integers(2, 7), st.integers(2, 5), st.integers(0, 10**6))
def test_losses_equal_their_definitions(B, m, C, seed):
    alpha, x, g, y = case(B, m, 3, C, seed)
    for rule, loop in LOOPS.items():
        torch.testing.assert_close(rule().loss(alpha, x, g, y), loop(alpha, x, g, y))


@settings(max_examples=25)
@given(st.integers(2, 7), st.integers(0, 10**6), st.floats(0.1, 30))
def test_marginal_is_never_above_hard(m, seed, scale):
    alpha, x, g, y = case(5, m, seed=seed, scale=scale)
    assert (Marginal().loss(alpha, x, g, y) <= Hard().loss(alpha, x, g, y) + 1e-12).all()


def test_one_hot_attention_makes_all_paradigms_equal():
    alpha, x, g, y = case()
    alpha = torch.eye(5, dtype=alpha.dtype)[:4]
    losses = [rule().loss(alpha, x, g, y) for rule in PER_BAG]
    reads = [rule().log_prob(alpha, x, g) for rule in [*PER_BAG, EM, SampledHard, Hybrid]]
    for loss in losses[1:]:
        torch.testing.assert_close(loss, losses[0])
    for read in reads[1:]:
        torch.testing.assert_close(read, reads[0])


@pytest.mark.parametrize("name", [n for n, kind in PARADIGMS.items() if not kind().whole_bag])
def test_inference_gives_log_probabilities(name):
    alpha, x, g, _ = case()
    total = PARADIGMS.get(name)().log_prob(alpha, x, g).exp().sum(1)
    torch.testing.assert_close(total, torch.ones(4, dtype=x.dtype))


def test_inference_rules_are_those_of_the_paper():
    alpha, x, g, _ = case()
    top = alpha.argmax(1)
    for i in range(4):
        by_segment = torch.stack([oracles.log_prob_loop(g, x[i, j]) for j in range(5)])
        torch.testing.assert_close(Hard().log_prob(alpha, x, g)[i], by_segment[top[i]])
        mixture = (alpha[i][:, None] * by_segment.exp()).sum(0).log()
        torch.testing.assert_close(Marginal().log_prob(alpha, x, g)[i], mixture)


@pytest.mark.parametrize("rule", [Soft(), Hard(), Marginal(), LogitAverage(), EM()])
@pytest.mark.parametrize("rows", [7, 30])  # fewer than the 20 references, and more
def test_bank_with_index_equals_dense_segments(rule, rows):
    alpha, _, g, y = case()
    rng = torch.Generator().manual_seed(1)
    bank = torch.randn(rows, 3, generator=rng, dtype=torch.float64)
    index = torch.randint(rows, (4, 5), generator=rng)
    shared, dense = Mosaics(bank, index), bank[index]
    torch.testing.assert_close(rule.loss(alpha, shared, g, y), rule.loss(alpha, dense, g, y))
    torch.testing.assert_close(rule.log_prob(alpha, shared, g), rule.log_prob(alpha, dense, g))


@pytest.mark.parametrize("rule", [Soft(), Hard(), Marginal(), LogitAverage(), EM(), SampledHard()])
def test_segments_without_weight_do_not_matter(rule):
    alpha, x, g, y = case()
    padded = torch.cat([alpha, torch.zeros(4, 3, dtype=alpha.dtype)], 1).requires_grad_()
    filler = torch.full((4, 3, 3), 1e3, dtype=x.dtype)
    aux = torch.rand(4, 2, dtype=x.dtype, generator=torch.Generator().manual_seed(2))
    aux = aux if rule.draws else None
    loss = rule.loss(padded, torch.cat([x, filler], 1), g, y, aux)
    torch.testing.assert_close(loss, rule.loss(alpha, x, g, y, aux))
    assert torch.isfinite(torch.autograd.grad(loss.sum(), padded)[0]).all()


def test_marginal_stays_finite_where_probabilities_vanish():
    alpha = torch.tensor([[1.0, 0.0]], dtype=torch.float64)
    x = torch.tensor([[[-2000.0], [5.0]]], dtype=torch.float64)

    def g(rows):
        return torch.cat([rows, torch.zeros_like(rows)], 1)

    loss = Marginal().loss(alpha, x, g, torch.tensor([0]))
    torch.testing.assert_close(loss, torch.tensor([2000.0], dtype=torch.float64))


def test_em_renewed_at_every_step_has_the_marginal_gradient():
    torch_g = built(lambda: nn.Linear(3, 4))
    _, x, _, y = case()
    s = torch.randn(4, 5, generator=torch.Generator().manual_seed(4), dtype=x.dtype)
    s.requires_grad_()
    inputs = (s, *torch_g.parameters())
    em = torch.autograd.grad(EM().loss(softmax(s), x, torch_g, y).sum(), inputs)
    marginal = torch.autograd.grad(Marginal().loss(softmax(s), x, torch_g, y).sum(), inputs)
    for a, b in zip(em, marginal, strict=True):
        torch.testing.assert_close(a, b)


def test_responsibilities_are_posteriors():
    alpha, x, g, y = case()
    expected = oracles.responsibilities_loop(alpha, x, g, y)
    torch.testing.assert_close(EM().remember(alpha, x, g, y), expected)


def enumerate_samples(m):
    """Uniform numbers that make the sampler draw every pair of segments, for a given alpha."""
    return list(itertools.product(range(m), repeat=2))


def test_sampled_hard_is_unbiased_by_enumeration_and_less_noisy_than_without_control():
    m, d, C = 4, 2, 3
    rng = torch.Generator().manual_seed(5)
    s = torch.randn(1, m, generator=rng, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(C, d, generator=rng, dtype=torch.float64, requires_grad=True)
    x = torch.randn(1, m, d, generator=rng, dtype=torch.float64)
    y = torch.tensor([1])

    def g(rows):
        return rows @ weight.T

    exact = torch.autograd.grad(Hard().loss(softmax(s), x, g, y).sum(), (s, weight))
    alpha = softmax(s).detach()[0]
    middle = alpha.cumsum(0) - alpha / 2
    mean = [torch.zeros_like(s), torch.zeros_like(weight)]
    spread = plain_spread = 0.0
    for i, j in enumerate_samples(m):
        chance_of_pair = alpha[i] * alpha[j]
        u = torch.stack([middle[i], middle[j]])[None]
        loss = SampledHard().loss(softmax(s), x, g, y, u).sum()
        parts = torch.autograd.grad(loss, (s, weight))
        mean = [a + chance_of_pair * b for a, b in zip(mean, parts, strict=True)]
        spread += float(chance_of_pair * (parts[0] - exact[0]).square().sum())
        plain = score_function(s, x, g, y, (i, j))
        plain_spread += float(chance_of_pair * (plain - exact[0]).square().sum())
    for a, b in zip(mean, exact, strict=True):
        torch.testing.assert_close(a, b)
    assert spread < 0.7 * plain_spread


def score_function(s, x, g, y, pair):
    """The estimator for f without a control variate, mean of two samples."""
    log_alpha = softmax(s).log()[0]
    losses = [-g(x[:, j]).log_softmax(-1)[0, y[0]].detach() for j in pair]
    return torch.autograd.grad(
        sum(c * log_alpha[j] for c, j in zip(losses, pair, strict=True)) / 2, s
    )[0]


def test_sampled_hard_draws_by_attention():
    alpha = torch.tensor([[0.1, 0.0, 0.6, 0.3]], dtype=torch.float64).expand(20_000, -1)
    x = torch.arange(4.0, dtype=torch.float64).expand(20_000, -1)[..., None]
    u = torch.rand(20_000, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    seen = []

    def g(rows):
        seen.append(rows[:, 0])
        return torch.cat([rows, -rows], 1)

    SampledHard().loss(alpha, x, g, torch.zeros(20_000, dtype=torch.long), u)
    share = torch.bincount(torch.cat(seen).long(), minlength=4) / 40_000
    torch.testing.assert_close(share, alpha[0].float(), atol=0.01, rtol=0)
    assert share[1] == 0


@pytest.mark.parametrize("rule", [Hard, Marginal, EM])
@pytest.mark.parametrize("chunk", [1, 7, 100])
def test_chunks_change_neither_loss_nor_gradient(rule, chunk):
    alpha, x, _, y = case()
    g = built(lambda: nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 4)))
    results = []
    for size in (None, chunk):
        loss = rule(chunk=size).loss(alpha, x, g, y)
        results.append((loss, *torch.autograd.grad(loss.sum(), tuple(g.parameters()))))
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b)


def test_label_log_prob_by_loop():
    _, x, g, y = case()
    for i, j in itertools.product(range(4), range(5)):
        expected = oracles.log_prob_loop(g, x[i, j])[y[i]]
        torch.testing.assert_close(label_log_prob(x, g, y)[i, j], expected)


def test_hybrid_switches_at_the_given_epoch():
    def phases(rule, losses=(), epochs=10):
        return [type(rule.phase(Progress(e, epochs, 0, losses[:e]))) for e in range(epochs)]

    assert phases(Hybrid(switch=0.8)) == [Soft] * 8 + [Hard] * 2
    assert phases(Hybrid(switch=3)) == [Soft] * 3 + [Hard] * 7
    assert phases(Hybrid(switch=0)) == [Hard] * 10
    flat_after_three = [3.0, 2.0, 1.0] + [1.0] * 7
    assert phases(Hybrid(switch="plateau", patience=2), flat_after_three) == [Soft] * 5 + [Hard] * 5
    with pytest.raises(FoveateError, match="plateau"):
        Hybrid(switch="plato")


def test_random_epochs_are_a_fair_coin_seeded_by_seed_and_epoch():
    rule = RandomEpochs()
    draws = [
        [isinstance(rule.phase(Progress(e, 50, s)), Hard) for e in range(50)] for s in range(40)
    ]
    share = torch.tensor(draws, dtype=torch.float64)
    assert abs(float(share.mean()) - 0.5) < 0.05
    assert len({tuple(row) for row in draws}) == 40
    again = [isinstance(rule.phase(Progress(e, 50, 7)), Hard) for e in range(50)]
    assert again == draws[7]


def test_entropy_regulariser_is_added_in_nats():
    alpha, x, g, y = case()
    expected = Soft().loss(alpha, x, g, y) - 0.3 * (alpha * alpha.log()).sum(1)
    torch.testing.assert_close(WithEntropy(Soft(), 0.3).loss(alpha, x, g, y), expected)
    assert entropy(torch.tensor([[1.0, 0.0]])).tolist() == [0.0]
    hybrid = WithEntropy(Hybrid(), 0.3)
    assert hybrid.phase(Progress(9, 10)) == WithEntropy(Hard(), 0.3)
    assert hybrid.fresh_optimizer


def test_classifier_calls_per_bag():
    calls = {name: PARADIGMS.get(name)().calls(20) for name in PARADIGMS.names()}
    assert calls["soft"] == 1
    assert calls["hard"] == calls["lvml"] == calls["logit"] == 20
    assert calls["em"] == 40
    assert calls["hard-sampled"] == 2


def test_top_marginal_predicts_uniformly_for_other_segments():
    alpha, x, g, y = case()
    for top in (1, 3, 5):
        log_p = torch.stack([torch.stack([oracles.log_prob_loop(g, s) for s in bag]) for bag in x])
        for i in range(4):
            order = sorted(range(5), key=lambda j: -float(alpha[i, j]))[:top]
            expected_p = sum(alpha[i, j] * log_p[i, j].exp() for j in order)
            rest = 1 - sum(alpha[i, j] for j in order)
            expected = (expected_p + rest / log_p.shape[2]).log()
            torch.testing.assert_close(TopMarginal(top).log_prob(alpha, x, g)[i], expected)
    all_segments = TopMarginal(9).loss(alpha, x, g, y)
    torch.testing.assert_close(all_segments, Marginal().loss(alpha, x, g, y))
    assert TopMarginal(3).calls(20) == 3
    assert TopMarginal(3).calls(2) == 2


def test_witness_term_is_the_log_probability_of_the_drawn_segment():
    alpha, x, g, y = case()
    positions = torch.tensor([[0], [4], [2], [2]])
    query = WithWitness(Soft(), 0.7).loss(alpha, x, g, y, positions)
    expected_p = [oracles.log_prob_loop(g, x[i, positions[i, 0]])[y[i]] for i in range(4)]
    torch.testing.assert_close(query, Soft().loss(alpha, x, g, y) - 0.7 * torch.stack(expected_p))
    torch.testing.assert_close(
        WithWitness(Soft()).loss(alpha, x, g, y), Soft().loss(alpha, x, g, y)
    )
    assert WithWitness(Soft()).objective() == Soft()
    for inside in (EM(), WithWitness(Soft())):
        with pytest.raises(FoveateError, match=f"WithWitness cannot wrap {type(inside).__name__}"):
            WithWitness(inside)


def test_several_witnesses_are_averaged():
    alpha, x, g, y = case()
    positions = torch.tensor([[0, 1, 1], [4, 0, 2], [2, 3, 4], [2, 2, 2]])
    rule = WithWitness(Soft(), 0.7, 3)
    expected_p = [
        sum(oracles.log_prob_loop(g, x[i, j])[y[i]] for j in positions[i].tolist()) / 3
        for i in range(4)
    ]
    expected = Soft().loss(alpha, x, g, y) - 0.7 * torch.stack(expected_p)
    torch.testing.assert_close(rule.loss(alpha, x, g, y, positions), expected)
    assert rule.picks == 3
    assert rule.calls(20) == 4


def test_the_witness_paradigm_costs_at_most_four_calls_however_long_the_bag():
    rule = Witness()
    first, second = (rule.phase(Progress(epoch, 100)) for epoch in (0, 99))
    assert (first, second) == rule.phases
    assert [first.calls(m) for m in (5, 1000)] == [4, 4]
    assert [second.calls(m) for m in (2, 5, 1000)] == [2, 3, 3]
    assert rule.fresh_optimizer
    assert rule.objective() == TopMarginal()
