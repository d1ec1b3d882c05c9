"""Attention of transformers: recorded exactly, set exactly, refused in a sentence."""

import numpy as np
import pytest
import torch

pytest.importorskip("transformers")

from transformers import PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from foveate.errors import FoveateError
from foveate.text.transformers.attention import Forcing, record_attention
from foveate.text.transformers.encoder import TextEncoder
from foveate.text.transformers.loading import load_classifier, load_translator
from foveate.text.transformers.translation import (
    PiecePair,
    influence,
    piece_pairs,
    read_attention,
    read_evidence,
    right_words,
)

from .tiny_transformers import WORDS, classifier, tokenizer, translator

ENCODERS = ("Bert", "Roberta", "Electra", "DistilBert", "ModernBert", "GPT2")
DECODERS = ("Marian", "Bart", "T5")
IDS = torch.tensor([[2, 4, 6, 7, 9, 3], [2, 5, 8, 3, 0, 0]])
MASK = (IDS != 0).long()
TARGET = torch.tensor([[10, 11, 3], [12, 3, 0]])


@pytest.mark.parametrize("family", ENCODERS)
def test_logits_of_encoders_are_those_without_the_interface(family):
    model = classifier(family)
    with torch.no_grad():
        usual = model(input_ids=IDS, attention_mask=MASK).logits
        before = model.config._attn_implementation
        model.set_attn_implementation("eager")
        eager = model(input_ids=IDS, attention_mask=MASK, output_attentions=True)
        model.set_attn_implementation(before)
        with record_attention(model) as tap:
            logits = model(input_ids=IDS, attention_mask=MASK).logits
            weights = tap.of("encoder")
    assert torch.equal(logits, eager.logits)
    torch.testing.assert_close(logits, usual, atol=1e-5, rtol=1e-5)
    assert torch.equal(weights, torch.stack(eager.attentions))
    assert model.config._attn_implementation == before


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("family", DECODERS)
def test_logits_of_encoder_decoders_are_those_without_the_interface(family, layers):
    model = translator(family, layers)
    inputs = {"input_ids": IDS, "attention_mask": MASK, "decoder_input_ids": TARGET}
    with torch.no_grad():
        for part in model.modules():  # older versions do not set parts with the whole
            if isinstance(part, PreTrainedModel):
                part.set_attn_implementation("eager")
        eager = model(**inputs, output_attentions=True)
        with record_attention(model) as tap:
            logits = model(**inputs).logits
            cross = tap.of("cross")
    assert torch.equal(logits, eager.logits)
    assert torch.equal(cross, torch.stack(eager.cross_attentions))


@pytest.mark.parametrize("family", DECODERS)
def test_forcing_the_own_attention_changes_nothing(family):
    model = translator(family, 1)
    inputs = {"input_ids": IDS, "attention_mask": MASK, "decoder_input_ids": TARGET}
    with torch.no_grad(), record_attention(model) as tap:
        logits = model(**inputs).logits
        for head in range(2):
            recorded = tap.of("cross")[0][:, head]
            with tap.set_to(Forcing(recorded, heads=(head,), layers=(0,))):
                torch.testing.assert_close(model(**inputs).logits, logits, atol=1e-5, rtol=1e-5)
        one = torch.zeros(2, 1, 6)
        one[:, :, 1] = 1.0
        with tap.set_to(Forcing(one)):
            assert (model(**inputs).logits - logits).abs().max() > 0.01


def log_p_of_reduced(model, pair, position):
    """log p of the target from an encoder state alone: nothing else can be attended."""
    x, y = torch.tensor([pair.source.ids]), torch.tensor([pair.target.ids])
    before = torch.cat(
        [torch.full_like(y[:, :1], model.config.decoder_start_token_id), y[:, :-1]], 1
    )
    with torch.no_grad():
        states = model.get_encoder()(input_ids=x, attention_mask=torch.ones_like(x))
        logits = model(
            encoder_outputs=BaseModelOutput(
                last_hidden_state=states.last_hidden_state[:, position]
            ),
            attention_mask=torch.ones(1, len(position), dtype=torch.long),
            decoder_input_ids=before,
            use_cache=False,
        ).logits
    return logits.log_softmax(-1).gather(-1, y[..., None])[0, :, 0].numpy()


PAIR = PiecePair.of_ids([4, 6, 7, 9], [10, 11, 3])


@pytest.mark.parametrize("family", DECODERS)
def test_one_hot_cross_attention_equals_a_source_of_one_state(family):
    model = translator(family, 1)
    beta = read_evidence(model, [PAIR])[0]
    for position in range(4):
        np.testing.assert_allclose(
            beta[:, position], log_p_of_reduced(model, PAIR, [position]), atol=2e-5
        )
    assert np.ptp(beta, axis=1).min() > 1e-3


