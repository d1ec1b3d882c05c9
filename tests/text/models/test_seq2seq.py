"""The encoder and decoder, against plain loops over positions."""

import math

import pytest
import torch
from torch import nn

from foveate.errors import FoveateError
from foveate.text.models.seq2seq import Seq2Seq, shifted
from foveate.text.tokens import START, Tokens

WORDS, D = 11, 6
KINDS = {
    "copying": {},
    "translation": {"layers": 2, "both": True, "readout": "relu"},
    "linear": {"layers": 2, "both": True, "readout": "linear"},
    "heads": {"heads": 3},
    "averaged heads": {"heads": 3, "contexts": "mean"},
    "uniform": {"both": True, "readout": "relu", "attention": "uniform"},
    "two vocabularies": {"readout": "relu", "outputs": 7},
}
SOURCE = Tokens.of([[4, 5, 6, 7, 5], [8], [9, 10, 4]])
TARGET = Tokens.of([[4, 5], [6, 4, 5, 6], [5, 6, 3]])


def build_model(seed=0, **kind):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Seq2Seq(WORDS, D, **kind).double()


@pytest.fixture(params=KINDS)
def model(request):
    return build_model(**KINDS[request.param])


def cell(layer, x, h, c):
    """One step of one layer, gate by gate, as the equations are written."""
    gates = layer.w_x @ x + layer.b_x + layer.w_h @ h + layer.b_h
    i, f, o, g = gates.split(len(h))
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def run(layer, inputs, state):
    h, c = state
    out = []
    for x in inputs:
        h, c = cell(layer, x, h, c)
        out.append(h)
    return out, (h, c)


def by_hand(model, x, y_in):
    """Encoder states, decoder states, attention and probabilities of one pair, word by word."""
    table = model.table if model.own is None else model.own
    zero = torch.zeros(D, dtype=torch.float64)
    states, ends = [model.table[i] for i in x], []
    for level in model.encoder.levels:
        forth, end = run(level.forth, states, (zero, zero))
        if level.back is not None:
            back, other = run(level.back, states[::-1], (zero, zero))
            states = [torch.cat(both) for both in zip(forth, back[::-1], strict=True)]
            end = tuple((a + b) / 2 for a, b in zip(end, other, strict=True))
        else:
            states = forth
        ends.append(end)
    words = [table[i] for i in y_in]
    for level, end in zip(model.decoder.levels, ends, strict=True):
        words, _ = run(level.forth, words, end)
    alphas, probabilities = [], []
    for s in words:
        context = torch.zeros(D, dtype=torch.float64)
        for head in model.heads:
            scores = torch.stack([head(s) @ h for h in states])
            alpha = scores.softmax(0)
            if model.attention == "uniform":
                alpha = torch.full_like(alpha, 1 / len(x))
            alphas.append(alpha)
            head_context = sum(a * model.narrow(h) for a, h in zip(alpha, states, strict=True))
            context = context + head_context
        if model.contexts == "mean":
            context = context / len(model.heads)
        probabilities.append(network(model, context, s))
    return states, words, alphas, torch.stack(probabilities)


def network(model, context, s):
    """N([c, s]), as probabilities."""
    if model.readout == "linear":
        return model.out(context + s).softmax(0)
    squash = torch.tanh if model.readout == "tanh" else torch.relu
    return model.out(squash(model.hidden(torch.cat([context, s])))).softmax(0)


def batch(rows):
    x, mask = SOURCE.padded(torch.tensor(rows))
    y, real = TARGET.padded(torch.tensor(rows))
    return x, mask, y, real


@torch.no_grad()
def test_every_pair_of_a_padded_batch_equals_the_plain_loop(model):
    x, mask, y, _ = batch([0, 1, 2])
    reading = model.read(x, shifted(y), mask)
    p = model(x, shifted(y), mask).softmax(-1)
    for b in range(3):
        L, T = len(SOURCE[b]), len(TARGET[b])
        _, s, alphas, target = by_hand(model, SOURCE[b], [START, *TARGET[b][:-1]])
        torch.testing.assert_close(p[b, :T], target)
        torch.testing.assert_close(reading.s[b, :T], torch.stack(s))
        heads = torch.stack(alphas).view(T, len(model.heads), L).transpose(0, 1)
        torch.testing.assert_close(reading.alpha[:, b, :T, :L], heads)
        assert not reading.alpha[:, b, :, L:].any()


@torch.no_grad()
def test_a_pair_gives_the_same_numbers_alone_and_in_any_batch(model):
    alone = model(*(t[:1] for t in (batch([1])[0], shifted(batch([1])[2]))))
    for rows in ([1, 0], [2, 1, 0], [0, 1, 1, 2]):
        x, mask, y, _ = batch(rows)
        # whatever stands in the padding
        x = torch.where(mask, x, 9)
        many = model(x, shifted(y), mask)[rows.index(1)]
        torch.testing.assert_close(many[: len(TARGET[1])], alone[0], rtol=0, atol=1e-14)


def test_padding_has_no_gradient():
    model = build_model(**KINDS["translation"])
    x, mask, y, real = batch([0, 1])
    x = torch.where(mask, x, 10)  # word 10 is in the padding alone
    scores = model(x, shifted(y), mask)
    scores[real].sum().backward()
    assert not model.table.grad[10].any()
    assert model.table.grad[8].any()


