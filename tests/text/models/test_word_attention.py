"""Word attention against plain loops and against the rates of the paper."""

import math

import pytest
import torch
from torch import Tensor

from foveate.attention.paradigms import Soft
from foveate.bags.segments import Mosaics
from foveate.data.topic_words import sentences, topic_words
from foveate.errors import FoveateError
from foveate.text.models.word_attention import HIDDEN, FixedLinear, WordAttention, classifier

WORDS, TOPICS = 11, 3


def model(kind: str = "tc", seed: int = 0, **how) -> WordAttention:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        build_model = WordAttention(
            WORDS, classifier(kind, 10, TOPICS), embedding_sd=0.7, **how
        ).double()
        with torch.no_grad():
            build_model.keys += torch.randn(build_model.keys.shape, dtype=torch.float64)
    return build_model


def text(rng: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    index = torch.randint(WORDS, (6, 5), generator=rng)
    mask = torch.arange(5) < torch.tensor([5, 1, 3, 4, 5, 2])[:, None]
    return index, mask, torch.randint(TOPICS, (6,), generator=rng)


def loss(build_model: WordAttention, x, y: Tensor, mask: Tensor | None) -> Tensor:
    focus = build_model.attend(x, mask)
    return Soft().loss(focus.alpha, focus.h, build_model.g, y)


def by_hand(build_model: WordAttention, words: list[int], y: int) -> float:
    """The loss of one sentence, a number at a time."""
    q = build_model.query.tolist()
    e = [
        math.exp(sum(a * b for a, b in zip(q, build_model.keys[w].tolist(), strict=True)))
        for w in words
    ]
    context = [
        sum(e[j] * build_model.embeddings[w, k].item() for j, w in enumerate(words)) / sum(e)
        for k in range(10)
    ]
    x = context
    for layer in build_model.g:
        if isinstance(layer, torch.nn.ReLU):
            x = [max(0.0, v) for v in x]
            continue
        bias = getattr(layer, "bias", None)
        x = [
            sum(w * v for w, v in zip(row.tolist(), x, strict=True))
            + (0.0 if bias is None else bias[i].item())
            for i, row in enumerate(layer.weight)
        ]
    return math.log(sum(math.exp(v) for v in x)) - x[y]


@pytest.mark.parametrize("kind", ["fc", "tc", "tl"])
def test_the_model_is_its_plain_loop_twin(kind: str, rng: torch.Generator) -> None:
    build_model, (index, mask, y) = model(kind), text(rng)
    expected = [
        by_hand(build_model, row[keep].tolist(), int(label))
        for row, keep, label in zip(index, mask, y, strict=True)
    ]
    got = loss(build_model, index, y, mask)
    torch.testing.assert_close(got, torch.tensor(expected, dtype=torch.float64))


def test_ids_and_an_index_into_the_vocabulary_read_alike(rng: torch.Generator) -> None:
    build_model, (index, mask, y) = model(), text(rng)
    plain = loss(build_model, index, y, mask)
    for bank in (torch.arange(WORDS), torch.arange(WORDS).double()):  # a pile makes floats of ids
        torch.testing.assert_close(loss(build_model, Mosaics(bank, index), y, mask), plain)


def test_padding_never_leaks(rng: torch.Generator) -> None:
    build_model, (index, mask, y) = model(frozen=()), text(rng)
    index = index % (WORDS - 1)
    padded = torch.where(mask, index, WORDS - 1)
    with torch.no_grad():
        build_model.embeddings[WORDS - 1], build_model.keys[WORDS - 1] = 1e6, 1e3
    torch.testing.assert_close(
        loss(build_model, padded, y, mask), loss(build_model, index, y, mask)
    )
    loss(build_model, padded, y, mask).sum().backward()
    assert (build_model.embeddings.grad[WORDS - 1] == 0).all()
    assert (build_model.keys.grad[WORDS - 1] == 0).all()
    assert (build_model.embeddings.grad[:-1] != 0).any()


@pytest.mark.parametrize("kind", ["fc", "tc", "tl"])
def test_gradients_are_the_rates_of_the_identity(kind: str) -> None:
    """dν_t = E[a_t h] and ds_t = ‖q‖² E[a_t (ν_t − ν̄)ᵀ h], with h = −∂ℓ/∂ν̄. [lu21] Sec. 4"""
    bag = topic_words("train", n=40, m=3, topics=TOPICS, per_topic=1, others=8)
    build_model = model(kind)
    focus = build_model.attend(bag.x, None)
    context = torch.einsum("bm,bmd->bd", focus.alpha, build_model.embeddings[bag.x.index]).detach()
    context.requires_grad_()
    log_p = build_model.g(context).log_softmax(-1)
    h = -torch.autograd.grad(-log_p[torch.arange(40), bag.y].sum(), context)[0]
    mean = loss(build_model, bag.x, bag.y, None).mean()
    d_nu, d_key = (
        -g for g in torch.autograd.grad(mean, [build_model.embeddings, build_model.keys])
    )
    q, nu = build_model.query, build_model.embeddings
    for t in range(TOPICS):
        a_t = (focus.alpha * (bag.x.index == t)).sum(1)
        torch.testing.assert_close(d_nu[t], (a_t[:, None] * h).mean(0))
        pull = ((nu[t] - context) * h).sum(1)
        torch.testing.assert_close(d_key[t] @ q, q @ q * (a_t * pull).mean())


def test_what_is_frozen_is_no_parameter() -> None:
    usual = {name for name, _ in model().named_parameters()}
    assert usual == {"keys", "embeddings", "g.0.weight"}  # and no bias
    assert {n for n, _ in model("fc", frozen=("query", "keys")).named_parameters()} == {
        "embeddings"
    }
    assert "query" in dict(model("fc", frozen=()).named_parameters())
    with pytest.raises(FoveateError, match="keys, embeddings, query, got 'kies'"):
        model(frozen=("kies",))


def test_the_fixed_classifier_is_normal_with_a_diagonal_of_ones() -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        weight = FixedLinear(200, 50).weight
    assert (weight.diagonal() == 1).all()
    off = weight[~torch.eye(50, 200, dtype=torch.bool)]
    assert off.mean().abs() < 0.05
    assert off.std() == pytest.approx(1, abs=0.03)


def test_the_start_is_the_published_one() -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        build_model = WordAttention(5000, classifier("tl", 10, 4), key=2000).requires_grad_(False)
    assert (build_model.keys == 0).all()
    assert build_model.embeddings.std() == pytest.approx(1e-6, rel=0.02)
    assert build_model.query.std() == pytest.approx(0.3, rel=0.05)
    assert [getattr(layer, "out_features", None) for layer in build_model.g] == [HIDDEN, None, 4]


def test_an_unknown_classifier_is_named() -> None:
    with pytest.raises(FoveateError, match="fc, tc or tl, got 'mlp'"):
        classifier("mlp", 10, 4)


def test_sentences_are_bags_over_a_vocabulary() -> None:
    bag = sentences(torch.tensor([[1, 2], [0, 1]]), 3, torch.tensor([0, 1]))
    assert bag.dense().tolist() == [[1, 2], [0, 1]]
