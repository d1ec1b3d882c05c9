"""Training and measurements of each kind of model of a set of texts."""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from foveate.randomness import generator
from foveate.records.record import Array, Record
from foveate.studies.snell21.agreement.comparison import by_set
from foveate.studies.snell21.agreement.stages import Stages
from foveate.text.batches import Batches
from foveate.text.corpora.glove import glove
from foveate.text.loop import MemberTraining, built
from foveate.text.models.proxy import Proxy
from foveate.text.models.reader import Attention, Reader, signed
from foveate.text.probes.texts import TextProbes, influence, probe_texts, word_evidence
from foveate.types import StepProgress

if TYPE_CHECKING:
    from foveate.studies.snell21.agreement import AgreementSettings
    from foveate.studies.snell21.agreement.texts import Texts

__all__ = ["KINDS", "ReaderStages"]

KINDS = ("proxy", "standard", "partner", "uniform", "frozen")

Measure = Callable[[int, Reader], dict[str, Array]]
"""What is measured of the model of a seed."""


class ReaderStages(Stages):
    """The trainings of one set of labelled texts.

    Args:
        settings: Settings.
        texts: Training and evaluation texts.
        checkpoint: Checkpoint of the part; every kind has a file beside it.
        progress: Called as ``progress(steps done, steps in all)``, all kinds together.
        kinds: Kinds that will be trained.
    """

    def __init__(
        self,
        settings: "AgreementSettings",
        texts: "Texts",
        checkpoint: Path,
        progress: StepProgress,
        kinds: Sequence[str] = KINDS,
    ) -> None:
        self.settings, self.texts = settings, texts
        self.epoch = -(-len(texts.train) // settings.batch)
        steps = self.epoch * settings.proxy_epochs + (len(kinds) - 1) * settings.steps
        rows = texts.read.start.numpy()
        super().__init__(checkpoint, kinds, rows, texts.group, settings.seeds * steps, progress)

    def proxy(self) -> Record:
        """Bag-of-words proxies, read after every epoch: ``loss``, ``accuracy``, ``evidence``."""
        steps = [self.epoch * (k + 1) for k in range(self.settings.proxy_epochs)]
        return self.follow("proxy", [partial(self._proxy, s) for s in self._seeds], steps)

    def standard(self) -> Record:
        """Standard models at their end: α, (2y − 1)γ and Δ of all tokens, A(α, β), accuracy."""
        return self.readers("standard", self._final_values, [self.settings.steps])

    def partner(self, standard: Record) -> Record:
        """Standard models of other seeds against ``standard`` at every checkpoint."""
        return self.readers("partner", partial(self._partner_values, standard))

    def uniform(self, standard: Record, evidence: Array) -> Record:
        """Models with uniform attention against ``standard``, the proxy and the counts.

        Args:
            standard: What :meth:`standard` returned.
            evidence: γ₁ − γ₀ of the proxy's words, shape (S, words).
        """
        proxy = [self.favour(row) for row in evidence]
        return self.readers("uniform", partial(self._word_level_values, proxy, standard))

    def frozen(self, standard: Record) -> Record:
        """Models of which only attention is trained against ``standard``. [snell21] A.6"""
        return self.readers("frozen", partial(self._only_attention, standard))

    def readers(self, kind: str, measure: Measure, steps: Sequence[int] | None = None) -> Record:
        """Train a reader of every seed.

        Args:
            kind: "uniform" fixes attention, "frozen" everything else; others train all parameters.
            measure: What is measured of them.
            steps: Steps to measure at; default: the paper's.
        """
        from foveate.studies.snell21.agreement import checkpoints

        members = [partial(self._reader, kind, seed, measure) for seed in self._seeds]
        return self.follow(kind, members, steps or checkpoints(self.settings.steps))

    def favour(self, evidence: Array) -> Array:
        """Evidence of single words (words,) for the label of their text, (N,)."""
        sign = 2 * self.texts.y_read.numpy() - 1
        return np.repeat(sign, np.diff(self.start)) * evidence[self.texts.read.ids.numpy()]

    def probe(self, model: Reader) -> TextProbes:
        """Outputs of a model for the evaluation texts."""
        return probe_texts(model, self.texts.read, self.texts.y_read)

    def accuracy(self, right: Array) -> Array:
        """The share of texts that are right in each set, shape (3,)."""
        return by_set(right.astype(float), self.texts.group)

    @property
    def _seeds(self) -> range:
        return range(self.settings.seeds)

    def _reader(self, kind: str, seed: int, measure: Measure) -> MemberTraining:
        settings, texts = self.settings, self.texts
        attention: Attention = "uniform" if kind == "uniform" else "free"
        make = partial(
            Reader,
            len(texts.vocabulary),
            embedding=settings.embedding,
            d=settings.d,
            attention=attention,
            vectors=self._vectors,
            score=settings.score,
        )
        model: Reader = built(make, "agreement", texts.name, kind, seed)  # type: ignore[assignment]
        if kind == "frozen":
            model.train_attention_only()
        stream = Batches(texts.train, texts.y_train, settings.batch, texts.name, kind, seed)

        def loss(step: int) -> Tensor:
            ids, mask, y = stream.at(step)
            return torch.nn.functional.softplus(-signed(model(ids, mask).logit, y)).mean()

        return MemberTraining(model, loss, lambda _: measure(seed, model), settings.lr)

    def _proxy(self, seed: int) -> MemberTraining:
        settings, texts = self.settings, self.texts
        make = partial(Proxy, len(texts.vocabulary), 2, settings.proxy_d)
        model: Proxy = built(make, "proxy", texts.name, seed)  # type: ignore[assignment]
        stream = Batches(texts.train, texts.y_train, settings.batch, texts.name, "proxy", seed)
        words, start = texts.read.ids.numpy(), self.start

        def loss(step: int) -> Tensor:
            ids, mask, y = stream.at(step)
            return torch.nn.functional.cross_entropy(model(ids, mask), y)

        def measure(_: int) -> dict[str, Array]:
            evidence = word_evidence(model)
            logit = np.add.reduceat(evidence[words], start[:-1]) / np.diff(start)
            for_label = (2 * texts.y_read.numpy() - 1) * logit
            return {
                "evidence": evidence,
                "loss": by_set(np.logaddexp(0, -for_label), texts.group),
                "accuracy": self.accuracy(for_label > 0),
            }

        return MemberTraining(model, loss, measure, settings.proxy_lr)

    @cached_property
    def _vectors(self) -> Tensor | None:
        if self.settings.vectors is None:
            return None
        words = self.texts.vocabulary
        rng = generator("vectors", len(words))
        return glove(self.settings.vectors, words, self.settings.embedding, generator=rng)

    def _final_values(self, _seed: int, model: Reader) -> dict[str, Array]:
        probes = self.probe(model)
        return {
            "alpha": probes.alpha,
            "favour": probes.favour,
            "delta": influence(model, self.texts.read, self.texts.y_read),
            "alpha_beta": self.compare(probes.alpha, probes.favour),
            "accuracy": self.accuracy(probes.right),
        }

    def _partner_values(self, standard: Record, seed: int, model: Reader) -> dict[str, Array]:
        probes, alpha = self.probe(model), standard.last("alpha")[seed]
        return {
            "alpha_alpha": self.compare(alpha, probes.alpha),
            "alpha_beta": self.compare(probes.alpha, probes.favour),
            "alpha_beta_other": self.compare(alpha, probes.favour),
            "partner_accuracy": self.accuracy(probes.right),
        }

    def _word_level_values(
        self, proxy: Sequence[Array], standard: Record, seed: int, model: Reader
    ) -> dict[str, Array]:
        probes = self.probe(model)
        favour = probes.favour
        return {
            "alpha_uf": self.compare(standard.last("alpha")[seed], favour),
            "delta_uf": self.compare(standard.last("delta")[seed], favour),
            "uf_px": self.compare(favour, proxy[seed]),
            "uf_trans": self.compare(favour, self.texts.trans),
            "uniform_accuracy": self.accuracy(probes.right),
        }

    def _only_attention(self, standard: Record, seed: int, model: Reader) -> dict[str, Array]:
        probes = self.probe(model)
        return {
            "frozen_alpha": self.compare(probes.alpha, standard.last("alpha")[seed]),
            "frozen_accuracy": self.accuracy(probes.right),
        }
