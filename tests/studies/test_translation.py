"""The translation experiment: training, optimal attention, alignment error, the finding."""

import math
import os
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from foveate.charts.render import to_svg
from foveate.errors import FoveateError
from foveate.jobs.experiment import findings_of, of_run, start_experiment
from foveate.records.record import Record
from foveate.studies.snell21.translation import Translation, alignment
from foveate.studies.snell21.translation.findings import findings, over_pairs, random_of
from foveate.studies.snell21.translation.optimum import WORDS, solved
from foveate.text.corpora import Links, Pairs, load_pairs
from foveate.text.models.seq2seq import shifted
from foveate.text.probes.pairs import PairBatch, append_end
from foveate.text.statistics.pair_tables import Tables
from foveate.text.tokens import END, Tokens
from foveate.text.translation import (
    PairStream,
    Translator,
    example_pair,
    joined,
    translated_bleu,
    translation_loss,
    translator,
)

SMALL = Translator(d=6, layers=1, batch=4)


@pytest.fixture(scope="module")
def data():
    return load_pairs("made-up", train=50)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return start_experiment("translation", "smoke", out=tmp_path_factory.mktemp("run") / "smoke")


def pairs_of(*lengths):
    source, target = (
        [[4 + i for i in range(n)] for n in side] for side in zip(*lengths, strict=True)
    )
    return Pairs(Tokens.of(source), Tokens.of(target))


# training


def test_an_epoch_has_every_pair_once_and_the_step_alone_decides_it(data):
    stream = PairStream(data.train, 8, "test", 0)
    first = [stream.at(step).rows for step in range(1, stream.epochs.per_epoch + 1)]
    assert torch.cat(first).sort().values.tolist() == list(range(50))
    again = PairStream(data.train, 8, "test", 0)
    late = again.at(stream.epochs.per_epoch + 3).rows
    assert torch.equal(again.at(2).rows, first[1])
    assert torch.equal(stream.at(stream.epochs.per_epoch + 3).rows, late)
    assert not torch.equal(PairStream(data.train, 8, "test", 1).at(1).rows, first[0])


@torch.no_grad()
def test_the_loss_is_the_mean_over_words_and_end(data):
    model = translator(data, SMALL, "test").double()
    rows = torch.tensor([0, 3, 7])
    batch = PairBatch.of(data.train.source, append_end(data.train.target), rows)
    losses = []
    for i in rows.tolist():
        y = torch.tensor([[*data.train.target[i], END]])
        log_p = model(torch.tensor([data.train.source[i]]), shifted(y))[0].log_softmax(-1)
        losses += [-float(log_p[t, word]) for t, word in enumerate(y[0].tolist())]
    assert float(translation_loss(model, batch, None)) == pytest.approx(np.mean(losses))


def test_words_are_shared_where_the_vocabulary_is(data):
    result = translator(data, SMALL, "test")
    assert result.own.shape[0] == len(data.target_vocabulary)
    shared = replace(data, target_vocabulary=data.source_vocabulary)
    assert translator(shared, SMALL, "test").own is None


def test_weights_are_decided_by_name(data):
    one, same, other = (translator(data, SMALL, "test", k) for k in (0, 0, 1))
    assert torch.equal(one.table, same.table)
    assert not torch.equal(one.table, other.table)
    assert translator(data, SMALL.uniform(), "test", 0).attention == "uniform"


def test_concatenated_pairs(data):
    both = joined(data.validation, data.train)
    assert len(both) == 550
    assert both.source[500] == data.train.source[0]
    assert both.target[499] == data.validation.target[499]


def test_the_pair_that_is_shown_is_of_middling_length():
    assert example_pair(pairs_of((3, 8), (8, 20), (9, 10), (8, 8))) == 2
    assert example_pair(pairs_of((3, 3), (30, 30))) == 0


def test_bleu_of_a_model_that_generates_the_reference(data, monkeypatch):
    pairs = data.validation.take(torch.arange(20))
    right = [pairs.target[i] for i in range(20)]
    path = "foveate.text.translation.translate"
    monkeypatch.setattr(path, lambda *_, **__: right)
    vocabulary = data.target_vocabulary
    assert translated_bleu(None, pairs, vocabulary, width=1, most=9) == pytest.approx(100)
    monkeypatch.setattr(path, lambda *_, **__: right[::-1])
    assert translated_bleu(None, pairs, vocabulary, width=1, most=9) < 30


# optimal attention


