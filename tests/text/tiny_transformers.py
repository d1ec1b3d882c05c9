"""Tiny transformers with random weights, built from configs, and a tokenizer of a few words."""

import torch
import transformers
from tokenizers import Tokenizer, pre_tokenizers, processors
from tokenizers import models as token_models

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "good", "bad", "film", "a", "##ly", "the", "very",
         "dull", "it", "was", "plot", "seen"]  # fmt: skip
SIZE = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
SPREAD = 0.5  # of initial weights: attention is far from uniform


def tokenizer(special=True):
    made = Tokenizer(
        token_models.WordPiece({word: k for k, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    if special:
        made.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, **names)


def built(make, config, seed=0):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make(config).eval()


def classifier(family="Bert", seed=0, **changes):
    common = {"vocab_size": len(WORDS), "pad_token_id": 0, "initializer_range": SPREAD}
    extra = {
        "Bert": {**SIZE, "intermediate_size": 32},
        "Roberta": {**SIZE, "intermediate_size": 32},
        "Electra": {**SIZE, "intermediate_size": 32, "embedding_size": 16},
        "ModernBert": {**SIZE, "intermediate_size": 32, "bos_token_id": 2, "eos_token_id": 3,
                       "cls_token_id": 2, "sep_token_id": 3},
        "DistilBert": {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32},
        "GPT2": {"n_embd": 16, "n_layer": 2, "n_head": 2, "bos_token_id": 2, "eos_token_id": 3},
        "DebertaV2": {**SIZE, "intermediate_size": 32},
    }[family]  # fmt: skip
    config = getattr(transformers, f"{family}Config")(**{**common, **extra, **changes})
    return built(getattr(transformers, f"{family}ForSequenceClassification"), config, seed)


def translator(family="Marian", layers=1, seed=0, words=16, **changes):
    if family == "T5":
        config = transformers.T5Config(
            vocab_size=words, d_model=16, d_kv=8, d_ff=32, num_layers=1, num_decoder_layers=layers,
            num_heads=2, decoder_start_token_id=0, pad_token_id=0, initializer_factor=3.0,
            **changes,
        )  # fmt: skip
        return built(transformers.T5ForConditionalGeneration, config, seed)
    sizes = {
        "d_model": 16,
        "encoder_layers": 1,
        "decoder_layers": layers,
        "encoder_ffn_dim": 32,
        "decoder_ffn_dim": 32,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
    }
    config = getattr(transformers, f"{family}Config")(
        vocab_size=words, max_position_embeddings=32, pad_token_id=0, eos_token_id=3,
        bos_token_id=2, decoder_start_token_id=2, forced_eos_token_id=3, init_std=SPREAD,
        **{**sizes, **changes},
    )  # fmt: skip
    name = "MarianMTModel" if family == "Marian" else f"{family}ForConditionalGeneration"
    return built(getattr(transformers, name), config, seed)