@torch.no_grad()
def test_evidence_is_the_output_for_a_single_state(model):
    x, mask, y, real = batch([0, 1, 2])
    reading = model.read(x, shifted(y), mask)
    target = real[:, :, None] & mask[:, None, :]
    result = model.evidence(reading, y, target).tolist()
    expected = []
    for b in range(3):
        states, words, _, _ = by_hand(model, SOURCE[b], [START, *TARGET[b][:-1]])
        for s, word in zip(words, TARGET[b], strict=True):
            for h in states:
                expected.append(math.log(network(model, model.narrow(h), s)[word]))
    assert result == pytest.approx(expected, abs=1e-12)


@torch.no_grad()
def test_evidence_in_chunks_is_evidence_at_once(monkeypatch):
    model = build_model(**KINDS["translation"])
    x, mask, y, real = batch([0, 1, 2])
    reading = model.read(x, shifted(y), mask)
    target = real[:, :, None] & mask[:, None, :]
    whole = model.evidence(reading, y, target)
    monkeypatch.setattr("foveate.text.models.seq2seq.ROWS", 3)
    torch.testing.assert_close(model.evidence(reading, y, target), whole)
    assert model.evidence(reading, y, torch.zeros_like(target)).shape == (0,)


@torch.no_grad()
def test_word_by_word_equals_the_teacher_forced_pass(model):
    x, mask, y, _ = batch([0, 1, 2])
    together = model(x, shifted(y), mask)
    at = model.steps(x, mask)
    for t, word in enumerate(shifted(y).unbind(1)):
        scores, at = model.step(word, at)
        torch.testing.assert_close(scores, together[:, t])
    # hypotheses can be taken in any order, and more than once
    rows = torch.tensor([2, 0, 2])
    scores, _ = model.step(y[rows, -1], at.take(rows))
    longer = model(x, shifted(torch.cat([y, y[:, :1]], 1)), mask)
    torch.testing.assert_close(scores, longer[rows, -1])


def test_the_published_number_of_parameters():
    with torch.random.fork_rng(devices=[]):
        model = Seq2Seq(8000, 256, layers=2, both=True, readout="relu")
    counts = {name: p.numel() for name, p in model.named_parameters()}
    assert sum(counts.values()) == 8_180_544
    assert sum(counts.values()) - counts["table"] == 6_132_544


def test_the_target_has_a_separate_vocabulary():
    model = build_model(outputs=7)
    assert model.table.shape == (WORDS, D)
    assert model.own.shape == (7, D)
    x, mask, y, _ = batch([0, 1])
    scores = model(x, shifted(y), mask)
    assert scores.shape[-1] == 7
    scores.sum().backward()
    assert model.own.grad[START].any()
    assert not model.table.grad[START].any()


def test_dropout_is_decided_by_its_generator_alone():
    model = build_model(**KINDS["translation"], dropout=0.5)
    x, mask, y, _ = batch([0, 1, 2])

    def scores(seed):
        rng = None if seed is None else torch.Generator().manual_seed(seed)
        return model(x, shifted(y), mask, rng)

    torch.testing.assert_close(scores(1), scores(1), rtol=0, atol=0)
    assert not torch.allclose(scores(1), scores(2))
    assert not torch.allclose(scores(1), scores(None))
    model.encoder.dropout = model.decoder.dropout = 0.0
    torch.testing.assert_close(scores(1), scores(None), rtol=0, atol=0)


def test_gradients_agree_with_the_plain_loop():
    model = build_model(**KINDS["translation"])
    x, mask, y, real = batch([0, 1])
    names, parameters = zip(*model.named_parameters(), strict=True)
    loss = nn.functional.cross_entropy(model(x, shifted(y), mask)[real], y[real], reduction="sum")
    fast = torch.autograd.grad(loss, parameters)
    plain = 0.0
    for b in (0, 1):
        p = by_hand(model, SOURCE[b], [START, *TARGET[b][:-1]])[3]
        plain = plain - sum(p[t, word].log() for t, word in enumerate(TARGET[b]))
    for name, ours, theirs in zip(names, fast, torch.autograd.grad(plain, parameters), strict=True):
        torch.testing.assert_close(ours, theirs, msg=lambda words, name=name: f"{name}: {words}")


def test_a_gru_model_equals_the_plain_equations():
    model = build_model(cell="gru")
    x, y_in = torch.tensor([[4, 5, 6]]), torch.tensor([[START, 7]])

    def run_gru(rnn, ids, h):
        for word in ids:
            r, z, n = (rnn.weight_ih_l0 @ model.table[word] + rnn.bias_ih_l0).chunk(3)
            hr, hz, hn = (rnn.weight_hh_l0 @ h + rnn.bias_hh_l0).chunk(3)
            r, z = torch.sigmoid(r + hr), torch.sigmoid(z + hz)
            h = (1 - z) * torch.tanh(n + r * hn) + z * h
            yield h

    states = list(run_gru(model.encoder.cell, x[0], torch.zeros(D, dtype=torch.float64)))
    decoded = list(run_gru(model.decoder.cell, y_in[0], states[-1]))
    for t, s in enumerate(decoded):
        alpha = torch.stack([model.heads[0](s) @ h for h in states]).softmax(0)
        context = sum(a * h for a, h in zip(alpha, states, strict=True))
        expected = network(model, context, s)
        torch.testing.assert_close(model(x, y_in)[0, t].softmax(0), expected)


def test_a_gru_model_rejects_several_layers_and_padding():
    with pytest.raises(FoveateError, match="one layer in one direction"):
        build_model(cell="gru", layers=2)
    mask = torch.tensor([[True, True], [True, False]])
    with pytest.raises(FoveateError, match="equal length"):
        build_model(cell="gru")(torch.full((2, 2), 4), torch.full((2, 2), 4), mask)
