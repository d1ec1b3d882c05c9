r"""Optimal attention on a trained model with a linear output. [snell21] A.1

With :math:`p_t = σ(W(c_t + s_t))` the loss of a word is convex in its attention. Every word of some
validation pairs is solved at every checkpoint and compared with the model's attention and β.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from foveate.metrics.agreement import fair_agreement
from foveate.randomness import generator
from foveate.records.record import Array, Record
from foveate.text.corpora import Pairs, SentencePairs, load_pairs
from foveate.text.loop import MemberTraining, follow
from foveate.text.models.seq2seq import Reading, Readout, Seq2Seq, shifted
from foveate.text.probes.pairs import performance, read_attention, read_evidence
from foveate.text.statistics.optimal_attention import optimal_attention
from foveate.text.statistics.pair_tables import Tables
from foveate.text.translation import (
    Translator,
    checkpoints,
    example_pair,
    translated_bleu,
    translation_training,
    translator,
)
from foveate.types import StepProgress

if TYPE_CHECKING:
    from foveate.studies.snell21.translation import TranslationSettings

__all__ = ["WORDS", "readout_part", "solved"]

WORDS = ("opt_beta", "opt_alpha", "alpha_beta", "loss_opt", "loss_alpha", "loss_uniform", "gap")
"""What is recorded of every solved word: A(α_opt, β), A(α_opt, α) and A(α, β) with fair ties, the
losses at α_opt, at the model's α and at uniform attention, and the certificate of α_opt, in nats.
"""
TOLERANCE = 1e-6  # nats that α_opt may be above the minimum


def readout_part(
    settings: "TranslationSettings",
    readout: Readout,
    checkpoint: Path,
    progress: StepProgress,
) -> Record:
    """Train the models of one readout; with a linear one, solve for optimal attention."""
    data = load_pairs(settings.data, train=settings.train, pieces=settings.pieces)
    sizes = Translator(
        settings.d, settings.layers, settings.dropout, settings.batch, settings.lr, readout
    )
    order = torch.randperm(len(data.validation), generator=generator("solved", settings.data))
    held_out = data.validation.take(order[: settings.translated])
    subset = data.validation.take(order[: settings.solved])
    steps = checkpoints(settings.steps)

    def measure(model: Seq2Seq, step: int) -> dict[str, Array]:
        reached = performance(model, held_out.source, held_out.target)
        bleu = _bleu(settings, data, held_out, model) if step == steps[-1] else np.nan
        values = {"accuracy": reached.accuracy, "loss": reached.loss, "bleu": bleu}
        numbers = {name: np.asarray(value) for name, value in values.items()}
        return numbers | (solved(model, subset) if readout == "linear" else {})

    def training(seed: int) -> MemberTraining:
        label = ("readout", settings.data, readout, seed)
        model = translator(data, sizes, *label)
        return translation_training(model, data.train, sizes, measure, *label)

    members = [partial(training, seed) for seed in range(settings.seeds)]
    meta = _meta(settings, data, subset)
    return follow(members, steps, checkpoint=checkpoint, report=progress, meta=meta)


@torch.no_grad()
def solved(model: Seq2Seq, pairs: Pairs) -> dict[str, Array]:
    """The quantities of :data:`WORDS` for every word, (R,), and three tables of an example.

    Args:
        model: A model with a linear readout.
        pairs: The pairs whose words are solved.
    """
    alpha = read_attention(model, pairs.source, pairs.target)
    beta = read_evidence(model, pairs.source, pairs.target)
    best = [_solve(model, pairs.source[i], pairs.target[i], alpha[i]) for i in range(len(pairs))]
    tables = {"opt": Tables.of([one["opt"] for one in best]), "alpha": alpha, "beta": beta}
    values = {
        f"{u}_{v}": fair_agreement(tables[u].values, tables[v].values, alpha.start)
        for u, v in (("opt", "beta"), ("opt", "alpha"), ("alpha", "beta"))
    }
    values |= {name: np.concatenate([one[name] for one in best]) for name in WORDS[3:]}
    example = example_pair(pairs)
    return values | {f"example_{name}": table[example].ravel() for name, table in tables.items()}


def _solve(model: Seq2Seq, source: list[int], target: list[int], alpha: Array) -> dict[str, Array]:
    """α_opt (T, L) of one pair, its certificate, and the losses at three attentions."""
    y = torch.tensor([target])
    reading = model.read(torch.tensor([source]), shifted(y))
    h, s, W, b = reading.h, reading.s, model.out.weight, model.out.bias
    best = optimal_attention(h, W, y, state=s, bias=b, tol=TOLERANCE)
    opt = best.alpha[0].numpy()
    uniform = np.full_like(opt, 1 / opt.shape[1])
    losses = {
        f"loss_{name}": _losses(model, reading, y, weights)
        for name, weights in (("opt", opt), ("alpha", alpha), ("uniform", uniform))
    }
    return {"opt": opt, "gap": best.gap[0].numpy(), **losses}


def _losses(model: Seq2Seq, reading: Reading, y: Tensor, weights: Array) -> Array:
    """The loss of every word of one pair under any attention (T, L), shape (T,)."""
    alpha = torch.from_numpy(weights).to(reading.h.dtype)[None, None]
    scores = model.logits(model.context(replace(reading, alpha=alpha)), reading.s)
    return torch.nn.functional.cross_entropy(scores[0], y[0], reduction="none").numpy()


def _bleu(
    settings: "TranslationSettings", data: SentencePairs, held_out: Pairs, model: Seq2Seq
) -> float:
    most = 2 * int(held_out.target.lengths.max())
    return translated_bleu(model, held_out, data.target_vocabulary, width=settings.beam, most=most)


def _meta(settings: "TranslationSettings", data: SentencePairs, subset: Pairs) -> dict[str, object]:
    number = example_pair(subset)
    return {
        "data": settings.data,
        "about": data.about,
        "counts": data.counts,
        "lengths": subset.lengths.tolist(),
        "source": data.source_vocabulary.decode(subset.source[number]),
        "target": data.target_vocabulary.decode(subset.target[number]),
    }