def test_optimal_attention_of_a_model_is_no_worse_than_any_other(data):
    model = translator(data, Translator(d=6, layers=1, readout="linear"), "test")
    with torch.no_grad():  # far from uniform
        for parameter in model.parameters():
            parameter.mul_(3)
    pairs = data.validation.take(torch.tensor([4, 9]))
    result = solved(model, pairs)
    words = int(pairs.target.lengths.sum())
    assert all(result[name].shape == (words,) for name in WORDS)
    assert result["gap"].max() <= 1e-6
    assert (
        result["loss_opt"] <= np.minimum(result["loss_alpha"], result["loss_uniform"]) + 1e-4
    ).all()
    assert (result["loss_opt"] < result["loss_alpha"] - 0.01).any()
    row = 0
    rng = np.random.default_rng(0)
    for i in range(2):
        x, y = torch.tensor([pairs.source[i]]), torch.tensor([pairs.target[i]])
        with torch.no_grad():
            reading = model.read(x, shifted(y))
            plain = nn.functional.cross_entropy(model(x, shifted(y))[0], y[0], reduction="none")
        np.testing.assert_allclose(result["loss_alpha"][row : row + len(plain)], plain, atol=1e-5)
        for t, word in enumerate(y[0].tolist()):
            weights = torch.from_numpy(rng.dirichlet(np.ones(x.shape[1]), 200)).float()
            with torch.no_grad():
                scores = model.logits(weights @ reading.h[0], reading.s[0, t].expand(200, -1))
            tried = -scores.log_softmax(-1)[:, word]
            assert float(tried.min()) >= result["loss_opt"][row] - 1e-4
            row += 1


def test_the_example_has_the_tables_of_the_pair_that_is_shown(data):
    model = translator(data, Translator(d=6, layers=1, readout="linear"), "test")
    pairs = data.validation.take(torch.arange(6))
    result, number = solved(model, pairs), example_pair(pairs)
    cells = len(pairs.source[number]) * len(pairs.target[number])
    alpha = result["example_alpha"].reshape(-1, len(pairs.source[number]))
    assert result["example_opt"].shape == result["example_beta"].shape == (cells,)
    np.testing.assert_allclose(alpha.sum(1), 1, atol=1e-5)
    assert (result["example_beta"] < 0).all()


# alignment


def test_scores_of_links_that_were_found():
    links = Links.of([[(0, 0), (1, 1)], [(0, 0)]], [[(2, 1)], []])
    scored = alignment.ScoredLinks(
        Pairs(Tokens.of([[4, 5, 6], [4]]), Tokens.of([[4, 5], [4]]), links)
    )
    # found 3 links: 2 sure, 1 possible of 3 sure
    aer, precision, recall = scored([{(0, 0), (2, 1)}, {(0, 0)}])
    assert precision == 1
    assert recall == pytest.approx(2 / 3)
    assert aer == pytest.approx(1 - (2 + 3) / (3 + 3))


def test_without_known_links_nothing_is_scored():
    with pytest.raises(FoveateError, match="links are known"):
        alignment.ScoredLinks(pairs_of((3, 3)))


def test_the_diagonal_is_the_identity_for_equal_lengths():
    assert alignment.diagonal(pairs_of((5, 5)))[0] == {(k, k) for k in range(5)}
    assert alignment.diagonal(pairs_of((6, 3)))[0] == {(1, 0), (3, 1), (5, 2)}


def test_aligners_of_both_kinds_read_the_same_pairs():
    settings = Translation.scales["smoke"]
    data, train, scored = alignment.to_align(settings, "made-up")
    assert len(train) == settings.align_train
    assert len(scored.pairs) == settings.scored
    assert scored.sure[0] == {(int(i), int(j)) for pair, i, j in data.test.links.sure if pair == 0}


def test_ibm1_finds_the_hidden_dictionary():
    settings = Translation.scales["smoke"].model_copy(update={"align_train": 2000, "scored": 100})
    data, train, scored = alignment.to_align(settings, "made-up")
    size = len(data.source_vocabulary), len(data.target_vocabulary)
    scores = alignment._ibm1(train, scored, size)
    assert scores.shape == (len(alignment.ITERATIONS), 3)
    assert scores[-1, 2] > 0.9  # recall of sure links
    assert scores[-1, 0] < scored(alignment.diagonal(scored.pairs))[0]


# findings


def synthetic(agreed, gap=1e-7, pairs=40, untrained=0.0):
    """Records whose words agree as given; ten words on each side of every pair."""
    words = 10 * pairs
    rng = np.random.default_rng(0)
    hits = (rng.random((2, 1, words)) < agreed).astype(float)
    hits[0] = untrained
    flat = np.ones((2, 1, words))
    values = {"opt_beta": hits, "opt_alpha": 0.5 * flat, "alpha_beta": 0.5 * flat}
    values |= {
        "loss_uniform": 3 * flat,
        "loss_alpha": 2 * flat,
        "loss_opt": flat,
        "gap": gap * flat,
    }
    values |= {name: np.full((2, 1), 9.0) for name in ("accuracy", "loss", "bleu")}
    meta = {"data": "made-up", "lengths": [[10, 10]] * pairs}
    linear = Record(np.array([0, 5]), values, {}, meta)
    return {"readout-linear": linear, "readout-relu": linear}


