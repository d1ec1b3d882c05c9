"""Numbers of a reader on held-out texts, against loops; rationales; readers of several classes."""

import numpy as np
import pytest
import torch

from foveate.errors import FoveateError
from foveate.metrics.agreement import agreement
from foveate.text.corpora.rationales import read_rationales, token_flags
from foveate.text.loop import built
from foveate.text.models.reader import Reader, label_log_odds
from foveate.text.models.stored_reader import load_reader, save_reader
from foveate.text.probes.reading_numbers import (
    agreement_numbers,
    rationale_numbers,
    token_columns,
)
from foveate.text.probes.texts import influence, probe_texts
from foveate.text.tokens import Tokens, Vocabulary

START = np.array([0, 3, 5])
VALUES = {
    "alpha": np.array([0.7, 0.2, 0.1, 0.5, 0.5]),
    "beta": np.array([0.9, 0.1, 0.2, 0.3, 0.6]),
    "delta": np.array([0.0, 1.0, 2.0, 1.0, 3.0]),
}


def test_agreement_is_the_published_measure():
    numbers = agreement_numbers(VALUES, START)
    assert numbers["alpha, beta"]["A"] == agreement(VALUES["alpha"], VALUES["beta"], START).mean()
    assert numbers["delta, beta"]["tau"] == pytest.approx(np.mean([-1 / 3, 1]))
    assert numbers["random"] == pytest.approx(np.mean([1 / 3, 1 / 2]))


def test_rationale_scores_matches_manual_computation():
    flags = [np.array([True, False, False, True]), None]  # the text was cut after three words
    numbers = rationale_numbers(VALUES, START, flags)
    assert numbers["texts"] == 1
    assert numbers["chance"] == pytest.approx(1 / 3)
    assert numbers["mass"] == pytest.approx(0.7)
    assert numbers["alpha"] == {"auc": 1.0, "top": 1.0}
    assert numbers["delta"] == {"auc": 0.0, "top": 0.0}
    assert rationale_numbers(VALUES, START, [None, np.array([True, True])]) is None


def test_ties_count_half_in_the_area():
    numbers = rationale_numbers(VALUES, START, [None, np.array([True, False])])
    assert numbers["alpha"]["auc"] == 0.5


def test_tokens_are_rows_of_a_table():
    columns = token_columns(
        VALUES, START, list("abcde"), np.array([7, 9]), [np.eye(3)[0] > 0, None]
    )
    assert columns["row"] == [7, 7, 7, 9, 9]
    assert columns["position"] == [0, 1, 2, 0, 1]
    assert columns["word"] == list("abcde")
    assert columns["rationale"] == [1, 0, 0, None, None]
    assert columns["beta"] == VALUES["beta"].tolist()


def test_rationales_are_read_by_words(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text('text,why\n"not good, really",0 1 0\nfine,\n')
    first, second = read_rationales(path, "text", "why")
    assert first.tolist() == [False, True, True, False]
    assert second is None
    assert token_flags("don't (go)", [True, False]).tolist() == [True, False, False, False]
    path.write_text("text,why\nnot good,0 1 0\n")
    with pytest.raises(
        FoveateError, match=r"line 2, column 'why': the text has 2 words, .* 3 flags"
    ):
        read_rationales(path, "text", "why")
    path.write_text("text,why\nnot good,0 2\n")
    with pytest.raises(FoveateError, match="must be 0 or 1"):
        read_rationales(path, "text", "why")


def make_model(classes):
    return built(lambda: Reader(9, embedding=4, d=3, classes=classes).double(), "t", classes)


TEXTS, LABELS = Tokens.of([[4, 5, 6], [7], [8, 4]]), torch.tensor([0, 2, 1])


@torch.no_grad()
def test_probes_of_three_classes_are_softmax_probabilities():
    model = make_model(3)
    probes = probe_texts(model, TEXTS, LABELS)
    for n in range(3):
        ids = torch.tensor([TEXTS[n]])
        output = model(ids)
        p = output.logit.softmax(1)[0]
        expected = (output.alpha[0, :, None] * output.gamma[0]).sum(0)
        torch.testing.assert_close(output.logit[0], expected)
        assert probes.loss[n] == pytest.approx(-float(p[LABELS[n]].log()), rel=1e-5)
        assert probes.right[n] == (int(p.argmax()) == int(LABELS[n]))
        beta = output.gamma[0].softmax(1)[:, LABELS[n]].numpy()
        np.testing.assert_allclose(probes.beta[START_OF[n] : START_OF[n + 1]], beta, rtol=1e-5)


START_OF = TEXTS.start.tolist()


def test_influence_of_three_classes_is_the_gradient():
    model = make_model(3)
    delta = influence(model, TEXTS, LABELS)
    e = model.table.detach()[TEXTS.ids].requires_grad_()
    loss = 0.0
    for n in range(3):
        ids = torch.arange(START_OF[n], START_OF[n + 1])[None]
        loss = loss - model(ids, None, e).logit.log_softmax(1)[0, LABELS[n]]
    loss.backward()
    np.testing.assert_allclose(delta, -(e * e.grad).sum(1).detach().numpy(), rtol=1e-5)


def test_two_scores_and_one_logit_have_the_same_log_odds():
    logit, y = torch.linspace(-2, 3, 5), torch.tensor([0, 1, 1, 0, 1])
    two = torch.stack([torch.zeros(5), logit], 1)
    torch.testing.assert_close(label_log_odds(two, y), label_log_odds(logit, y))


@pytest.mark.parametrize("classes", [2, 3])
def test_a_stored_reader_reads_the_same(tmp_path, classes):
    vocabulary, model = Vocabulary(["a", "b", "c", "d", "e"]), make_model(classes).float()
    save_reader(tmp_path / "m.safetensors", model, vocabulary, [*"xyz"][:classes])
    stored = load_reader(tmp_path / "m.safetensors")
    ids = torch.tensor([[4, 5, 8]])
    assert torch.equal(stored.model(ids).logit, model(ids).logit)
    assert stored.vocabulary.words == vocabulary.words
    assert stored.classes == (*"xyz",)[:classes]
