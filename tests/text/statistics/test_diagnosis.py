"""The diagnosis: its tables by plain loops, its numbers in closed form, its verdicts."""

import json
from functools import cache, partial

import numpy as np
import pytest
import torch

from foveate.errors import FoveateError
from foveate.randomness import generator
from foveate.text.corpora import load_pairs, load_texts
from foveate.text.corpora.copying import copying, word_count
from foveate.text.loop import built
from foveate.text.models.reader import Reader
from foveate.text.models.seq2seq import Seq2Seq, shifted
from foveate.text.statistics.cooccurrence import label_targets
from foveate.text.statistics.cross_fitting import Crossing
from foveate.text.statistics.decision import START, decide
from foveate.text.statistics.diagnosis import _table_information, diagnose
from foveate.text.tokens import Tokens


def rows(x):
    return Tokens(x.flatten(), torch.arange(len(x) + 1) * x.shape[1])


def numerals(n):
    return [str(i) for i in range(n)]


@cache
def copies(kind, n=400, length=12):
    x, y = copying(kind, n, generator("copies", kind), length)
    names = numerals(word_count(kind, length) + 4)
    return diagnose(rows(x), rows(y), (names, names))


def random_pairs(n=40, words=6, seed=0):
    """Ragged pairs in which the source word 0 brings the target word 0."""
    rng = np.random.default_rng(seed)
    source = [rng.integers(words, size=rng.integers(1, 6)).tolist() for _ in range(n)]
    target = [[0 if 0 in x else 1, *rng.integers(1, 4, size=2)] for x in source]
    return Tokens.of(source), Tokens.of(target)


def oracle(crossing, order, size, kappa):
    """r of every cell of every measured pair by two tables, with plain loops."""
    n = len(crossing.source)
    fold = {m: k for k, part in enumerate(torch.arange(n).tensor_split(3)) for m in part.tolist()}
    tables = np.zeros((3, *size))
    for m in range(n):
        x, y = crossing.source[m], crossing.target[int(order[m])]
        for i in x:
            for o in y:
                tables[fold[m], i, o] += 1 / len(x)
    result = []
    for m in crossing.measured.tolist():
        x, y = crossing.source[m], crossing.target[int(order[m])]
        sides = []
        for shift in (1, 2):
            C = tables[(fold[m] + shift) % 3]
            prior = C.sum(0) / C.sum()
            trans = [[(C[i, o] + kappa * prior[o]) / (C[i].sum() + kappa) for i in x] for o in y]
            sides.append(np.array([np.array(row) / np.mean(row) for row in trans]))
        result.append(sides)
    return result


@pytest.mark.parametrize("number", [0, 3])
def test_tables_share_no_sentence_with_what_they_measure(number):
    crossing = Crossing(*random_pairs(), (6, 4), "t", smoothing=2.0)
    order = crossing.order(number)
    measured = crossing.measure(order, crossing.tables(order))
    expected = oracle(crossing, order, (6, 4), crossing.kappa)
    assert len(expected) == len(crossing.measured) == 40
    at = 0
    for m, (one, other) in enumerate(expected):
        np.testing.assert_allclose(measured.one[m], one, atol=1e-12)
        np.testing.assert_allclose(measured.other[m], other, atol=1e-12)
        for a, b in zip(one, other, strict=True):
            assert measured.information[at] == pytest.approx(np.mean((a - 1) * (b - 1)) / 2)
            assert measured.lift[at] == pytest.approx((b[a.argmax()] + a[b.argmax()]) / 2 - 1)
            at += 1
    means = [np.mean((a - 1) * (b - 1)) / 2 for a, b in expected]
    np.testing.assert_allclose(measured.by_sentence(measured.information), means, atol=1e-12)


def test_a_control_only_moves_targets():
    crossing = Crossing(*random_pairs(), (6, 4), "t")
    assert crossing.order(0).tolist() == list(range(40))
    assert sorted(crossing.order(5).tolist()) == list(range(40))
    assert crossing.order(5).tolist() != crossing.order(6).tolist()


def test_no_more_is_counted_and_measured_than_allowed():
    source, target = random_pairs(400)
    sizes = (source.lengths * target.lengths).numpy()
    crossing = Crossing(source, target, (6, 4), "t", counted=1500, measured=600)
    counted = sizes[crossing.rows.numpy()]
    assert len(set(crossing.rows.tolist())) == len(crossing.rows)
    assert 1500 - sizes.max() < counted.sum() <= 1500
    assert 600 - 3 * sizes.max() < counted[crossing.measured.numpy()].sum() <= 600


