"""Evidence against plain loops over bags, each read again by the library's usual reader."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.integrate import trapezoid

from foveate.attention.maps import MAPS
from foveate.attention.paradigms import PARADIGMS
from foveate.bags.bag import Bag, pad
from foveate.bags.segments import Mosaics
from foveate.metrics.agreement import fair_agreement
from foveate.models.focus import FCAM, AttentionModel
from foveate.models.nets import pair
from foveate.training.evaluation import read
from foveate.trust import segment_evidence
from foveate.trust.class_evidence import aversion, marks_of, separation
from foveate.trust.controls import left_over, seed_agreement
from foveate.trust.error_modes import detect, estimate, reading, score
from foveate.trust.segment_evidence import SHARES, evidence_of, relative_entropy
from foveate.trust.subject import Reading, as_subject
from foveate.trust.summaries import curves_of

RULES = ("soft", "hard", "lvml", "logit")
C = 3


class Plain(AttentionModel):
    """A model that is not known to score segments one by one, so that it is asked every time."""

    def __init__(self, inside):
        super().__init__()
        self.inside = inside

    @property
    def g(self):
        return self.inside.g

    def attend(self, x, mask, z=None):
        return self.inside.attend(x, mask, z)


def model(map="softmax", seed=0, net="mlp", width=4):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        f, g, _ = pair(net, (width,), C)
    with torch.no_grad():
        for p in f.parameters():
            p.mul_(4)
    return FCAM(f, g, map).double()


@pytest.fixture
def ragged(rng):
    lengths = torch.randint(1, 8, (25,), generator=rng).tolist()
    rows = [torch.randn(k, 4, generator=rng, dtype=torch.float64) for k in lengths]
    y = torch.arange(25) % C
    return pad(rows, y)


@pytest.mark.parametrize("map", MAPS.names())
@pytest.mark.parametrize("rule", RULES)
def test_reading_again_is_reading_a_masked_bag(ragged, rule, map, rng):
    keep = (torch.rand(2, 3, *ragged.shape, generator=rng) < 0.6) & ragged.mask
    lost = ~keep.any(-1)
    keep[..., 0] |= lost  # place 0 exists in every bag
    members = [model(map, 0), model(map, 1)]
    got = as_subject(members, rule).reread([ragged], keep.numpy())
    query = as_subject([Plain(m) for m in members], rule).reread([ragged], keep.numpy())
    for i, entry in enumerate(members):
        for k in range(3):
            expected = read(entry, replace(ragged, mask=keep[i, k]), rule).log_p.exp()
            np.testing.assert_allclose(got[i, k], expected, atol=1e-12)
    np.testing.assert_allclose(got, query, atol=1e-12)


def test_reading_a_batch_equals_the_standard_reading(ragged):
    entry = model("spherical")
    seen = as_subject(entry, "lvml").read([ragged])
    usual = read(entry, ragged, "lvml")
    np.testing.assert_allclose(seen.p[0], usual.log_p.exp())
    np.testing.assert_allclose(seen.alpha[0], usual.alpha)
    np.testing.assert_allclose(seen.s[0], usual.s**2)  # what spherical attention grows with
    np.testing.assert_allclose(seen.mixed[0], read(entry, ragged, "soft").log_p.exp())
    flat = FCAM(entry.f, entry.g, "uniform")
    np.testing.assert_allclose(seen.even[0], read(flat, ragged, "lvml").log_p.exp())
    j = 2
    has = ragged.mask[:, j]
    alone = entry.g(ragged.dense()[has, j]).softmax(-1).detach()
    np.testing.assert_allclose(seen.segment_p[0][has.numpy(), j], alone)


def test_members_may_have_different_bags(ragged):
    members, other = [model(seed=0), model(seed=1)], ragged.take(torch.arange(24, -1, -1))
    both = as_subject(members, "soft").read([ragged, other])
    for i, bag in enumerate((ragged, other)):
        alone = as_subject(members[i], "soft").read([bag])
        for mine, twin in zip(both, alone, strict=True):
            np.testing.assert_allclose(mine[i], twin[0], atol=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_hidden_segments_against_loops(ragged, rule):
    entry, ragged = model(), ragged.take(slice(0, 7))
    result = evidence_of(as_subject(entry, rule), [ragged])
    for i in range(len(ragged)):
        bag = ragged.take(torch.tensor([i]))
        whole = read(entry, bag, rule)
        answer = int(whole.log_p.argmax())
        order = whole.alpha[0].argsort(descending=True).tolist()
        order = [j for j in order if bag.mask[0, j]]
        p = float(whole.log_p[0, answer].exp())
        kept_rows, removed = [], []
        for share in SHARES:
            k = max(1, int(np.ceil(round(share * len(order), 9))))
            kept_rows.append(_with(entry, bag, order[:k], rule, answer))
            gone = min(k, len(order) - 1)
            removed.append(_with(entry, bag, order[gone:], rule, answer))
        np.testing.assert_allclose(result.curves.kept[0, i], kept_rows, atol=1e-10)
        np.testing.assert_allclose(result.curves.removed[0, i], removed, atol=1e-10)
        usual = [SHARES.index(q) for q in (0.01, 0.05, 0.1, 0.2, 0.5)]
        assert result.sufficiency[0, i] == pytest.approx(p - np.mean([kept_rows[k] for k in usual]))
        falls = p - np.mean([removed[k] for k in usual])
        assert result.comprehensiveness[0, i] == pytest.approx(falls)
        area = trapezoid([p, *removed], [0, *SHARES]) / SHARES[-1]
        assert result.deletion()[0, i] == pytest.approx(area)
        area = trapezoid([*kept_rows, p], [*SHARES, 1.0]) / (1 - SHARES[0])
        assert result.insertion()[0, i] == pytest.approx(area)


def _with(entry, bag, kept_rows, rule, answer):
    mask = torch.zeros_like(bag.mask)
    mask[0, kept_rows] = True
    return float(read(entry, replace(bag, mask=mask), rule).log_p[0, answer].exp())


def test_segment_evidence_matches_plain_loops(ragged):
    entry = model()
    subject = as_subject(entry, "soft")
    result, seen = evidence_of(subject, [ragged]), subject.read([ragged])
    for i in range(len(ragged)):
        exists = np.flatnonzero(ragged.mask[i])
        alpha, each, y = seen.alpha[0, i, exists], seen.segment_p[0, i, exists], int(ragged.y[i])
        top = each[alpha.argmax()]
        assert result.top_right[0, i] == (top.argmax() == y)
        assert result.gap[0, i] == pytest.approx(np.abs(seen.mixed[0, i] - top).sum() / 2)
        np.testing.assert_allclose(result.attended[0, i], alpha @ each)
        agreed = fair_agreement(alpha, np.log(each[:, y]), np.array([0, len(exists)]))
        assert result.agreement[0, i] == pytest.approx(agreed[0])
        scores = np.sort(seen.s[0, i, exists])[::-1]
        assert result.first[0, i] == scores[0]
        assert result.last[0, i] == scores[-1]
        if len(exists) < 2:
            assert np.isnan(result.second[0, i])
            assert np.isnan(result.unattended[0, i]).all()
            continue
        assert result.second[0, i] == scores[1]
        rest = (1 - alpha) @ each / (1 - alpha).sum()
        np.testing.assert_allclose(result.unattended[0, i], rest)
        entropy = -(alpha * np.log(alpha)).sum() / np.log(len(exists))
        assert result.entropy[0, i] == pytest.approx(entropy)


def test_marks_against_loops(ragged):
    result = evidence_of(as_subject(model(), "lvml"), [ragged])
    marks = marks_of(result, C)
    y = ragged.y.numpy()
    for c in range(C):
        of = y == c
        assert marks["accuracy"][0, c] == pytest.approx(result.right[0, of].mean())
        assert marks["unattended"][0, c] == pytest.approx(np.nanmean(result.unattended[0, ~of, c]))
        wins = [
            np.sign(a - b)
            for a in result.first[0, of]
            for b in result.second[0, ~of]
            if not np.isnan(b)
        ]
        assert separation(result, 0, c) == pytest.approx(np.mean(wins))
        wins = [np.sign(b - a) for a in result.last[0, of] for b in result.last[0, ~of]]
        assert aversion(result, 0, c) == pytest.approx(np.mean(wins))
        said = (result.said_by_top[0, ~of] == c).mean()
        assert marks["falsely"][0, c] == pytest.approx(said)


def test_curves_of_many_bags_rest_on_some_of_them(ragged, monkeypatch):
    subject = as_subject(model(), "soft")
    whole = evidence_of(subject, [ragged])
    monkeypatch.setattr(segment_evidence, "CURVES", int(ragged.mask.sum()) // 2)
    some = evidence_of(subject, [ragged])
    rows = ~np.isnan(some.curves.kept).any((0, 2))
    assert 2 <= rows.sum() < len(ragged)
    np.testing.assert_allclose(some.curves.removed[:, rows], whole.curves.removed[:, rows])
    assert np.isfinite(curves_of(some)["removed_random"]).all()
    assert curves_of(some)["kept"] == pytest.approx(some.curves.kept[:, rows].mean((0, 1)))


def test_random_scores_separate_by_one_half():
    """The top of m draws lies above the second of m others with probability 3/4 or so."""
    rng = np.random.default_rng(0)
    n, m = 4000, 9
    s = np.sort(rng.normal(size=(1, n, m)), -1)
    y = np.arange(n)[None] % 2
    blank = evidence_of(as_subject(model(), "soft"), [_some_bag()])
    result = blank._replace(y=y, first=s[..., -1], second=s[..., -2])
    exact = 2 * (1 - (m - 1) / (2 * (2 * m - 1))) - 1
    assert separation(result, 0, 0) == pytest.approx(exact, abs=0.02)


def _some_bag():
    return Bag(torch.zeros(2, 2, 4, dtype=torch.float64), torch.tensor([0, 1]))


def test_the_score_is_the_formula():
    marks = {
        "separation": np.array([[1.0, 0.5, -0.2]]),
        "top": np.array([[1.0, 0.9, 0.8]]),
        "bags": np.array([[10.0, 20.0, 10.0]]),
        "accuracy": np.array([[1.0, 0.9, 0.9]]),
        "entropy": np.array([[0.1, 0.95, 0.2]]),
        "aversion": np.array([[0.0, 0.0, 0.9]]),
    }
    r = (0.9 - 1 / 3) / (2 / 3)
    assert reading(marks)[0] == pytest.approx(r)
    np.testing.assert_allclose(estimate(marks)[0], [r**0.5, 0.5 * r**0.5, 0.0])
    assert score(marks)[0] == pytest.approx(r**0.5 * (10 + 10) / 40)
    assert score(marks, absent=(2,))[0] == pytest.approx(r**0.5 * 20 / 30)
    assert detect(marks).tolist() == [[0, 0, 2]]
    low = {**marks, "separation": np.array([[0.1, 0.1, 0.1]])}
    assert detect(low).tolist() == [[1, 3, 2]]
    unsure = {**low, "accuracy": np.array([[0.5, 0.5, 0.5]])}
    assert detect(unsure).tolist() == [[0, 0, 0]]


def test_the_score_grows_with_its_parts():
    rng = np.random.default_rng(0)
    for _ in range(50):
        marks = {
            "separation": rng.uniform(-1, 1, (1, 4)),
            "top": rng.uniform(0, 0.9, (1, 4)),
            "bags": np.ones((1, 4)),
        }
        for name in ("separation", "top"):
            more = {**marks, name: marks[name] + 0.1}
            assert score(more)[0] >= score(marks)[0]
        assert 0 <= score(marks)[0] <= 1


def test_seeds_agree_as_pairs_do(ragged):
    members = [model(seed=i) for i in range(3)]
    seen = as_subject(members, "soft").read([ragged])
    same, rho = seed_agreement(seen, ragged.mask.numpy())
    tops = seen.alpha.argmax(-1)
    for i in range(3):
        others = [j for j in range(3) if j != i]
        np.testing.assert_allclose(same[i], np.mean([tops[i] == tops[j] for j in others], 0))
    assert np.nanmax(np.abs(rho)) <= 1
    one = Reading(*(part[:1] for part in seen))
    assert np.isnan(seed_agreement(one, ragged.mask.numpy())[0]).all()


def test_relative_entropy_of_uniform_attention_is_one(ragged):
    exists = ragged.mask.numpy()
    flat = exists / exists.sum(1, keepdims=True)
    result = relative_entropy(flat, exists)
    several = exists.sum(1) > 1
    np.testing.assert_allclose(result[several], 1)
    assert np.isnan(result[~several]).all()


def test_a_probe_reads_what_is_left_and_no_more(rng, monkeypatch):
    y = torch.arange(120) % 2
    x = 0.3 * torch.randn(120, 5, 3, generator=rng)
    x[:, 0, 0] += 4.0 * y
    bag = Bag(x, y)
    looks = np.zeros((2, 120, 5))
    looks[0, :, 0] = 1  # all of the evidence is attended
    looks[1, :, 4] = 1  # none of it
    result = left_over([bag], looks)
    monkeypatch.setattr("foveate.trust.controls.NUMBERS", 1)  # a bag at a time
    np.testing.assert_array_equal(left_over([bag], looks), result)
    assert result[0] < 0.65
    assert result[1] > 0.95
    words = Bag(Mosaics(torch.zeros(4, 1, dtype=torch.long), torch.zeros(6, 2).long()), y[:6])
    assert np.isnan(left_over([words], np.full((1, 6, 2), 0.5))).all()


def test_every_paradigm_that_attends_can_be_examined(ragged):
    for name, kind in PARADIGMS.items():
        if not kind().whole_bag:
            result = evidence_of(as_subject(model(), name), [ragged])
            assert np.isfinite(result.p).all()
