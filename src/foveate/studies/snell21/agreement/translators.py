"""Training and measurements of each kind of model of a set of sentence pairs."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from foveate.records.record import Array, Record
from foveate.studies.snell21.agreement.comparison import REPORTING
from foveate.studies.snell21.agreement.stages import Stages
from foveate.text.corpora import Pairs
from foveate.text.loop import MemberTraining, built
from foveate.text.models.proxy import Proxy
from foveate.text.models.seq2seq import Seq2Seq
from foveate.text.probes.pairs import (
    PairBatch,
    influence,
    pair_batches,
    performance,
    proxy_evidence,
    read_attention,
    read_evidence,
)
from foveate.text.statistics.pair_tables import Tables
from foveate.text.translation import (
    PairStream,
    Translator,
    checkpoints,
    translated_bleu,
    translation_training,
    translator,
)
from foveate.types import StepProgress

if TYPE_CHECKING:
    from foveate.studies.snell21.agreement import AgreementSettings
    from foveate.studies.snell21.agreement.pairs import ReadPairs

__all__ = ["KINDS", "PairStages", "proxy_loss"]

KINDS = ("proxy", "standard", "partner", "uniform")
EPOCHS = (1, 2, 3, 5, 8, 12, 20, 30, 45, 60)  # after which a proxy is read
Measured = dict[str, Array]
Measure = Callable[[Seq2Seq], Measured]


class PairStages(Stages):
    """The trainings of one set of sentence pairs.

    Args:
        settings: Settings.
        pairs: Training and evaluation pairs.
        checkpoint: Checkpoint of the part; every kind has a file beside it.
        progress: Called as ``progress(steps done, steps in all)``, all kinds together.
    """

    def __init__(
        self,
        settings: "AgreementSettings",
        pairs: "ReadPairs",
        checkpoint: Path,
        progress: StepProgress,
    ) -> None:
        self.settings, self.pairs = settings, pairs
        self.read: Pairs = pairs.read
        form = Tables.blank(self.read.source.lengths.numpy(), self.read.target.lengths.numpy())
        self.proxy_steps = -(-len(pairs.data.train) // settings.pair_proxy_batch)
        steps = self.proxy_steps * settings.proxy_epochs + (len(KINDS) - 1) * settings.pair_steps
        group = pairs.group[form.pair]
        super().__init__(checkpoint, KINDS, form.start, group, settings.seeds * steps, progress)

    def proxy(self) -> Record:
        """Bag-of-words proxies after some epochs: ``loss`` on the choosing half, ``evidence``."""
        epochs = sorted(
            {*(e for e in EPOCHS if e < self.settings.proxy_epochs), self.settings.proxy_epochs}
        )
        members = [partial(self._proxy, seed) for seed in range(self.settings.seeds)]
        return self.follow("proxy", members, [self.proxy_steps * epoch for epoch in epochs])

    def standard(self) -> Record:
        """Standard models at their end: α, log β and Δ of all cells, A(α, β), token accuracy."""
        members = [
            partial(self._translator, "standard", seed, self._final_values)
            for seed in range(self.settings.seeds)
        ]
        return self.follow("standard", members, [self.settings.pair_steps])

    def partner(self, standard: Record) -> Record:
        """Standard models of other seeds against ``standard`` at every checkpoint."""
        return self._compared("partner", lambda s: partial(self._partner_values, standard, s))

    def uniform(self, standard: Record, evidence: Array) -> Record:
        """Models with uniform attention against ``standard``, the proxy and the counts.

        Args:
            standard: What :meth:`standard` returned.
            evidence: log β_px of all cells, shape (S, N).
        """
        return self._compared(
            "uniform", lambda s: partial(self._word_level_values, standard, evidence[s], s)
        )

    def _compared(self, kind: str, measure: Callable[[int], Measure]) -> Record:
        members = [
            partial(self._translator, kind, seed, measure(seed))
            for seed in range(self.settings.seeds)
        ]
        return self.follow(kind, members, checkpoints(self.settings.pair_steps))

    def _translator(self, kind: str, seed: int, measure: Measure) -> MemberTraining:
        settings, data = self.settings, self.pairs.data
        sizes = Translator(
            settings.pair_d,
            settings.pair_layers,
            settings.pair_dropout,
            settings.pair_batch,
            settings.lr,
        )
        sizes = sizes.uniform() if kind == "uniform" else sizes
        name = ("agreement", self.pairs.name, kind, seed)
        model = translator(data, sizes, *name)
        return translation_training(model, data.train, sizes, lambda m, _: measure(m), *name)

    def _proxy(self, seed: int) -> MemberTraining:
        settings, data = self.settings, self.pairs.data
        sizes = len(data.source_vocabulary), len(data.target_vocabulary), settings.proxy_d
        model: Proxy = built(partial(Proxy, *sizes), "proxy", self.pairs.name, seed)  # type: ignore[assignment]
        stream = PairStream(data.train, settings.pair_proxy_batch, self.pairs.name, "proxy", seed)

        def measure(_: int) -> Measured:
            evidence = proxy_evidence(model, self.read.source, self.read.target)
            return {"loss": np.asarray(self._chosen_loss(model)), "evidence": evidence.values}

        return MemberTraining(
            model, lambda step: proxy_loss(model, stream.at(step)), measure, settings.proxy_lr
        )

    @torch.no_grad()
    def _chosen_loss(self, model: Proxy) -> float:
        """The proxy's loss on the choosing half, nats a word."""
        subset = self.pairs.sets[0]
        parts = [
            (float(proxy_loss(model, batch)), float(batch.cells.any(2).sum()))
            for batch in pair_batches(subset.source, subset.target, self.settings.pair_proxy_batch)
        ]
        loss, words = np.array(parts).T
        return float(np.average(loss, weights=words))

    def _alpha(self, model: Seq2Seq) -> Array:
        return read_attention(model, self.read.source, self.read.target).values

    def _beta(self, model: Seq2Seq) -> Array:
        return read_evidence(model, self.read.source, self.read.target).values

    def _accuracy(self, model: Seq2Seq) -> Array:
        sets = self.pairs.sets
        return np.array([performance(model, some.source, some.target).accuracy for some in sets])

    def _final_values(self, model: Seq2Seq) -> Measured:
        alpha, beta = self._alpha(model), self._beta(model)
        return {
            "alpha": alpha,
            "delta": influence(model, self.read.source, self.read.target).values,
            "alpha_beta": self.compare(alpha, beta),
            "accuracy": self._accuracy(model),
        }

    def _partner_values(self, standard: Record, seed: int, model: Seq2Seq) -> Measured:
        alpha = standard.last("alpha")[seed]
        return {
            "alpha_alpha": self.compare(alpha, self._alpha(model)),
            "alpha_beta_other": self.compare(alpha, self._beta(model)),
            "partner_accuracy": self._accuracy(model),
            "partner_bleu": np.asarray(self._bleu(model)),
        }

    def _word_level_values(
        self, standard: Record, proxy: Array, seed: int, model: Seq2Seq
    ) -> Measured:
        beta = self._beta(model)
        return {
            "alpha_uf": self.compare(standard.last("alpha")[seed], beta),
            "delta_uf": self.compare(standard.last("delta")[seed], beta),
            "uf_px": self.compare(beta, proxy),
            "uf_trans": self.compare(beta, self.pairs.trans),
            "uniform_accuracy": self._accuracy(model),
        }

    def _bleu(self, model: Seq2Seq) -> float:
        subset = self.pairs.sets[REPORTING]
        some = subset.take(torch.arange(min(len(subset), self.settings.pair_translated)))
        most = 2 * int(some.target.lengths.max())
        words = self.pairs.data.target_vocabulary
        return translated_bleu(model, some, words, width=self.settings.beam, most=most)


def proxy_loss(model: Proxy, batch: PairBatch) -> Tensor:
    """Cross-entropy of the proxy, the mean over target words, END left out. [snell21] Eq. 11"""
    log_p = model(batch.x, batch.mask).log_softmax(-1)
    words = batch.real[:, 1:]
    return -log_p.gather(1, batch.y[:, :-1])[words].mean()
