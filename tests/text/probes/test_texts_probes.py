"""Probes of a text classifier against one text at a time, and against finite differences."""

from functools import partial

import numpy as np
import pytest
import torch

from foveate.text.loop import built
from foveate.text.models.proxy import Proxy
from foveate.text.models.reader import Reader
from foveate.text.probes.texts import influence, probe_texts, word_evidence
from foveate.text.tokens import Tokens

TOKENS = Tokens.of([[4, 5, 6], [7], [5, 5, 4, 8, 9], [6, 4]])
Y = torch.tensor([1, 0, 0, 1])


def reader(attention="free"):
    return built(partial(Reader, 12, embedding=6, d=4, attention=attention), "probed").double()


@pytest.mark.parametrize("attention", ["free", "uniform"])
@pytest.mark.parametrize("cells", [1, 6, 100])
def test_one_pass_equals_one_text_at_a_time(attention, cells):
    model = reader(attention)
    probes = probe_texts(model, TOKENS, Y, cells)
    assert probes.start.tolist() == [0, 3, 4, 9, 11]
    for k in range(len(TOKENS)):
        with torch.no_grad():
            output = model(torch.tensor([TOKENS[k]]))
        part = slice(probes.start[k], probes.start[k + 1])
        alpha, gamma = output.alpha[0].numpy(), output.gamma[0].numpy()
        np.testing.assert_allclose(probes.alpha[part], alpha, rtol=1e-6)
        np.testing.assert_allclose(probes.gamma[part], gamma, rtol=1e-6)
        sign = 2 * int(Y[k]) - 1
        np.testing.assert_allclose(probes.beta[part], 1 / (1 + np.exp(-sign * gamma)), rtol=1e-6)
        p = 1 / (1 + np.exp(-sign * float(output.logit)))
        assert probes.logit[k] == pytest.approx(float(output.logit), rel=1e-5)
        assert probes.loss[k] == pytest.approx(-np.log(p), rel=1e-5)
        assert probes.right[k] == (p > 0.5)


@pytest.mark.parametrize("cells", [4, 100])
def test_influence_is_the_gain_as_one_embedding_grows(cells):
    """d/dε log p_y at e_l (1 + ε), by central differences at one position of one text."""
    model = reader()
    delta = influence(model, TOKENS, Y, cells)
    eps = 1e-5
    for k in range(len(TOKENS)):
        ids = torch.tensor([TOKENS[k]])
        positions = torch.arange(ids.shape[1])[None]
        for position in range(ids.shape[1]):
            gains = []
            for sign in (1, -1):
                table = model.table.detach()[ids[0]].clone()
                table[position] *= 1 + sign * eps
                with torch.no_grad():
                    logit = model(positions, None, table).logit * (2 * Y[k] - 1)
                gains.append(float(torch.nn.functional.logsigmoid(logit)))
            slope = (gains[0] - gains[1]) / (2 * eps)
            assert delta[int(TOKENS.start[k]) + position] == pytest.approx(
                slope, rel=1e-4, abs=1e-8
            )


def test_influence_leaves_the_model_alone():
    model = reader()
    influence(model, TOKENS, Y)
    assert all(p.grad is None for p in model.parameters())


def test_word_evidence_is_the_difference_of_the_two_logits():
    model = built(partial(Proxy, 5, 2, 3), "words")
    table = (model.table @ model.weight.T).detach().numpy()
    np.testing.assert_allclose(word_evidence(model), table[:, 1] - table[:, 0], rtol=1e-5)
