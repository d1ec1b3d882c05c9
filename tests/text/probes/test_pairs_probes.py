"""Probes of translation models, against one pair and one word at a time."""

import numpy as np
import pytest
import torch
from torch import nn

from foveate.text.models.proxy import Proxy
from foveate.text.models.seq2seq import Seq2Seq, shifted
from foveate.text.probes import pairs as probes
from foveate.text.statistics.pair_tables import Tables
from foveate.text.tokens import END, START, Tokens

WORDS, D = 12, 5
SOURCE = Tokens.of([[4, 5, 6, 4], [7], [8, 9, 5], [4, 4], [6, 5, 4]])
TARGET = Tokens.of([[5, 6], [7, 8, 9, 7], [9], [10, 10, 10], [11, 4]])
KINDS = {
    "one head": {"layers": 2, "both": True, "readout": "relu"},
    "heads": {"heads": 2},
    "linear": {"both": True, "readout": "linear"},
    "two vocabularies": {"readout": "relu", "outputs": WORDS},
}


def make_model(**kind):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return Seq2Seq(WORDS, D, **kind).double()


@pytest.fixture(params=KINDS)
def model(request, monkeypatch):
    for size in ("SIZE", "INFLUENCE_BATCH"):  # several batches, some padded
        monkeypatch.setattr(probes, size, 2)
    return make_model(**KINDS[request.param])


def alone(i):
    """x, y with END, and the words before y, of one pair."""
    y = torch.tensor([[*TARGET[i], END]])
    return torch.tensor([SOURCE[i]]), y, shifted(y)


def test_end_stands_behind_every_text():
    tokens = probes.append_end(TARGET)
    assert [tokens[i] for i in range(5)] == [[*TARGET[i], END] for i in range(5)]


def test_batches_hold_every_pair_once_and_mark_what_is_real():
    seen = []
    for batch in probes.pair_batches(SOURCE, TARGET, size=2):
        seen += batch.rows.tolist()
        for b, i in enumerate(batch.rows.tolist()):
            assert batch.x[b][batch.mask[b]].tolist() == SOURCE[i]
            assert batch.y[b][batch.real[b]].tolist() == [*TARGET[i], END]
            assert int(batch.cells[b].sum()) == len(SOURCE[i]) * len(TARGET[i])
    assert sorted(seen) == [0, 1, 2, 3, 4]


@torch.no_grad()
def test_attention_of_every_pair_in_order(model):
    tables = probes.read_attention(model, SOURCE, TARGET)
    for i in range(5):
        x, _, before = alone(i)
        expected = model.read(x, before).alpha[:, 0].mean(0)[: len(TARGET[i])]
        np.testing.assert_allclose(tables[i], expected.numpy(), atol=1e-12)


@torch.no_grad()
def test_evidence_by_looking_at_one_state_alone(model):
    tables = probes.read_evidence(model, SOURCE, TARGET)
    for i in range(5):
        x, _, before = alone(i)
        reading = model.read(x, before)
        for t, word in enumerate(TARGET[i]):
            for position in range(len(SOURCE[i])):
                scores = model.logits(reading.h[0, position], reading.s[0, t])
                expected = float(scores.log_softmax(-1)[word])
                assert tables[i][t, position] == pytest.approx(expected, abs=1e-12)


@torch.no_grad()
def test_performance_counts_words_and_end(model):
    right, losses = [], []
    for i in range(5):
        x, y, before = alone(i)
        scores = model(x, before)[0].log_softmax(-1)
        right += (scores.argmax(-1) == y[0]).tolist()
        losses += (-scores[torch.arange(len(y[0])), y[0]]).tolist()
    result = probes.performance(model, SOURCE, TARGET)
    assert result.accuracy == pytest.approx(np.mean(right))
    assert result.loss == pytest.approx(np.mean(losses))


def loss_of(model, i, t, change, position):
    """The loss of word t when the embedding at one place is multiplied by 1 + change."""
    x, y, before = alone(i)
    e = model.table[x[0]].detach().clone()
    e[position] *= 1 + change
    h, last = model.encoder(torch.arange(len(e))[None], e)
    s, _ = model.decoder(before, model.table if model.own is None else model.own, first=last)
    context = model.attend(s, h, None).sum(0) @ model.narrow(h)
    scores = model.logits(context, s)[0, t]
    return float(nn.functional.cross_entropy(scores, y[0, t]))


@torch.no_grad()
def test_influence_is_the_loss_decrease_per_embedding_scale(model):
    tables = probes.influence(model, SOURCE, TARGET)
    step = 1e-5
    for i in range(5):
        for t in range(len(TARGET[i])):
            for position in range(len(SOURCE[i])):
                up, down = (loss_of(model, i, t, sign * step, position) for sign in (1, -1))
                slope = (up - down) / (2 * step)
                assert tables[i][t, position] == pytest.approx(-slope, abs=1e-7)


def test_influence_adds_up_to_the_gradient_of_the_table():
    model = make_model(readout="relu", outputs=WORDS)
    tables = probes.influence(model, SOURCE, TARGET)
    for i in (0, 3):  # with a word that occurs twice
        x, y, before = alone(i)
        loss = nn.functional.cross_entropy(model(x, before)[0, :-1], y[0, :-1], reduction="sum")
        (grad,) = torch.autograd.grad(loss, model.table)
        by_word = -(model.table.detach() * grad).sum(1)
        for word in set(SOURCE[i]):
            positions = [position for position, other in enumerate(SOURCE[i]) if other == word]
            total = tables[i][:, positions].sum()
            assert total == pytest.approx(float(by_word[word]), abs=1e-12)


def test_links_lead_to_the_largest_value_of_a_row():
    tables = Tables.of([[[1.0, 3.0, 2.0], [0.5, 0.1, 0.5]], [[7.0]]])
    assert probes.links_of(tables) == [{(1, 0), (0, 1)}, {(0, 0)}]


def test_influence_leaves_no_gradients_behind():
    model = make_model(readout="relu")
    probes.influence(model, SOURCE, TARGET)
    assert all(parameter.grad is None for parameter in model.parameters())


@torch.no_grad()
def test_the_proxy_gives_evidence_of_single_words(monkeypatch):
    monkeypatch.setattr(probes, "SIZE", 2)
    monkeypatch.setattr(probes, "CELLS", 3 * WORDS)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        proxy = Proxy(WORDS, WORDS, 4).double()
    tables = probes.proxy_evidence(proxy, SOURCE, TARGET)
    for i in range(5):
        for t, y in enumerate(TARGET[i]):
            for position, x in enumerate(SOURCE[i]):
                scores = proxy.weight @ proxy.table[x]
                expected = float(scores.log_softmax(0)[y])
                assert tables[i][t, position] == pytest.approx(expected, abs=1e-12)


def test_the_words_before_a_place_begin_with_start():
    assert shifted(torch.tensor([[5, 6, END]])).tolist() == [[START, 5, 6]]
