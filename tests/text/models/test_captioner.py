"""The captioner: REINFORCE against enumeration, sampling, reading against saying."""

import itertools
from functools import partial

import pytest
import torch

from foveate.errors import FoveateError
from foveate.text.loop import built
from foveate.text.models.caption_decoding import CaptionDecoder
from foveate.text.models.captioner import Captioner, counted_words, sampled_loss, word_loss
from foveate.text.models.decoding import beam_search, greedy
from foveate.text.models.seq2seq import shifted
from foveate.text.tokens import END, PAD, START, UNKNOWN

WORDS, D, POSITIONS = 7, 3, 3


@pytest.fixture
def model():
    build_model = built(
        partial(Captioner, WORDS, D, embed=4, hidden=5, attention=3), "test captioner"
    )
    with torch.no_grad():  # places must matter, and attention must not be even
        for weight in (
            build_model.place_out.weight,
            build_model.query.weight,
            build_model.key.weight,
        ):
            weight.mul_(4)
    return build_model.double()


@pytest.fixture
def image(rng):
    return torch.randn(1, POSITIONS, D, generator=rng, dtype=torch.float64)


def gradient(value, model):
    parts = torch.autograd.grad(value, list(model.parameters()), allow_unused=True)
    return [
        torch.zeros_like(p) if g is None else g
        for g, p in zip(parts, model.parameters(), strict=True)
    ]


def every_sequence(length):
    return [torch.tensor([[s]]) for s in itertools.product(range(POSITIONS), repeat=length)]


def bound(model, image, y):
    """J = Σ_s Π_t α_t(s_t) Σ_t log p(y_t | s_≤t), over all sequences of places."""
    total = 0.0
    for positions in every_sequence(y.shape[-1]):
        log_p, output = model.log_prob(image, y, "sampled", positions=positions)
        total = total + output.log_pi.sum().exp() * (log_p * counted_words(y)).sum()
    return total


def expected(model, image, y, baseline, loss=sampled_loss):
    """The mean over all places of the gradient of a loss made for sampled ones."""
    mean = [torch.zeros_like(p) for p in model.parameters()]
    for positions in every_sequence(y.shape[-1]):
        log_p, output = model.log_prob(image, y, "sampled", positions=positions)
        grads = gradient(loss(log_p, output.log_pi, counted_words(y), baseline), model)
        weight = output.log_pi.sum().exp().detach()
        mean = [m + weight * g for m, g in zip(mean, grads, strict=True)]
    return mean