def test_information_of_a_table_by_plain_loops():
    crossing = Crossing(*random_pairs(), (6, 4), "t")
    tables = crossing.tables(crossing.order(0))
    C = [table.toarray() for table in tables]
    p_o, p_i, kappa = sum(C).sum(0) / sum(C).sum(), sum(C).sum(1) / sum(C).sum(), 0.7
    total = 0.0
    for a, b in ((0, 1), (1, 2), (2, 0)):
        for i in range(6):
            for o in range(4):
                if p_o[o] > 0:
                    rho = [
                        (C[k][i, o] + kappa * p_o[o]) / (C[k][i].sum() + kappa) / p_o[o]
                        for k in (a, b)
                    ]
                    total += p_i[i] * p_o[o] * (rho[0] - 1) * (rho[1] - 1) / 2
    assert _table_information(tables, kappa) == pytest.approx(total / 3)


def test_permutations_are_equal_everywhere():
    result = copies("permutation")
    assert result.verdict == "unlikely"
    assert (result.information, result.lift, result.z, result.without) == (0, 0, 0, 1)
    assert "all positions are equal" in result.reason
    assert result.words == ()
    assert result.summary == "Attention is unlikely to be learnt."


def test_a_mixture_of_permutations_has_a_table_but_nothing_within_a_sentence():
    result = copies("mixture")
    assert result.verdict == "unlikely"
    assert result.table == pytest.approx(0.5, abs=0.1)  # ρ is 2 within a set and 0 without
    assert (result.information, result.lift) == (0, 0)
    assert "all of them equally" in result.reason


def test_a_subset_is_learnt_from_and_by_how_much():
    """The word to copy is worth 1, others (k−1)/(n−1): the chance that they are there as well."""
    result, (k, n) = copies("subset"), (12, 18)
    other = (k - 1) / (n - 1)
    r = np.array([1, *[other] * (k - 1)])
    r /= r.mean()
    assert result.verdict == "likely"
    assert result.lift == pytest.approx(r[0] - 1, rel=0.05)
    assert result.information == pytest.approx(np.mean((r - 1) ** 2) / 2, rel=0.1)
    assert all(c.word == c.leads_to for c in result.words)
    assert result.without == 0


def test_order_is_not_seen():
    """Copied in place or by a fixed permutation, co-occurrence is the same."""
    assert copies("permutation-function").verdict == "likely"
    assert copies("permutation-function").lift == pytest.approx(copies("subset").lift, rel=0.05)


def test_a_keyword_carries_all():
    texts = load_texts("keywords", train=800)
    result = diagnose(
        texts.train, label_targets(texts.y_train), (texts.vocabulary.words, texts.classes)
    )
    assert result.verdict == "likely"
    assert (result.words[0].word, result.words[0].leads_to) == ("1", "with")
    assert result.words[0].share > 0.9
    assert result.words[0].trans == 1
    assert result.words[0].times == int(texts.y_train.sum())
    assert 0.4 < result.without < 0.6  # sentences without the keyword
    best = result.examples[0]
    assert best.target == ["with"]
    assert best.source[int(np.argmax(best.times))] == "1"


def noise(n, seed, labels=2):
    """Texts of words as frequent as in language, and labels that know nothing of them."""
    rng = np.random.default_rng(seed)
    chance = 1 / np.arange(1, 301)
    texts = [
        rng.choice(300, size=rng.integers(5, 25), p=chance / chance.sum()).tolist()
        for _ in range(n)
    ]
    return Tokens.of(texts), label_targets(torch.from_numpy(rng.integers(labels, size=n)))


@pytest.mark.parametrize("seed", range(3))
def test_frequent_words_alone_are_no_information(seed):
    result = diagnose(*noise(900, seed), (numerals(300), ["a", "b"]))
    assert result.verdict == "unlikely"
    assert abs(result.z) < 4
    assert result.without > 0.85


def test_few_sentences_cannot_tell():
    result = diagnose(*noise(40, 0), (numerals(300), ["a", "b"]))
    assert result.verdict == "may be"
    assert "too few sentences" in result.reason
    assert "more sentences" in result.advice[0]


def test_the_seed_decides_all():
    pairs = load_pairs("made-up", train=150)
    words = pairs.source_vocabulary.words, pairs.target_vocabulary.words
    one, two, other = (
        diagnose(pairs.train.source, pairs.train.target, words, seed=seed) for seed in (0, 0, 1)
    )
    assert json.dumps(one.as_json(), allow_nan=False) == json.dumps(two.as_json())
    assert one.information != other.information
    assert one.verdict == other.verdict == "likely"
    assert one.as_json()["words"][0]["word"] == one.words[0].word


def test_progress_is_reported():
    seen = []
    diagnose(*noise(40, 0), (numerals(300), ["a", "b"]), report=lambda *at: seen.append(at))
    assert seen == [(k, 20) for k in range(1, 21)]


