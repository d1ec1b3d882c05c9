"""One training of a captioner, and what is measured on the way. [vr23] Sec. 5, [pvr22] Sec. 2"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from foveate.checkpoint import load_checkpoint, save_checkpoint
from foveate.data.captions import caption_words
from foveate.experiments.captions.looking import (
    SURE,
    Names,
    box_share,
    compared,
    kinds_of,
    names_in,
    padded,
    read_words,
    reference_words,
    say,
)
from foveate.experiments.captions.settings import CaptionSettings
from foveate.experiments.captions.sources import Pool, pool_of
from foveate.metrics.bleu import bleu_of_captions
from foveate.metrics.boxes import PIXELS, Grid
from foveate.models.captioner import Captioner, Look, sampled_loss, scored, word_loss
from foveate.randomness import generator
from foveate.record import Array, Record
from foveate.steps import Course, built, follow
from foveate.tokens import PAD, Epochs

__all__ = ["RULES", "marks", "model_for", "train_part"]

RULES = ("soft", "hard", "hybrid")
KEEP = 0.9  # of the baseline at every step, Xu et al. (2015)
KEPT_IN = ("NoDerivs", "NonCommercial")  # photos of such licences are read but not shown


def marks(use: CaptionSettings, per_epoch: int, rule: str) -> list[int]:
    """Steps to measure at; the step that the hybrid goes on from is one of soft attention's."""
    if rule == "hybrid":
        return [0, use.hard_epochs * per_epoch]
    at = np.linspace(0, use.epochs * per_epoch, use.reads + 1).round().astype(int)
    last = [use.soft_epochs * per_epoch] if rule == "soft" else []
    return np.unique([*at, *last]).tolist()


def model_for(use: CaptionSettings, pool: Pool, seed: int) -> Captioner:
    """An untrained captioner; soft and hard attention of a seed begin with the same weights."""
    sizes = {"embed": use.embed, "hidden": use.hidden, "attention": use.attention}
    make = partial(
        Captioner, len(pool.vocabulary), pool.bank.x.shape[1], dropout=use.dropout, **sizes
    )
    model = built(make, "captions", seed)
    assert isinstance(model, Captioner)
    return model


@dataclass(frozen=True)
class Lesson:
    """What a captioner learns at each step.

    Args:
        model: The captioner.
        pool: The images.
        rule: "soft", or "hard" with sampled places.
        order: Which images at which step.
        offset: Steps that went before, where a training goes on from another.
        seed: Names the chance of each step.
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
        chance = generator("captions", self.rule, self.seed, step + self.offset)
        look: Look = "soft" if self.rule == "soft" else "sampled"
        log_p, glance = model.log_prob(self.pool.bank.take(side.rows[rows]), y, look, chance)
        counts = scored(y)
        if self.rule == "soft":
            loss = word_loss(log_p, counts)
        else:
            loss = sampled_loss(log_p, glance.log_pi, counts, model.baseline.clone())
        mean = (log_p.detach() * counts).sum() / counts.sum()
        model.baseline.mul_(KEEP).add_(mean, alpha=1 - KEEP)
        return loss


@dataclass(frozen=True)
class Exam:
    """What is measured of a captioner, on held-out images.

    Args:
        use: The settings.
        pool: The images.
        names: Names of objects in the reference captions of the test images.
        shown: Which of them are kept for pictures, rows of ``names``.
    """

    use: CaptionSettings
    pool: Pool
    names: Names
    shown: Array

    @classmethod
    def of(cls, use: CaptionSettings, pool: Pool) -> "Exam":
        words = reference_words(pool.test, use.captions)
        names = names_in(pool, pool.test, words, use.longest)
        names = names.take(np.flatnonzero(names.there))
        return cls(use, pool, names, _to_show(use, pool, names))

    def measure(self, model: Captioner, look: Look, seed: int) -> dict[str, Array]:
        """Loss, BLEU, and for each image what is known of its names, in both kinds of captions."""
        use, pool = self.use, self.pool
        none = self.names.take(np.zeros(0, int))
        held = read_words(model, pool, pool.validation, pool.validation.y[:, :1], look, none)
        reference = read_words(model, pool, pool.test, pool.test.y, look, self.names)
        ids = say(model, pool, pool.test, look, longest=use.longest, beam=use.beam)
        words = [pool.vocabulary.decode(row) for row in ids]
        own = names_in(pool, pool.test, [[row] for row in words], use.longest)
        spoken = read_words(model, pool, pool.test, padded(ids), look, own)
        wanted = [[" ".join(caption_words(t)) for t in texts] for texts in pool.test.told.captions]
        said = np.full((len(self.shown), use.longest), PAD)
        for k, image in enumerate(self.names.image[self.shown]):
            said[k, : len(ids[image])] = ids[image]
        return {
            "loss": np.array(reference.loss),
            "validation": np.array(held.loss),
            "bleu": np.array(bleu_of_captions([" ".join(row) for row in words], wanted)),
            **self._summed("reference", reference.alpha, self.names, reference.p >= SURE, seed),
            **self._summed("own", spoken.alpha, own, own.there, seed),
            "shown": reference.alpha[self.shown],
            "shown_said": said,
        }

    def _summed(
        self, which: str, alpha: Array, names: Names, right: Array, seed: int
    ) -> dict[str, Array]:
        """Sums over the names of each image: cosines, their number, all names, and SAIF's."""
        grid = Grid(self.pool.bank.side)
        table = compared(grid, alpha, names, self.use.top, "captions", "random places", which, seed)
        n = len(self.pool.test)
        strong = right & (np.nan_to_num(table[:, -1]) >= SURE)
        sums = {"": np.nan_to_num(table), "_there": names.there, "_saif": strong}
        sums["_named"] = np.ones(len(names.image))
        found = {}
        for ending, values in sums.items():
            total = np.zeros((n, *values.shape[1:]))
            np.add.at(total, names.image, values)
            found[which + ending] = total
        return found


