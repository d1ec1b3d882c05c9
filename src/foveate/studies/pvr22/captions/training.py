"""Training of a captioner, with measurements. [vr23] Sec. 5, [pvr22] Sec. 2"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from torch import Tensor

from foveate.randomness import generator
from foveate.records.record import Array, Record, load_checkpoint, save_checkpoint
from foveate.studies.pvr22.captions.evaluation import CaptionEvaluation
from foveate.studies.pvr22.captions.settings import CaptionSettings
from foveate.studies.pvr22.captions.sources import Pool, pool_of
from foveate.text.loop import MemberTraining, built, follow
from foveate.text.models.captioner import (
    Captioner,
    ReadRule,
    counted_words,
    sampled_loss,
    word_loss,
)
from foveate.text.tokens import PAD, Epochs
from foveate.types import StepProgress

__all__ = ["CaptionTraining", "marks", "model_for", "train_part"]

BASELINE_DECAY = 0.9  # of the baseline at every step, Xu et al. (2015)


def marks(settings: CaptionSettings, per_epoch: int, rule: str) -> list[int]:
    """Steps to measure at; they include the step from which the hybrid continues soft attention."""
    if rule == "hybrid":
        return [0, settings.hard_epochs * per_epoch]
    steps = np.linspace(0, settings.epochs * per_epoch, settings.reads + 1).round().astype(int)
    last = [settings.soft_epochs * per_epoch] if rule == "soft" else []
    return np.unique([*steps, *last]).tolist()


def model_for(settings: CaptionSettings, pool: Pool, seed: int) -> Captioner:
    """An untrained captioner; soft and hard attention of a seed start from the same weights."""
    sizes = {"embed": settings.embed, "hidden": settings.hidden, "attention": settings.attention}
    make = partial(
        Captioner, len(pool.vocabulary), pool.bank.x.shape[1], dropout=settings.dropout, **sizes
    )
    model = built(make, "captions", seed)
    assert isinstance(model, Captioner)
    return model


@dataclass(frozen=True)
class CaptionTraining:
    """The training loss of a captioner at each step.

    Args:
        model: The captioner.
        pool: The images.
        rule: "soft", or "hard" with sampled places.
        order: The images of each step.
        offset: Steps of the training that this one continues.
        seed: Part of the name of each step's random stream.
    """

    model: Captioner
    pool: Pool
    rule: str
    order: Epochs
    offset: int
    seed: int

    def loss(self, step: int) -> Tensor:
        """The loss of step 1, 2, …"""
        rows = self.order.rows(step + self.offset)
        side, model = self.pool.train, self.model
        y = side.y[rows]
        y = y[..., : int((y != PAD).sum(-1).max())]
        rng = generator("captions", self.rule, self.seed, step + self.offset)
        read_rule: ReadRule = "soft" if self.rule == "soft" else "sampled"
        log_p, output = model.log_prob(self.pool.bank.take(side.rows[rows]), y, read_rule, rng)
        counts = counted_words(y)
        if self.rule == "soft":
            loss = word_loss(log_p, counts)
        else:
            loss = sampled_loss(log_p, output.log_pi, counts, model.baseline.clone())
        mean = (log_p.detach() * counts).sum() / counts.sum()
        model.baseline.mul_(BASELINE_DECAY).add_(mean, alpha=1 - BASELINE_DECAY)
        return loss


def train_part(
    settings: CaptionSettings, rule: str, checkpoint: Path, progress: StepProgress
) -> Record:
    """Train all seeds by one rule; the hybrid continues from soft attention's weights."""
    pool = pool_of(settings, progress)
    evaluation = CaptionEvaluation.of(settings, pool)
    lengths = (pool.train.y != PAD).sum(-1).amax(-1)
    per_epoch = Epochs(lengths, settings.batch).per_epoch
    switch = settings.soft_epochs * per_epoch
    soft = checkpoint.parent.parent / "soft"
    members = [
        partial(
            _member,
            settings,
            pool,
            evaluation,
            rule,
            seed,
            switch,
            soft / f"switch-{seed}.safetensors",
        )
        for seed in range(settings.seeds)
    ]
    steps = marks(settings, per_epoch, rule)
    record = follow(members, steps, checkpoint=checkpoint, report=progress)
    meta = {**evaluation.about(), "rule": rule, "per_epoch": per_epoch}
    return replace(record, final=evaluation.pictures(), meta=meta)


def _member(
    settings: CaptionSettings,
    pool: Pool,
    evaluation: CaptionEvaluation,
    rule: str,
    seed: int,
    switch: int,
    checkpoint: Path,
) -> MemberTraining:
    model = model_for(settings, pool, seed)
    if rule == "hybrid":
        model.load_state_dict(load_checkpoint(checkpoint)[0])
    lengths = (pool.train.y != PAD).sum(-1).amax(-1)
    order = Epochs(lengths, settings.batch, "captions", seed)
    phase = "soft" if rule == "soft" else "hard"
    training = CaptionTraining(model, pool, phase, order, switch if rule == "hybrid" else 0, seed)
    read_rule: ReadRule = "soft" if rule == "soft" else "top"

    def measure(step: int) -> Mapping[str, Array]:
        if rule == "soft" and step == switch:
            save_checkpoint(checkpoint, dict(model.state_dict()), {"step": step})
        return evaluation.measure(model, read_rule, seed)

    return MemberTraining(model, training.loss, measure, settings.lr)  # type: ignore[arg-type]
