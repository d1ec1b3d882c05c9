"""Trainings of one-layer transformers, measured by α, β and their agreement."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from foveate.metrics.agreement import fair_agreement, random_level
from foveate.randomness import generator
from foveate.records.record import Record
from foveate.text.corpora import Pairs, SentencePairs, load_pairs
from foveate.text.corpora.copying import copying, word_count
from foveate.text.loop import MemberTraining, built, even_steps, follow
from foveate.text.probes.pairs import append_end
from foveate.text.statistics.pair_tables import Tables
from foveate.text.tokens import END, MARKS, PAD, START
from foveate.text.transformers.pieces import Pieces
from foveate.text.transformers.translation import (
    PiecePair,
    read_attention,
    read_evidence,
    right_words,
)
from foveate.types import Array, StepProgress

if TYPE_CHECKING:
    from foveate.studies.beyond.transformers import TransformerSettings

__all__ = ["train_copies", "train_pairs"]

LONGEST = 64  # places for positions


def train_copies(
    settings: "TransformerSettings",
    kind: str,
    heads: int,
    checkpoint: Path,
    progress: StepProgress,
) -> Record:
    """Train every seed on one copy task."""
    members = [partial(_copy_training, settings, kind, heads, k) for k in range(settings.seeds)]
    steps = even_steps(settings.steps, settings.every)
    meta = {"kind": kind, "heads": heads}
    return follow(members, steps, checkpoint=checkpoint, report=progress, meta=meta)


def train_pairs(
    settings: "TransformerSettings", checkpoint: Path, progress: StepProgress
) -> Record:
    """Train every seed on sentence pairs in words."""
    data = load_pairs(
        settings.pairs, unit="words", train=settings.train_pairs, least=settings.least
    )
    members = [partial(_pair_training, settings, data, seed) for seed in range(settings.pair_seeds)]
    steps = even_steps(settings.pair_steps, settings.pair_every)
    meta = {"pairs": settings.pairs, **data.counts}
    return follow(members, steps, checkpoint=checkpoint, report=progress, meta=meta)


def _copy_training(
    settings: "TransformerSettings", kind: str, heads: int, seed: int
) -> MemberTraining:
    words = word_count(kind, settings.length) + len(MARKS)
    model: Any = built(partial(_model, settings, words, words, heads), "copies", kind, heads, seed)
    held_out = copying(
        kind, settings.held_out, generator("copies to read", kind, seed), settings.length
    )
    rows = [
        PiecePair.of_ids(x, y)
        for x, y in zip(held_out[0].tolist(), held_out[1].tolist(), strict=True)
    ]

    def loss(step: int) -> Tensor:
        rng = generator("copies to learn", kind, seed, step)
        x, y = copying(kind, settings.batch, rng, settings.length)
        scores = model(input_ids=x, decoder_input_ids=_before(y), use_cache=False).logits
        return nn.functional.cross_entropy(scores.flatten(0, 1), y.flatten())

    def measure(_step: int) -> dict[str, Array]:
        right = (held_out[0][:, None, :] == held_out[1][:, :, None]).numpy()
        alpha, beta = read_attention(model, rows), read_evidence(model, rows[: settings.probed])
        n, size = settings.held_out, settings.length
        on = (alpha.values.reshape(n, size, size) * right).sum(-1).mean()
        grid = beta.values.reshape(-1, size, size)
        best = grid == grid.max(-1, keepdims=True)
        beta_known = (best & right[: len(grid)]).sum(-1) / best.sum(-1)
        probed = alpha.take(np.arange(settings.probed))
        return {
            "accuracy": np.asarray(right_words(model, rows)),
            "on": np.asarray(on),
            "knows": np.asarray(beta_known.mean()),
            **_agreement(probed, beta),
        }

    return MemberTraining(model, loss, measure, settings.lr)


def _pair_training(
    settings: "TransformerSettings", data: SentencePairs, seed: int
) -> MemberTraining:
    sizes = len(data.source_vocabulary), len(data.target_vocabulary)
    model: Any = built(partial(_model, settings, *sizes, 1), "pairs", settings.pairs, seed)
    pairs, target = data.train, append_end(data.train.target)
    fits = (pairs.lengths.amax(1) < LONGEST).nonzero().flatten()
    held_out = data.validation if len(data.validation) else data.train
    rows = _readable(held_out, settings.probed_pairs)

    def loss(step: int) -> Tensor:
        rng = generator("pairs to learn", settings.pairs, seed, step)
        indices = fits[torch.randint(len(fits), (settings.batch,), generator=rng)]
        x, mask = pairs.source.padded(indices)
        y, real = target.padded(indices)
        scores = model(
            input_ids=x,
            attention_mask=mask.long(),
            decoder_input_ids=_before(y),
            use_cache=False,
        ).logits
        return nn.functional.cross_entropy(scores[real], y[real])

    def measure(_step: int) -> dict[str, Array]:
        accuracy = np.asarray(right_words(model, rows))
        return {
            "accuracy": accuracy,
            **_agreement(read_attention(model, rows), read_evidence(model, rows)),
        }

    return MemberTraining(model, loss, measure, settings.lr)


def _agreement(alpha: Tables, beta: Tables) -> dict[str, Array]:
    """Fair A(α, β) and its chance level, means over target words."""
    a = fair_agreement(alpha.values, beta.values, alpha.start)
    return {
        "agreement": np.asarray(a.mean()),
        "chance": np.asarray(random_level(alpha.lengths).mean()),
    }


def _readable(pairs: Pairs, count: int) -> list[PiecePair]:
    """The first pairs of 4 to 30 words, END behind the target."""
    usable = ((pairs.lengths >= 4) & (pairs.lengths <= 30)).all(1).nonzero().flatten().tolist()
    chosen = (usable or list(range(len(pairs))))[:count]
    return [
        PiecePair(
            PiecePair.of_ids(pairs.source[i], []).source,
            Pieces([*pairs.target[i], END], [[k] for k in range(len(pairs.target[i]))]),
        )
        for i in chosen
    ]


def _before(y: Tensor) -> Tensor:
    return torch.cat([torch.full_like(y[:, :1], START), y[:, :-1]], 1)


def _model(settings: "TransformerSettings", source: int, target: int, heads: int) -> nn.Module:
    """BART with one layer on each side; Marian where the vocabularies differ.

    There is no dropout, so that evaluation mode trains as training mode does.
    """
    from transformers import BartConfig, BartForConditionalGeneration, MarianConfig, MarianMTModel

    d = settings.d
    sizes: dict[str, Any] = {
        "d_model": d, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": heads,
        "decoder_attention_heads": heads, "encoder_ffn_dim": 2 * d, "decoder_ffn_dim": 2 * d,
        "max_position_embeddings": LONGEST, "dropout": 0.0, "init_std": settings.spread,
        "pad_token_id": PAD, "bos_token_id": START, "eos_token_id": END,
        "decoder_start_token_id": START, "forced_eos_token_id": END, "vocab_size": source,
    }  # fmt: skip
    if source == target:
        return BartForConditionalGeneration(BartConfig(**sizes)).eval()
    sizes |= {"decoder_vocab_size": target, "share_encoder_decoder_embeddings": False}
    return MarianMTModel(MarianConfig(**sizes)).eval()