@pytest.mark.parametrize("family", DECODERS)
def test_with_two_layers_rows_are_forced_one_by_one(family):
    model = translator(family, 2)
    beta = read_evidence(model, [PAIR])[0]
    reduced = np.stack([log_p_of_reduced(model, PAIR, [k]) for k in range(4)], 1)
    np.testing.assert_allclose(beta[0], reduced[0], atol=2e-5)  # nothing before the first row
    assert np.abs(beta[1:] - reduced[1:]).max() > 1e-3  # all rows at once would leak
    y = torch.tensor([PAIR.target.ids])
    before = torch.cat(
        [torch.full_like(y[:, :1], model.config.decoder_start_token_id), y[:, :-1]], 1
    )
    one = torch.zeros(1, 1, 4)
    one[..., 2] = 1.0
    rows = torch.tensor([[False, True, False]])
    with torch.no_grad(), record_attention(model) as tap, tap.set_to(Forcing(one, rows)):
        logits = model(input_ids=torch.tensor([PAIR.source.ids]), decoder_input_ids=before).logits
    assert beta[1, 2] == pytest.approx(float(logits[0, 1].log_softmax(-1)[11]), abs=1e-5)


@pytest.mark.parametrize("family", DECODERS)
def test_influence_is_the_change_of_the_loss_with_a_larger_embedding(family):
    model = translator(family, 2).double()
    delta = influence(model, [PAIR])[0]
    table = model.get_encoder().embed_tokens

    def loss(scale, position, t):
        calls = []

        def louder(_module, _given, output):
            calls.append(1)
            if len(calls) > 1:
                return None
            output = output.clone()
            output[:, position] *= scale
            return output

        handle = table.register_forward_hook(louder)
        y = torch.tensor([PAIR.target.ids])
        start = torch.full_like(y[:, :1], model.config.decoder_start_token_id)
        with torch.no_grad():
            logits = model(
                input_ids=torch.tensor([PAIR.source.ids]),
                decoder_input_ids=torch.cat([start, y[:, :-1]], 1),
            ).logits
        handle.remove()
        return -float(logits[0, t].log_softmax(-1)[y[0, t]])

    for position, t in ((0, 0), (2, 1), (3, 2)):
        slope = -(loss(1 + 3e-3, position, t) - loss(1 - 3e-3, position, t)) / 6e-3
        assert delta[t, position] == pytest.approx(
            slope, rel=2e-2, abs=5e-4
        )  # T5 rounds to float32


def test_pieces_are_merged_to_words():
    model = translator("Bart", 1)
    [pair] = piece_pairs(tokenizer(), [["badly", "film"]], [["goodly", "plot"]])
    assert pair.source.ids == [2, 5, 8, 6, 3]
    assert pair.source.words == [[1, 2], [3]]
    alpha = read_attention(model, [pair])[0]
    with torch.no_grad(), record_attention(model) as tap:
        before = torch.tensor([[2, *pair.target.ids[:-1]]])
        model(input_ids=torch.tensor([pair.source.ids]), decoder_input_ids=before)
        raw = tap.of("cross").mean((0, 2))[0].double().numpy()
    np.testing.assert_allclose(alpha[0, 0], raw[1:3, 1:3].sum(1).mean(), atol=1e-6)
    np.testing.assert_allclose(alpha[1, 1], raw[3, 3], atol=1e-6)
    beta = read_evidence(model, [pair])[0]
    assert beta.shape == (2, 2)
    # Attention spread over the two pieces of the first word: a mean of their values.
    reduced = log_p_of_reduced_evenly(model, pair, [1, 2])
    np.testing.assert_allclose(beta[0, 0], reduced[1] + reduced[2], atol=2e-5)


def log_p_of_reduced_evenly(model, pair, positions):
    y = torch.tensor([pair.target.ids])
    before = torch.cat([torch.full_like(y[:, :1], 2), y[:, :-1]], 1)
    weights = torch.zeros(1, 1, len(pair.source.ids))
    weights[..., positions] = 1 / len(positions)
    with torch.no_grad(), record_attention(model) as tap, tap.set_to(Forcing(weights)):
        logits = model(input_ids=torch.tensor([pair.source.ids]), decoder_input_ids=before).logits
    return logits.log_softmax(-1).gather(-1, y[..., None])[0, :, 0].numpy()


def test_attention_by_layer_and_head():
    model = translator("Marian", 2)
    pairs = [PAIR, PiecePair.of_ids([5, 6], [12, 3])]
    every = [read_attention(model, pairs, k, h).values for k in range(2) for h in range(2)]
    np.testing.assert_allclose(read_attention(model, pairs).values, np.mean(every, 0), atol=1e-6)
    with pytest.raises(FoveateError, match="layer must be from 0 to 1, got 2"):
        read_attention(model, pairs, 2)
    assert 0 <= right_words(model, pairs) <= 1


