"""The part of sentence pairs of the agreement experiment."""

import math

import numpy as np
import pytest
import torch

from foveate.metrics.agreement import fair_agreement, random_level
from foveate.studies.snell21.agreement import Agreement
from foveate.studies.snell21.agreement.comparison import FAIR, REPORTING, SETS, TRAINING
from foveate.studies.snell21.agreement.pairs import available_pairs, pair_part, prepared_pairs
from foveate.studies.snell21.agreement.record_values import chosen, context, number, random
from foveate.studies.snell21.agreement.translators import PairStages, proxy_loss
from foveate.text.models.proxy import Proxy
from foveate.text.probes.pairs import PairBatch, append_end
from foveate.text.statistics.cooccurrence import count_table
from foveate.text.tokens import Tokens
from foveate.text.translation import checkpoints

USE = Agreement.scales["smoke"]
COMPARED = ("alpha_uf", "delta_uf", "uf_px", "uf_trans", "alpha_alpha", "alpha_beta_other")


@pytest.fixture(scope="module")
def pairs():
    return prepared_pairs(USE, "made-up")


@pytest.fixture(scope="module")
def part(tmp_path_factory):
    folder = tmp_path_factory.mktemp("part")
    reported = []
    record = pair_part(USE, "made-up", folder / "x.safetensors", lambda *at: reported.append(at))
    return record, reported, list(folder.iterdir())


def test_the_sets_are_halves_of_validation_and_a_sample_of_training(pairs):
    choosing, reporting, training = pairs.sets
    assert (len(choosing), len(reporting), len(training)) == (6, 6, 4)
    texts = [[tuple(some.source[i]) for i in range(len(some))] for some in pairs.sets]
    assert len({*texts[0], *texts[1]}) == 12  # no pair is in both halves
    learnt = {tuple(pairs.data.train.source[i]) for i in range(len(pairs.data.train))}
    assert set(texts[2]) <= learnt
    assert not {*texts[0], *texts[1]} & learnt
    assert pairs.group.tolist() == [0] * 6 + [1] * 6 + [2] * 4
    assert len(pairs.read) == 16


def test_counts_are_those_of_the_training_pairs(pairs):
    size = len(pairs.data.source_vocabulary), len(pairs.data.target_vocabulary)
    counts = count_table(pairs.data.train.source, pairs.data.train.target, size).toarray()
    share = counts / np.maximum(counts.sum(1, keepdims=True), 1e-300)
    expected = [
        share[x, y]
        for i in range(len(pairs.read))
        for y in pairs.read.target[i]
        for x in pairs.read.source[i]
    ]
    np.testing.assert_allclose(pairs.trans, expected)


def test_the_loss_of_the_proxy_is_that_of_its_formula():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = Proxy(9, 8, 3).double()
    source, target = Tokens.of([[4, 5, 6], [7]]), Tokens.of([[5], [4, 6, 4]])
    batch = PairBatch.of(source, append_end(target), torch.tensor([0, 1]))
    losses = []
    for x, words in (([4, 5, 6], [5]), ([7], [4, 6, 4])):
        scores = sum(model.weight @ model.table[i] for i in x) / len(x)
        p = scores.softmax(0)
        losses += [-math.log(float(p[word].detach())) for word in words]
    assert float(proxy_loss(model, batch).detach()) == pytest.approx(np.mean(losses))


def test_the_proxy_is_chosen_by_its_loss_over_words(pairs, tmp_path):
    stages = PairStages(USE, pairs, tmp_path / "x", lambda *_: None)
    course = stages._proxy(0)
    half = pairs.sets[0]
    whole = PairBatch.of(half.source, append_end(half.target), torch.arange(len(half)))
    together = float(proxy_loss(course.model, whole).detach())
    assert float(course.measure(0)["loss"]) == pytest.approx(together, rel=1e-5)


def test_the_record_has_what_the_findings_read(part):
    record, reported, left = part
    T, S = len(checkpoints(USE.pair_steps)), USE.seeds
    for name in COMPARED:
        assert record.values[name].shape == (T, S, len(SETS), 3)
    for name in ("partner_accuracy", "uniform_accuracy"):
        assert record.values[name].shape == (T, S, len(SETS))
    assert record.values["partner_bleu"].shape == (T, S)
    assert np.isfinite(record.values["partner_bleu"]).all()
    assert record.final["alpha_beta"].shape == (S, len(SETS), 3)
    assert record.meta["kind"] == "pairs"
    assert reported[-1][0] == reported[-1][1]
    assert left == []  # no checkpoint is left behind
    for name in ("alpha_uf", "uf_px", "alpha_beta"):
        assert np.isfinite(number(record, name)).all()
    assert chosen(record).shape == (S,)
    assert (context(record, "alpha_uf", "partner_bleu") >= 0).all()


def test_the_random_level_is_of_target_words(part, pairs):
    record, _, _ = part
    half = pairs.sets[REPORTING]
    rows = np.repeat(half.source.lengths.numpy(), half.target.lengths.numpy())
    assert random(record)[0] == pytest.approx(random_level(rows).mean())


def test_agreement_is_the_mean_over_words_of_a_set(pairs, tmp_path):
    stages = PairStages(USE, pairs, tmp_path / "x", lambda *_: None)
    rng = np.random.default_rng(0)
    u, v = rng.random(len(pairs.trans)), rng.random(len(pairs.trans))
    result = stages.compare(u, v)[TRAINING, FAIR]
    every = fair_agreement(u, v, stages.start)
    words = int(pairs.sets[TRAINING].target.lengths.sum())
    assert result == pytest.approx(every[-words:].mean())


def test_only_sets_whose_files_are_here(monkeypatch):
    monkeypatch.delenv("FOVEATE_DATA", raising=False)
    assert available_pairs(("made-up", "hansards")) == ("made-up",)