def _to_show(use: CaptionSettings, pool: Pool, names: Names) -> Array:
    """The first names, by the number of the photo, of middling boxes, each of another object."""
    told, share = pool.test.told, names.area / PIXELS**2
    chosen: dict[tuple[int, ...], int] = {}
    for row in np.lexsort((names.step, names.caption, told.image_id[names.image])):
        image = int(names.image[row])
        free = not told.licence or not any(word in told.licence[image] for word in KEPT_IN)
        used = any(names.image[k] == image for k in chosen.values())
        if free and not used and 0.05 <= share[row] <= 0.5:
            chosen.setdefault(names.kinds[row], int(row))
        if len(chosen) == use.shown:
            break
    return np.array(list(chosen.values()), int)


def train_part(
    use: CaptionSettings, rule: str, checkpoint: Path, tell: Callable[[int, int], None]
) -> Record:
    """Train all seeds one way; the hybrid goes on from soft attention's weights at the switch."""
    pool = pool_of(use, tell)
    exam = Exam.of(use, pool)
    lengths = (pool.train.y != PAD).sum(-1).amax(-1)
    per_epoch = Epochs(lengths, use.batch).per_epoch
    switch = use.soft_epochs * per_epoch
    soft = checkpoint.parent.parent / "soft"
    members = [
        partial(_member, use, pool, exam, rule, seed, switch, soft / f"switch-{seed}.safetensors")
        for seed in range(use.seeds)
    ]
    at = marks(use, per_epoch, rule)
    record = follow(members, at, checkpoint=checkpoint, report=tell)
    meta = {**_about(use, pool, exam), "rule": rule, "per_epoch": per_epoch}
    return replace(record, final=_pictures(pool, exam), meta=meta)


def _member(
    use: CaptionSettings, pool: Pool, exam: Exam, rule: str, seed: int, switch: int, kept: Path
) -> Course:
    model = model_for(use, pool, seed)
    if rule == "hybrid":
        model.load_state_dict(load_checkpoint(kept)[0])
    lengths = (pool.train.y != PAD).sum(-1).amax(-1)
    order = Epochs(lengths, use.batch, "captions", seed)
    way = "soft" if rule == "soft" else "hard"
    lesson = Lesson(model, pool, way, order, switch if rule == "hybrid" else 0, seed)
    look: Look = "soft" if rule == "soft" else "top"

    def measure(step: int) -> Mapping[str, Array]:
        if rule == "soft" and step == switch:
            save_checkpoint(kept, dict(model.state_dict()), {"step": step})
        return exam.measure(model, look, seed)

    return Course(model, lesson.loss, measure, use.lr)  # type: ignore[arg-type]


def _about(use: CaptionSettings, pool: Pool, exam: Exam) -> dict[str, Any]:
    """What the record says of itself."""
    told, names = pool.test.told, exam.names.take(exam.shown)
    texts = [told.captions[i][k] for i, k in zip(names.image, names.caption, strict=True)]
    words = [caption_words(text)[t] for text, t in zip(texts, names.step, strict=True)]
    return {
        "kinds": list(kinds_of(use.top)),
        "words": list(pool.vocabulary.words),
        "images": {"train": len(pool.train), "validation": len(pool.validation), "test": len(told)},
        "captions": int((pool.train.y != PAD).any(-1).sum()),
        "grid": [pool.bank.side, int(pool.bank.x.shape[1])],
        "names": len(exam.names.image),
        "box_share": box_share(exam.names),
        "shown": [
            {
                "image_id": int(told.image_id[i]),
                "caption": text,
                "word": word,
                "licence": told.licence[i] if told.licence else "",
            }
            for i, text, word in zip(names.image.tolist(), texts, words, strict=True)
        ],
        "notes": list(pool.notes),
    }


def _pictures(pool: Pool, exam: Exam) -> dict[str, Array]:
    """The photos behind the overlays with the boxes of what is named, the same for all members."""
    names = exam.names.take(exam.shown)
    photo = np.zeros((len(exam.shown), PIXELS, PIXELS, 3), np.uint8)
    boxes = [
        [box[1:] for box in pool.test.told.boxes[i] if box[0] in kinds]
        for i, kinds in zip(names.image.tolist(), names.kinds, strict=True)
    ]
    ends = np.full((len(boxes), max(map(len, boxes), default=0), 4), np.nan)
    for k, own in enumerate(boxes):
        photo[k] = pool.photo(int(names.image[k]))
        ends[k, : len(own)] = own
    return {"photo": photo[None], "boxes": ends[None]}