def difference(one, other):
    return max(float((a - b).abs().max()) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("words", [(4, END), (5, 4, END), (4, UNKNOWN, 6)])
@pytest.mark.parametrize("baseline", [0.0, -1.7])
def test_reinforce_is_the_gradient_of_the_bound(model, image, words, baseline):
    y = torch.tensor([[words]])
    count = int(counted_words(y).sum())
    exact = gradient(-bound(model, image, y) / count, model)
    result = expected(model, image, y, torch.tensor(baseline))
    assert max(float(g.abs().max()) for g in exact) > 1e-3
    assert difference(exact, result) < 1e-12


def test_the_released_estimator_is_not(model, image):
    """Only the last step's place, the baseline added: what the errata say."""

    def released(log_p, log_pi, counts, baseline):
        reward = (log_p.detach() * counts).sum() + baseline
        return -((log_p * counts).sum() + reward * log_pi[..., -1].sum()) / counts.sum()

    y = torch.tensor([[(5, 4, END)]])
    exact = gradient(-bound(model, image, y) / 3, model)
    assert difference(exact, expected(model, image, y, torch.tensor(-1.7), released)) > 1e-3


def test_sampled_places_have_their_probabilities(model, image, rng):
    y = torch.full((1, 20_000, 1), 4)
    _, output = model.log_prob(image, y, "sampled", rng)
    alpha = output.alpha[0, 0, 0].detach()
    for position in range(POSITIONS):
        seen = (output.z[0, :, 0] == image[0, position]).all(-1)
        assert float(seen.double().mean()) == pytest.approx(float(alpha[position]), abs=0.015)
        assert torch.allclose(output.log_pi[0, seen, 0].exp(), alpha[position])


def test_named_chance_decides_what_is_seen(model, image):
    y = torch.tensor([[(4, 5, 6, 4, 5, END)]]).expand(1, 8, 6)
    seen = [
        model.read(image, shifted(y[0])[None], "sampled", torch.Generator().manual_seed(k)).z
        for k in (1, 1, 2)
    ]
    assert torch.equal(seen[0], seen[1])
    assert not torch.equal(seen[0], seen[2])


def test_places_are_not_drawn_without_a_generator(model, image):
    with pytest.raises(FoveateError, match="sampled positions need a generator"):
        model.read(image, torch.tensor([[[START]]]), "sampled")


def test_one_step_matches_manual_computation(model, image):
    y_in = torch.tensor([[[START]]])
    output = model.read(image, y_in, "soft")
    a = image[0]
    h, c = model.first(a.mean(0)).tanh().chunk(2)
    scores = torch.stack(
        [torch.tanh(model.key(a[i]) + model.query(h)) @ model.score for i in range(POSITIONS)]
    )
    alpha = scores.softmax(0)
    z = sum(alpha[i] * a[i] for i in range(POSITIONS))
    gates = model.from_word(model.table[START]) + model.from_place(z) + model.from_state(h)
    i, f, o, g = gates.chunk(4)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    h = o.sigmoid() * c.tanh()
    logits = model.out(model.table[START] + model.state_out(h) + model.place_out(z))
    assert torch.allclose(output.alpha[0, 0, 0], alpha)
    assert torch.allclose(model.logits(output, y_in)[0, 0, 0], logits)
    log_p, _ = model.log_prob(image, torch.tensor([[[5]]]), "soft")
    assert torch.allclose(log_p[0, 0, 0], logits.log_softmax(0)[5])


def test_hard_attention_is_read_at_its_top_place(model, image):
    y = torch.tensor([[(4, 5, END)]])
    _, output = model.log_prob(image, y, "top")
    top = image[0][output.alpha[0, 0].argmax(-1)]
    assert torch.equal(output.z[0, 0], top)
    assert torch.allclose(output.log_pi.exp(), output.alpha.amax(-1))


def test_captions_of_an_image_share_its_features_and_nothing_else(model, rng):
    a = torch.randn(2, POSITIONS, D, generator=rng, dtype=torch.float64)
    y = torch.tensor([[(4, 5, END), (6, END, PAD)], [(5, 5, END), (4, END, PAD)]])
    log_p, output = model.log_prob(a, y, "soft")
    for i, k in itertools.product(range(2), range(2)):
        alone, grads = model.log_prob(a[i : i + 1], y[i : i + 1, k : k + 1], "soft")
        assert torch.allclose(log_p[i, k], alone[0, 0])
        assert torch.allclose(output.alpha[i, k], grads.alpha[0, 0])


def test_losses_count_words_and_neither_padding_nor_unknown_ones():
    y = torch.tensor([[[4, UNKNOWN, END, PAD]]])
    log_p = torch.tensor([[[-1.0, -50.0, -3.0, -70.0]]])
    assert float(word_loss(log_p, counted_words(y))) == 2.0
    log_pi = torch.tensor([[[-0.5, -0.25, -2.0, -9.0]]])
    # to go: -4, -3, -3, 0; words left: 2, 1, 1, 0; less the baseline of -1 a word
    advantage = (-4 + 2) * -0.5 + (-3 + 1) * -0.25 + (-3 + 1) * -2.0
    result = float(sampled_loss(log_p, log_pi, counted_words(y), torch.tensor(-1.0)))
    assert result == pytest.approx(-(-4.0 + advantage) / 2)


@pytest.mark.parametrize("read_rule", ["soft", "top"])
def test_generated_captions_have_the_probability_of_reading_them(model, rng, read_rule):
    a = torch.randn(3, POSITIONS, D, generator=rng, dtype=torch.float64)
    speaking = CaptionDecoder(model, a, read_rule)
    rows = torch.tensor([2, 0, 1])
    for decoded in (greedy(speaking, rows, most=5), beam_search(speaking, rows, most=5, width=3)):
        for k, words in enumerate(decoded.words):
            y = torch.tensor([[[*words, END][:5]]])
            log_p, _ = model.log_prob(a[rows[k : k + 1]], y, read_rule)
            assert float(log_p.detach().sum()) == pytest.approx(
                float(decoded.log_prob[k]), abs=1e-9
            )


def test_a_wider_beam_finds_what_enumeration_finds(model, rng):
    a = torch.randn(1, POSITIONS, D, generator=rng, dtype=torch.float64)
    allowed = [w for w in range(WORDS) if w not in (PAD, START)]
    best, most = None, -torch.inf
    for words in itertools.product(allowed, repeat=2):
        prefix = words[: words.index(END) + 1] if END in words else words
        log_p, _ = model.log_prob(a, torch.tensor([[prefix]]), "soft")
        rank = float(log_p.detach().sum()) / len(prefix)
        if rank > most:
            best, most = [w for w in prefix if w != END], rank
    decoded = beam_search(CaptionDecoder(model, a, "soft"), torch.arange(1), most=2, width=49)
    assert decoded.words == [best]
