"""The text classifier: its gated view, its size, and that padding never leaks."""

from functools import partial

import pytest
import torch

from foveate.randomness import generator
from foveate.text.loop import built
from foveate.text.models.reader import Reader, signed

LENGTHS = torch.tensor([5, 2, 3])


def reader(**changes):
    sizes = {"embedding": 6, "d": 4} | changes
    return built(partial(Reader, 12, **sizes), "reader").double()


def texts():
    ids = torch.randint(4, 12, (3, 5), generator=generator("texts"))
    mask = torch.arange(5) < LENGTHS[:, None]
    return ids.masked_fill(~mask, 0), mask


def test_the_papers_number_of_parameters():
    model = built(partial(Reader, 10), "size")
    beside = sum(p.numel() for name, p in model.named_parameters() if name != "table")
    assert beside == 1_274_882


def test_the_blogs_score_is_an_inner_product_with_the_state():
    model, (ids, mask) = reader(score="linear"), texts()
    h, _ = model.lstm(ids, model.table, mask)
    (layer,) = model.focus
    by_hand = (h @ layer.weight[0] + layer.bias).masked_fill(~mask, -torch.inf).softmax(1)
    torch.testing.assert_close(model(ids, mask).alpha, by_hand, rtol=0, atol=1e-14)
    trained = {n for n, p in model.train_attention_only().named_parameters() if p.requires_grad}
    assert trained == {"focus.0.weight", "focus.0.bias"}


@pytest.mark.parametrize("attention", ["free", "uniform"])
def test_a_text_gives_the_same_numbers_alone_and_in_a_batch(attention):
    model, (ids, mask) = reader(attention=attention), texts()
    together = model(ids, mask)
    for row, length in enumerate(LENGTHS.tolist()):
        alone = model(ids[row : row + 1, :length])
        for name in ("alpha", "gamma"):
            mine = getattr(together, name)[row, :length]
            torch.testing.assert_close(mine, getattr(alone, name)[0], rtol=0, atol=1e-14)
        torch.testing.assert_close(together.logit[row], alone.logit[0], rtol=0, atol=1e-14)
    assert together.alpha[~mask].abs().max() == 0
    torch.testing.assert_close(together.alpha.sum(1), torch.ones(3, dtype=torch.float64))


def test_padding_reaches_neither_the_logit_nor_a_gradient():
    model, (ids, mask) = reader(), texts()
    other = ids.masked_fill(~mask, 3)
    assert torch.equal(model(ids, mask).logit, model(other, mask).logit)
    model(ids, mask).logit.square().sum().backward()
    assert model.table.grad[0].abs().max() == 0


def test_the_logit_is_that_of_the_attended_state():
    """σ(w·Σ α_l h_l + b) read by hand equals the gated sum of what positions say."""
    model, (ids, mask) = reader(), texts()
    output = model(ids, mask)
    h, _ = model.lstm(ids, model.table, mask)
    scores = model.focus(h).squeeze(-1).masked_fill(~mask, -torch.inf)
    context = (scores.softmax(1)[..., None] * h).sum(1)
    torch.testing.assert_close(output.logit, model.out(context).squeeze(1), rtol=0, atol=1e-14)
    torch.testing.assert_close(output.logit, (output.alpha * output.gamma).sum(1))


def test_uniform_attention_is_one_over_the_length():
    model, (ids, mask) = reader(attention="uniform"), texts()
    expected = mask / LENGTHS[:, None].double()
    torch.testing.assert_close(model(ids, mask).alpha, expected)


@pytest.mark.parametrize("attention", ["free", "uniform"])
def test_training_attention_only_touches_nothing_else(attention):
    model, (ids, mask) = reader(attention=attention), texts()
    if attention == "free":
        model.train_attention_only()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(trained, 0.1)
    torch.nn.functional.softplus(-model(ids, mask).logit).sum().backward()
    optimizer.step()
    moved = {name for name, v in model.state_dict().items() if not torch.equal(v, before[name])}
    if attention == "free":
        # The last bias moves all scores alike, which softmax does not see: Adam leaves it at 0/0.
        assert {"focus.0.weight", "focus.0.bias", "focus.2.weight"} <= moved
        assert all(name.startswith("focus.") for name in moved)
    else:
        assert moved
        assert not any(name.startswith("focus.") for name in moved)


def test_one_direction_does_not_depend_on_later_words():
    model, (ids, _) = reader(both=False), texts()
    other = ids.clone()
    other[:, -1] = 11
    assert torch.equal(model(ids).gamma[:, :-1], model(other).gamma[:, :-1])
    both = reader()
    assert not torch.equal(both(ids).gamma[:, 0], both(other).gamma[:, 0])


def test_embeddings_are_initialised_from_given_vectors():
    vectors = torch.arange(72.0).view(12, 6)
    model = built(partial(Reader, 12, embedding=6, d=4, vectors=vectors), "vectors")
    assert torch.equal(model.table.detach(), vectors)
    assert model.table.data_ptr() != vectors.data_ptr()


def test_log_odds_in_favour_of_the_label():
    y = torch.tensor([1, 0])
    assert signed(torch.tensor([2.0, 3.0]), y).tolist() == [2, -3]
    assert signed(torch.tensor([[2.0, 1.0], [3.0, -1.0]]), y).tolist() == [[2, 1], [-3, 1]]