@pytest.mark.parametrize(
    ("family", "summary"), [("Bert", "first"), ("DistilBert", "first"), ("GPT2", "last")]
)
def test_the_classified_state_is_found_and_its_row_read(family, summary):
    model = classifier(family)
    encoder = TextEncoder(model, tokenizer())
    assert encoder.summary == summary
    texts = [["badly", "seen", "film"], ["good"]]
    read = encoder.read(texts)
    ids = torch.tensor([encoder.split(texts[0]).ids])
    with torch.no_grad(), record_attention(model) as tap:
        logits = model(input_ids=ids).logits
        row = tap.of("encoder")[-1, 0].mean(0)[0 if summary == "first" else -1].double()
    words = torch.stack([row[1] + row[2], row[3], row[4]])
    np.testing.assert_allclose(read.p[0], logits[0].double().softmax(0), atol=1e-5)
    np.testing.assert_allclose(read.alpha[0], words / words.sum(), atol=1e-5)


def test_the_mean_of_modern_bert_is_found():
    encoder = TextEncoder(classifier("ModernBert", classifier_pooling="mean"), tokenizer())
    assert encoder.summary == "mean"
    with pytest.raises(FoveateError, match="attention has no effect"):
        encoder.forced([["good"]], [np.ones(1)])
    np.testing.assert_allclose(encoder.read([["good", "film"]]).alpha[0].sum(), 1, atol=1e-9)


def test_forced_attention_of_one_layer_equals_a_mask():
    """All attention of CLS on one word is what a mask of everything else would leave."""
    model = classifier("Bert", num_hidden_layers=1)
    encoder = TextEncoder(model, tokenizer())
    p = encoder.forced([["good", "film", "dull"]], [np.array([0.0, 1.0, 0.0])])
    ids = torch.tensor([[2, 4, 6, 11, 3]])
    mask = torch.ones(1, 1, 5, 5, dtype=torch.bool)
    mask[0, 0, 0] = torch.arange(5) == 2
    with torch.no_grad():
        logits = model(input_ids=ids, attention_mask=mask).logits
    np.testing.assert_allclose(p, logits.double().softmax(1), atol=1e-5)


def test_influence_of_words_adds_up_over_pieces():
    encoder = TextEncoder(classifier("Bert"), tokenizer())
    [whole] = encoder.influence([["badly", "film"]], [1])
    model = encoder.model.double()
    table, ids = model.get_input_embeddings(), torch.tensor([[2, 5, 8, 6, 3]])

    def log_p(scale):
        def louder(_module, _given, output):
            output = output.clone()
            output[:, 1:3] *= scale
            return output

        handle = table.register_forward_hook(louder)
        with torch.no_grad():
            result = model(input_ids=ids).logits[0].log_softmax(0)[1]
        handle.remove()
        return float(result)

    assert whole[0] == pytest.approx((log_p(1.0001) - log_p(0.9999)) / 2e-4, rel=1e-2, abs=1e-5)


def test_models_that_cannot_be_read_are_refused_in_a_sentence(tmp_path):
    with pytest.raises(FoveateError, match="attention interface"):
        TextEncoder(classifier("DebertaV2"), tokenizer())
    with pytest.raises(FoveateError, match="training mode"), record_attention(classifier().train()):
        pass
    with (
        pytest.raises(FoveateError, match="a model of transformers"),
        record_attention(torch.nn.ReLU()),
    ):
        pass
    with pytest.raises(FoveateError, match="must sum to one"):
        Forcing(torch.ones(1, 1, 3))
    short = TextEncoder(classifier("Bert", max_position_embeddings=8), tokenizer())
    with pytest.raises(FoveateError, match="reads 8 at most"):
        short.read([["good"] * 9])
    with pytest.raises(FoveateError, match="got an encoder–decoder"):
        TextEncoder(translator(), tokenizer())
    with pytest.raises(FoveateError, match="must be a folder"):
        load_classifier(tmp_path)
    model = classifier()
    model.bert.save_pretrained(tmp_path / "base")  # without the classifier
    tokenizer().save_pretrained(tmp_path / "base")
    with pytest.raises(FoveateError, match=r"another architecture.*lacks 'classifier\.bias'"):
        load_classifier(tmp_path / "base")
    with pytest.raises(FoveateError, match="no encoder–decoder"):
        load_translator(tmp_path / "base")


def test_a_saved_model_is_the_same_model(tmp_path):
    model = classifier()
    model.save_pretrained(tmp_path)
    tokenizer().save_pretrained(tmp_path)
    stored = TextEncoder(*load_classifier(tmp_path))
    texts = [["badly", "seen", "film"], ["good"]]
    np.testing.assert_array_equal(
        stored.read(texts).p, TextEncoder(model, tokenizer()).read(texts).p
    )


def test_words_without_a_piece_are_unknown():
    encoder = TextEncoder(classifier(), tokenizer())
    assert encoder.split(["film", "xyz"]).ids == [2, 6, 1, 3]
    assert WORDS[1] == "[UNK]"
