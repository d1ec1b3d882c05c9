"""The auditor on distributions where everything is known exactly, by enumeration."""

from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from foveate.bags.bag import Bag
from foveate.data.topic_words import sentences
from foveate.trust.auditor import audit
from foveate.trust.density_ratio import _whole_bags, folds_of, joined, log_ratios, posterior
from foveate.trust.facts import exact_interval
from foveate.trust.kinds import co_occurrence
from foveate.trust.other_labels import explain_away, matched
from foveate.trust.segment_classifiers import mixture
from foveate.trust.segment_rows import rows_of

M, SHARE = 5, 0.2
BACKGROUND = np.array([0.4, 0.3, 0.2, 0.1, 0.0, 0.0])
EVIDENCE = np.array([[0.3, 0.0, 0.0, 0.0, 0.7, 0.0], [0.0, 0.2, 0.0, 0.0, 0.0, 0.8]])
P = (1 - SHARE) * BACKGROUND + SHARE * EVIDENCE  # of a segment, by class


def true_posterior(c):
    return SHARE * EVIDENCE[c] / np.maximum(P[c], 1e-300)


def words(n, seed=0):
    """Bags of five words, one of which is evidence, from the distributions above."""
    chance = np.random.default_rng(seed)
    y = np.arange(n) % 2
    x = chance.choice(6, (n, M), p=BACKGROUND)
    z = np.arange(M) == chance.integers(M, size=n)[:, None]
    for c in (0, 1):
        x[z & (y == c)[:, None]] = chance.choice(6, (y == c).sum(), p=EVIDENCE[c])
    return sentences(torch.from_numpy(x), 6, torch.from_numpy(y), torch.from_numpy(z))


@pytest.mark.parametrize("c", [0, 1])
def test_posterior_is_bayes_rule_where_classes_share_no_evidence(c):
    with np.errstate(divide="ignore"):
        log_r = np.log(P[c]) - np.log(P[1 - c])
    expected = np.where(P[c] > 0, true_posterior(c), 0.0)
    seen = P[c] > 0
    np.testing.assert_allclose(posterior(log_r, 1.0)[seen], expected[seen], atol=1e-12)


@given(st.floats(0.05, 0.9), st.floats(0.0, 0.9), st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_posterior_never_exceeds_the_truth(probability, other, seed):
    """With the true background ratio it is a lower bound; κ = 1 is one where π_c ≥ π_other."""
    chance = np.random.default_rng(seed)
    b, f, h = chance.dirichlet(np.ones(5), 3)
    p, q = (1 - probability) * b + probability * f, (1 - other) * b + other * h
    truth = probability * f / p
    kappa = (1 - probability) / (1 - other)
    assert (posterior(np.log(p / q), kappa) <= truth + 1e-9).all()
    if probability >= other:
        assert (posterior(np.log(p / q), 1.0) <= truth + 1e-9).all()


def test_mean_of_the_inverse_ratio_is_one_regardless_of_the_mixture():
    """Why κ cannot be found from r alone: E_c[1 / r] = 1 for every mixture."""
    seen = P[0] > 0
    assert (P[0][seen] * (P[1][seen] / P[0][seen])).sum() + P[1][~seen].sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("order", "error"),
    [((4, 0, 1, 2, 3, 5), 0.05), ((3, 2, 1, 0, 4, 5), 0.05), ((0, 1, 2, 3, 4, 5), 0.12)],
)
def test_estimated_ft_of_any_model_is_near_its_ft(order, error):
    """All bags of five words of class 0, enumerated; a model looks at the first of an order.

    The last model looks at a word that is weak evidence beside words that are certain evidence.
    "At least one" does not know that there is exactly one, and the estimate is too high.
    """
    rank = np.argsort(order)
    ratio = np.where(P[1] > 0, P[0] / np.maximum(P[1], 1e-300), 1e6)
    e = posterior(np.log(np.maximum(ratio, 1e-9)), 1.0)
    ft = estimate = total = 0.0
    for bag in product(range(5), repeat=M):
        x = np.array(bag)
        b, f = BACKGROUND[x], EVIDENCE[0][x]
        each = np.array([f[j] * np.prod(np.delete(b, j)) / M for j in range(M)])
        p = each.sum()
        if p == 0:
            continue
        top = rank[x].argmin()
        cover = 1 - np.prod(1 - e[x])
        ft += each[top]
        estimate += p * e[x[top]] / cover
        total += p
    assert total == pytest.approx(1.0)
    assert estimate == pytest.approx(ft, abs=error)
    assert estimate > ft - 0.02