def test_too_little_data_is_reported():
    words = (numerals(300), ["a", "b"])
    with pytest.raises(FoveateError, match="30 sentences are needed at least, got 29"):
        diagnose(*noise(29, 0), words)
    with pytest.raises(FoveateError, match="20 controls are needed at least, got 3"):
        diagnose(*noise(40, 0), words, controls=3)
    source, target = noise(40, 0)
    with pytest.raises(FoveateError, match="every source needs a target: got 40 and 39"):
        diagnose(source, target.take(torch.arange(39)), words)


@pytest.mark.parametrize(
    ("information", "z", "p", "lift", "spread", "verdict", "why"),
    [
        (1e-2, 50.0, 0.05, 0.06, 0.01, "likely", "6 %"),
        (1e-2, 50.0, 0.05, 0.059, 0.01, "may be", "seed"),
        (1e-5, 50.0, 0.05, 0.0029, 0.0, "unlikely", "noise"),
        (1e-2, 2.9, 0.05, 0.5, 0.01, "unlikely", "are equal"),
        (1e-2, 9.0, 0.1, 0.5, 0.01, "unlikely", "are equal"),
        (1e-2, 2.9, 0.05, 0.5, 0.021, "may be", "few"),
        (1.0, 99.0, 0.05, 3.5, 0.1, "likely", "3.5 times"),
    ],
)
def test_decisions_want_significance_and_size(information, z, p, lift, spread, verdict, why):
    decision = decide(information, z, p, lift, spread)
    assert decision.verdict == verdict
    assert why in decision.reason
    assert decision.advice


def test_a_table_that_is_not_flat_is_another_reason():
    assert "equally" in decide(0, 0, 1, 0, 0, table=0.5, table_z=9.0).reason
    assert "are equal" in decide(0, 0, 1, 0, 0, table=0.5, table_z=2.0).reason


@cache
def spread_at_the_start():
    """How far β varies over positions in untrained networks, relative to its mean."""

    def seq2seq(words, length, **sizes):
        model = built(partial(Seq2Seq, words, **sizes), "start", words)
        x = torch.randint(4, words, (8, length), generator=generator("start", words))
        with torch.no_grad():
            everywhere = torch.ones(8, length, length, dtype=torch.bool)
            log_beta = model.evidence(model.read(x, shifted(x)), x, everywhere)
        return log_beta.exp().view(8, length, length)

    def reader(d):
        model = built(partial(Reader, 500, d=d), "start", d)
        x = torch.randint(4, 500, (8, 40), generator=generator("start", d))
        with torch.no_grad():
            return model(x).gamma.sigmoid()

    translation = {"d": 128, "layers": 2, "both": True, "readout": "relu"}
    beta = {
        "copy": seq2seq(64, 40, d=64),
        "larger copy": seq2seq(64, 40, d=256),
        "translation": seq2seq(3000, 13, **translation),
        "small reader": reader(64),
        "reader": reader(256),
    }
    return {k: float((b.std(-1) / b.mean(-1)).mean()) for k, b in beta.items()}


def test_the_scale_of_lifts_is_that_of_random_starts():
    spread = spread_at_the_start()
    assert spread["translation"] == pytest.approx(START[0], rel=0.35)
    assert max(spread.values()) == pytest.approx(START[1], rel=0.15)
    assert all(0.9 * START[0] < s < 1.1 * START[1] for s in spread.values()), spread
    assert spread["copy"] == pytest.approx(spread["larger copy"], rel=0.1)


@pytest.mark.data
@pytest.mark.parametrize("name", ["imdb", "sst", "sms", "newsgroups"])
def test_real_texts_promise_attention(name):
    texts = load_texts(name, train=4000, validation=1, least=1)
    y = label_targets(texts.y_train)
    result = diagnose(texts.train, y, (texts.vocabulary.words, texts.classes))
    assert result.verdict == "likely"
    assert result.lift > 0.2
    shuffled = y.take(torch.randperm(len(y), generator=generator("shuffled", name)))
    control = diagnose(texts.train, shuffled, (texts.vocabulary.words, texts.classes))
    assert control.verdict != "likely"


@pytest.mark.data
def test_real_pairs_promise_attention():
    pairs = load_pairs("multi30k", unit="words", train=4000)
    words = pairs.source_vocabulary.words, pairs.target_vocabulary.words
    result = diagnose(pairs.train.source, pairs.train.target, words)
    assert result.verdict == "likely"
    assert result.lift > 2
    assert {"frau", "mann", "zwei", "drei", "hund"} & {c.leads_to for c in result.words}
