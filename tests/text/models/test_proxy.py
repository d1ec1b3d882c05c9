"""The bag-of-words proxy: the mean of word scores, whatever the order and the padding."""

from functools import partial

import pytest
import torch

from foveate.text.loop import built
from foveate.text.models.proxy import Proxy

IDS = torch.tensor([[4, 5, 6, 4], [7, 5, 0, 0]])
MASK = IDS != 0


def proxy(d=5):
    return built(partial(Proxy, 9, 3, d), "proxy").double()


def test_scores_are_the_mean_of_word_logits():
    model = proxy()
    word = model.logits(IDS)
    expected = torch.stack([word[0].mean(0), word[1, :2].mean(0)])
    torch.testing.assert_close(model(IDS, MASK), expected, rtol=0, atol=1e-15)
    torch.testing.assert_close(model(IDS[:1]), expected[:1], rtol=0, atol=1e-15)


def test_only_the_bag_counts():
    model = proxy()
    torch.testing.assert_close(model(IDS[:, [3, 1, 0, 2]][:1]), model(IDS[:1]))


def test_the_logit_of_a_word_is_its_row_of_the_product():
    model = proxy()
    table = model.table @ model.weight.T
    torch.testing.assert_close(model.logits(torch.arange(9)), table)


@pytest.mark.parametrize("d", [64, 400])
def test_weights_begin_with_unit_length_on_average(d):
    model = proxy(d)
    squares = torch.cat([model.table, model.weight]).detach().square().sum(1)
    assert float(squares.mean()) == pytest.approx(1, abs=4 * (2 / d / len(squares)) ** 0.5)


def test_padding_gets_no_gradient():
    model = proxy()
    model(IDS, MASK).square().sum().backward()
    assert model.table.grad[0].abs().max() == 0
    assert model.table.grad[7].abs().max() > 0