def test_the_audit_finds_the_exact_posterior():
    bag = words(6000)
    checked = audit([bag], 2)
    x = bag.x.index.numpy()
    for c in (0, 1):
        for word in range(6):
            of = (x == word) & (bag.y.numpy() == c)[:, None]
            if of.sum() > 100:
                r = P[c][word] / max(P[1 - c][word], 1e-3 * P[c][word])
                exact = max(0.0, 1 - checked.kappa[c] / r)
                assert checked.e[0][of].mean() == pytest.approx(exact, abs=0.06)
                assert exact <= true_posterior(c)[word] + 1e-9
    top = np.where(x >= 4, 2, x == 0).argmax(1)  # looks at words 4 and 5, else at word 0
    rows = np.arange(len(x))
    ft = np.asarray(bag.z)[rows, top].mean()
    # κ takes weak evidence, words 0 and 1, for background: the estimate errs on the low side.
    assert ft - 0.1 < checked.a[0][rows, top].mean() < ft + 0.02
    assert checked.shift == pytest.approx([1.0, 1.0], abs=0.25)


def test_no_bag_is_scored_by_a_classifier_that_saw_it():
    """Labels that mean nothing give r = 1: memorising would give more."""
    chance = torch.Generator().manual_seed(0)
    bag = Bag(torch.randn(60, 5, 3, generator=chance), torch.arange(60) % 2)
    y = bag.y.numpy()
    rows = rows_of(bag)
    log_r = log_ratios(rows, y, 2, fold=folds_of(y, None))
    probability = log_r[np.arange(len(rows.x)), y[rows.bag]]
    assert abs(probability.mean()) < 0.15


def test_groups_are_never_divided_between_folds():
    y, group = np.arange(60) % 2, np.arange(60) // 5
    fold = folds_of(y, group)
    assert all(len(set(fold[group == g])) == 1 for g in range(12))


def test_explaining_away_is_bayes_rule():
    """A segment of a bag with two labels is background, or evidence of one of them."""
    weights = np.array([1.0, 3.0, 0.5])  # background, first and second label
    e, other = (weights[k] / (weights[0] + weights[k]) for k in (1, 2))
    assert explain_away(np.array(e), np.array([other])) == pytest.approx(3.0 / weights.sum())
    assert explain_away(np.array(e), np.array([0.0])) == pytest.approx(e)


@pytest.mark.parametrize("bags", [1, 2, 5, 14])
@pytest.mark.parametrize("p", [0.05, 0.3, 0.5, 0.9])
def test_exact_intervals_have_nominal_coverage(bags, p):
    from math import comb

    held = 0.0
    for hits in range(bags + 1):
        interval = exact_interval(hits, bags)
        if interval.low <= p <= interval.high:
            held += comb(bags, hits) * p**hits * (1 - p) ** (bags - hits)
    assert held >= 0.95


def test_clusters_of_one_kind_occur_as_often_as_by_chance():
    chance = np.random.default_rng(0)
    bag = np.repeat(np.arange(200), 3)
    _, observed, expected, z = co_occurrence(chance.integers(2, size=600), bag)
    assert abs(z) < 3
    assert observed == pytest.approx(expected, abs=0.1)
    _, observed, _, z = co_occurrence(np.tile([0, 1], 200), np.repeat(np.arange(200), 2))
    assert observed == 1.0
    assert z > 10


