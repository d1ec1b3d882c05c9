"""Greedy and beam search, against enumeration of all translations."""

from itertools import product

import pytest
import torch

from foveate.errors import FoveateError
from foveate.text.models.decoding import beam_search, greedy, translate
from foveate.text.models.seq2seq import Seq2Seq, shifted
from foveate.text.tokens import END, PAD, START, Tokens

WORDS, MOST = 6, 4
SOURCE = Tokens.of([[4, 5, 4], [5], [1, 4], [4, 4, 4, 5]])
SAYABLE = [word for word in range(WORDS) if word not in (PAD, START)]
WITHOUT_END = [word for word in SAYABLE if word != END]


def build_model(seed, scale=4.0):
    """A small model with large weights, so that its choices differ."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Seq2Seq(WORDS, 4, both=True, readout="relu").double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(scale)
    return model


@torch.no_grad()
def log_prob(model, x, texts):
    """Logarithm of the probability of texts of equal length."""
    y = torch.tensor(texts)
    scores = model(torch.tensor([x]).expand(len(y), -1), shifted(y)).log_softmax(-1)
    return scores.gather(2, y[..., None]).sum((1, 2)).tolist()


def sequences():
    """All translations of at most MOST words, by length: ended by END, or cut."""
    for T in range(1, MOST + 1):
        yield [[*words, END] for words in product(WITHOUT_END, repeat=T - 1)]
    yield [[*words] for words in product(WITHOUT_END, repeat=MOST)]


def best(model, x, by_length):
    result = [
        (score / (len(words) if by_length else 1), score, words)
        for texts in sequences()
        for words, score in zip(texts, log_prob(model, x, texts), strict=True)
    ]
    _, score, words = max(result)
    return [w for w in words if w != END], score


@pytest.mark.parametrize("by_length", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_a_wide_beam_finds_the_best_of_all_translations(seed, by_length):
    model = build_model(seed)
    x, mask = SOURCE.padded(torch.arange(len(SOURCE)))
    decoded = beam_search(
        model, x, mask, most=MOST, width=len(SAYABLE) ** MOST, by_length=by_length
    )
    for b, (words, score) in enumerate(zip(decoded.words, decoded.log_prob.tolist(), strict=True)):
        expected, reached = best(model, SOURCE[b], by_length)
        assert words == expected
        assert score == pytest.approx(reached, abs=1e-9)


@pytest.mark.parametrize("by_length", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_a_beam_of_one_is_greedy(seed, by_length):
    model = build_model(seed)
    x, mask = SOURCE.padded(torch.arange(len(SOURCE)))
    plain = greedy(model, x, mask, most=8)
    beam = beam_search(model, x, mask, most=8, width=1, by_length=by_length)
    assert beam.words == plain.words
    torch.testing.assert_close(beam.log_prob, plain.log_prob)


@torch.no_grad()
@pytest.mark.parametrize("seed", range(5))
def test_greedy_takes_the_top_word_of_the_teacher_forced_pass(seed):
    model = build_model(seed)
    for b in range(len(SOURCE)):
        x, words = torch.tensor([SOURCE[b]]), []
        for _ in range(6):
            scores = model(x, torch.tensor([[START, *words]]))[0, -1]
            word = max(SAYABLE, key=lambda w: float(scores[w]))
            words.append(word)
            if word == END:
                break
        decoded = greedy(model, x, most=6)
        assert decoded.words == [[w for w in words if w != END]]
        assert float(decoded.log_prob) == pytest.approx(log_prob(model, SOURCE[b], [words])[0])


def test_a_wider_beam_is_no_worse_here():
    scores = {}
    for width in (1, 3, 30):
        result = [
            beam_search(build_model(seed), SOURCE.padded(torch.tensor([0]))[0], most=4, width=width,
                        by_length=False).log_prob
            for seed in range(8)
        ]  # fmt: skip
        scores[width] = torch.stack(result)
    assert (scores[30] >= scores[1] - 1e-12).all()
    assert (scores[3] > scores[1] + 1e-6).any()


@pytest.mark.parametrize("decode", [greedy, beam_search])
@pytest.mark.parametrize("seed", range(4))
def test_a_sentence_is_translated_alike_alone_and_in_a_batch(decode, seed):
    model = build_model(seed)
    x, mask = SOURCE.padded(torch.arange(len(SOURCE)))
    together = decode(model, torch.where(mask, x, 5), mask, most=7)
    for b in range(len(SOURCE)):
        alone = decode(model, torch.tensor([SOURCE[b]]), most=7)
        assert alone.words == [together.words[b]]
        torch.testing.assert_close(alone.log_prob[0], together.log_prob[b])


def test_nothing_is_said_beyond_the_limit_and_no_marks():
    for seed in range(10):
        x, mask = SOURCE.padded(torch.arange(len(SOURCE)))
        for decoded in (
            greedy(build_model(seed), x, mask, most=3),
            beam_search(build_model(seed), x, mask, most=3),
        ):
            assert all(len(words) <= 3 for words in decoded.words)
            assert all(word in WITHOUT_END for words in decoded.words for word in words)


@pytest.mark.parametrize(("width", "decode"), [(1, greedy), (5, beam_search)])
def test_translations_come_in_the_order_of_the_sentences(monkeypatch, width, decode):
    monkeypatch.setattr("foveate.text.models.decoding.SIZE", 2)
    model = build_model(3)
    together = translate(model, SOURCE, most=6, width=width)
    alone = [decode(model, torch.tensor([SOURCE[b]]), most=6).words[0] for b in range(4)]
    assert together == alone
    assert len({tuple(words) for words in together}) > 1


def test_limits_are_checked():
    x = torch.tensor([[4]])
    with pytest.raises(FoveateError, match="at least one word"):
        greedy(build_model(0), x, most=0)
    with pytest.raises(FoveateError, match="one hypothesis, got 0"):
        beam_search(build_model(0), x, most=2, width=0)