@pytest.mark.parametrize(
    ("agreed", "untrained", "gap", "verdict"),
    [
        (0.6, 0.2, 1e-7, "holds"),
        (0.9, 1.0, 1e-7, "holds in part"),  # above the random level, below untrained models
        (0.1, 1.0, 1e-7, "contradicted"),
        (0.6, 0.2, 0.01, "holds in part"),
    ],
)
def test_the_verdict_follows_from_the_record(agreed, untrained, gap, verdict):
    records = synthetic(agreed, gap, untrained=untrained)
    (finding,) = findings(Translation.scales["small"], records)
    assert finding.claim == "snell21:C15"
    assert finding.verdict == verdict
    assert finding.low <= finding.effect <= finding.high
    assert finding.effect == pytest.approx(agreed - untrained, abs=0.05)
    assert "random 0.100" in finding.summary
    assert "states of 128" in finding.deviation


def test_one_uncertain_word_spoils_the_certificate():
    records = synthetic(0.6)
    records["readout-linear"].values["gap"][-1, 0, 7] = 0.002
    (finding,) = findings(Translation.scales["small"], records)
    assert finding.verdict == "holds in part"
    assert finding.summary.startswith("3 conditions: 2 met, 1 missed.")
    assert "2.0e-03 nats" in finding.summary


def test_the_random_level_counts_words_not_pairs():
    record = Record(np.array([0]), {}, {}, {"lengths": [[10, 3], [40, 1]]})
    assert random_of(record) == pytest.approx((3 * 0.1 + 2 / 40) / 4)


def test_intervals_draw_whole_pairs():
    # within a pair all words agree: the interval is that of pairs, wider than that of words
    values, words = np.repeat([1.0, 0.0] * 10, 50), np.full(20, 50)
    mean, low, high = over_pairs(values, words)
    assert mean == 0.5
    assert high - low == pytest.approx(2 * 1.96 * math.sqrt(0.25 / 20), rel=0.15)
    alone = over_pairs(np.array([1.0, 0.0]), np.array([2]))
    assert alone == (0.5, None, None)


# the whole


def test_smoke_serves_its_claim_and_draws(run):
    (result,) = findings_of(run)
    experiment, settings = of_run(run)
    records = run.records()
    assert result.claim in experiment.criteria
    charts = experiment.figures(settings, records)
    assert result.figure in charts
    assert set(charts) == {"optimum", "example", "readouts", "alignment", "matrices"}
    charts["optimum"].to_dict()  # validates against the schema
    for chart in charts.values():
        assert to_svg(chart).startswith("<svg")


def test_what_is_recorded_of_a_smoke_run(run):
    records = run.records()
    linear, align = records["readout-linear"], records["align-made-up"]
    assert np.isnan(linear.values["bleu"][:-1]).all()
    assert np.isfinite(linear.last("bleu")).all()
    assert (linear.values["loss_opt"] <= linear.values["loss_alpha"] + 1e-4).all()
    assert align.t.tolist() == [0, 12]
    assert align.values["attention"].shape == (2, 2, 3)
    aer, precision, recall = align.last("attention").T
    # all links of the made-up pair are sure, so AER is 1 - F1
    np.testing.assert_allclose(aer, 1 - 2 * precision * recall / (precision + recall))
    assert np.isnan(align.values["influence"][0]).all()
    assert np.isfinite(align.last("influence")).all()
    example = align.last("example")[0].reshape(len(align.meta["target"]), -1)
    assert example.shape[1] == len(align.meta["source"])
    np.testing.assert_allclose(example.sum(1), 1, atol=1e-5)


def test_links_follow_the_largest_value():
    tables = Tables.of([np.eye(3)])
    assert alignment.links_of(tables) == [{(0, 0), (1, 1), (2, 2)}]


@pytest.mark.data
@pytest.mark.skipif("FOVEATE_DATA" not in os.environ, reason="needs FOVEATE_DATA")
def test_hansards_are_read_whole_and_scored_by_hand_made_links():
    settings = Translation.scales["small"]
    data, train, scored = alignment.to_align(settings, "hansards")
    assert len(train) == 2383 + 37 + 447
    assert len(scored.pairs) == settings.scored
    assert sum(map(len, scored.sure)) > 500
    assert data.about