def test_matched_bags_have_their_other_labels_equally_often():
    """Shares .8 and .2 of a label become p(l) = .5 in both classes by w = p(y) / p(y | l)."""
    y = np.repeat([0, 1], 500)
    label = np.concatenate([np.arange(500) < 100, np.arange(500) < 400])[:, None]
    bag = Bag(torch.zeros(1000, 1, 1), torch.from_numpy(y))
    rows, _ = matched(rows_of(bag), y, label, None, None)
    for c in (0, 1):
        of = y == c
        share = rows.weight[of & label[:, 0]].sum() / rows.weight[of].sum()
        assert share == pytest.approx(0.5, abs=0.01)
    assert rows.weight[(y == 1) & ~label[:, 0]] == pytest.approx(0.5 / 0.2, abs=0.1)


def small_bags(n, m=20, seed=0):
    """Bags of which one segment has 4 more in the number of its class."""
    chance = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % 2
    x = torch.randn(n, m, 10, generator=chance)
    z = torch.rand(n, m, generator=chance).argsort(1) == 0
    x[z] += 4.0 * torch.nn.functional.one_hot(y, 10)
    return Bag(x, y, z)


def test_the_mixture_sees_evidence_where_trees_see_little():
    """One of twenty segments is evidence: of 80 bags, the labels of segments are mostly noise."""
    bag = small_bags(80)
    labels, z = bag.y.numpy(), bag.z.numpy().ravel()
    rows = rows_of(bag)
    is_class = labels[rows.bag]
    relevance = {}
    for name in ("boosting", "mixture"):
        log_r = log_ratios(rows, labels, 2, fold=folds_of(labels, None), classifier=name)
        score = log_r[np.arange(len(is_class)), is_class].reshape(80, 20)
        relevance[name] = z.reshape(80, 20)[np.arange(80), score.argmax(1)].mean()
    assert relevance["mixture"] > relevance["boosting"] + 0.1
    assert relevance["mixture"] > 0.7


def test_probabilities_of_the_mixture_are_those_of_evidence():
    """EM gives about the posterior by which the segments were drawn; no class is preferred."""
    bag = small_bags(600, m=5)
    rows, z = rows_of(bag), bag.z.numpy().ravel()
    y = bag.y.numpy()[rows.bag]
    p = mixture(rows._replace(weight=np.ones(len(y))), y, rows.x)
    own = p[np.arange(len(y)), y]
    assert own[z].mean() > 0.7
    assert own[~z].mean() < 0.1
    assert own.reshape(600, 5).sum(1).mean() == pytest.approx(1.0, abs=0.15)


def test_the_mean_of_classifiers_is_calibrated_again():
    """Two scores that are right in half of the rows each doubt together what both know of all."""
    bag = small_bags(400, m=2)
    labels, rows = bag.y.numpy(), rows_of(bag)
    right = np.where(labels[rows.bag][:, None] == np.arange(2), 1.0, -1.0)
    half = (np.arange(len(right)) % 2)[:, None]
    whole = joined([4 * right * half, 4 * right * (1 - half)], rows, labels)
    assert (np.abs(whole) > 6).all()  # the bounds of r: nothing is left to doubt
    nothing = joined([np.zeros_like(right)] * 2, rows, labels)
    np.testing.assert_allclose(nothing, 0.0, atol=1e-9)


def test_the_mixture_is_trained_on_whole_bags():
    bag = np.repeat(np.arange(3000), 10)
    columns = (np.zeros((len(bag), 1)), bag % 2, np.ones(len(bag)), bag)
    drawn = _whole_bags([columns], "test")[-1]
    assert len(drawn) <= 8000
    assert (np.bincount(drawn)[np.unique(drawn)] == 10).all()


def test_the_mixture_of_constant_segments_sees_nothing():
    """Segments that are all the same tell no class: every one has the same small probability."""
    bag = Bag(torch.ones(8, 4, 3), torch.arange(8) % 2)
    rows = rows_of(bag)
    p = mixture(rows._replace(weight=np.ones(32)), bag.y.numpy()[rows.bag], rows.x)
    np.testing.assert_allclose(p, p[0, 0], atol=1e-6)
    assert (p < 0.5).all()
