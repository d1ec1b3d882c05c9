"""Evaluation of a captioner on held-out images. [pvr22] Sec. 2, [vr23] Sec. 5"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from foveate.data.object_words import caption_words
from foveate.metrics.bleu import bleu_of_captions
from foveate.metrics.boxes import PIXELS, Grid
from foveate.records.record import Array
from foveate.studies.pvr22.captions.settings import CaptionSettings
from foveate.studies.pvr22.captions.sources import Pool
from foveate.studies.pvr22.captions.word_attention import (
    SAIF_THRESHOLD,
    Names,
    compared,
    generate_captions,
    kinds_of,
    names_in,
    padded,
    read_words,
    reference_words,
)
from foveate.text.models.captioner import Captioner, ReadRule
from foveate.text.tokens import PAD

__all__ = ["CaptionEvaluation"]

UNSHOWN_LICENCES = ("NoDerivs", "NonCommercial")  # photos of such licences are read but not shown


@dataclass(frozen=True)
class CaptionEvaluation:
    """Evaluation of a captioner on held-out images.

    Args:
        settings: The settings.
        pool: The images.
        names: Names of objects in the reference captions of the test images.
        shown: Rows of ``names`` that are kept for figures.
    """

    settings: CaptionSettings
    pool: Pool
    names: Names
    shown: Array

    @classmethod
    def of(cls, settings: CaptionSettings, pool: Pool) -> "CaptionEvaluation":
        """The evaluation on some images; those for figures are chosen before training."""
        words = reference_words(pool.test, settings.captions)
        names = names_in(pool, pool.test, words, settings.longest)
        names = names.take(np.flatnonzero(names.has_box))
        return cls(settings, pool, names, _to_show(settings, pool, names))

    def measure(self, model: Captioner, read_rule: ReadRule, seed: int) -> dict[str, Array]:
        """Loss, BLEU, and for each image what is known of its names, in both kinds of captions."""
        settings, pool = self.settings, self.pool
        none = self.names.take(np.zeros(0, int))
        validation = read_words(
            model, pool, pool.validation, pool.validation.y[:, :1], read_rule, none
        )
        reference = read_words(model, pool, pool.test, pool.test.y, read_rule, self.names)
        ids = generate_captions(
            model, pool, pool.test, read_rule, longest=settings.longest, beam=settings.beam
        )
        words = [pool.vocabulary.decode(row) for row in ids]
        caption_names = names_in(pool, pool.test, [[row] for row in words], settings.longest)
        generated_values = read_words(model, pool, pool.test, padded(ids), read_rule, caption_names)
        targets = [
            [" ".join(caption_words(t)) for t in texts] for texts in pool.test.captioned.captions
        ]
        generated = np.full((len(self.shown), settings.longest), PAD)
        for k, image in enumerate(self.names.image[self.shown]):
            generated[k, : len(ids[image])] = ids[image]
        return {
            "loss": np.array(reference.loss),
            "validation": np.array(validation.loss),
            "bleu": np.array(bleu_of_captions([" ".join(row) for row in words], targets)),
            **self._summed(
                "reference", reference.alpha, self.names, reference.p >= SAIF_THRESHOLD, seed
            ),
            **self._summed(
                "own", generated_values.alpha, caption_names, caption_names.has_box, seed
            ),
            "shown": reference.alpha[self.shown],
            "shown_said": generated,
        }

    def _summed(
        self, prefix: str, alpha: Array, names: Names, right: Array, seed: int
    ) -> dict[str, Array]:
        """Sums over the names of each image: cosines, their number, all names, and SAIF's."""
        grid = Grid(self.pool.bank.side)
        table = compared(
            grid, alpha, names, self.settings.top, "captions", "random places", prefix, seed
        )
        n = len(self.pool.test)
        strong = right & (np.nan_to_num(table[:, -1]) >= SAIF_THRESHOLD)
        sums = {"": np.nan_to_num(table), "_there": names.has_box, "_saif": strong}
        sums["_named"] = np.ones(len(names.image))
        reported = {}
        for ending, values in sums.items():
            total = np.zeros((n, *values.shape[1:]))
            np.add.at(total, names.image, values)
            reported[prefix + ending] = total
        return reported

    def about(self) -> dict[str, Any]:
        """Metadata of the record."""
        pool, settings = self.pool, self.settings
        captioned, names = pool.test.captioned, self.names.take(self.shown)
        texts = [captioned.captions[i][k] for i, k in zip(names.image, names.caption, strict=True)]
        words = [caption_words(text)[t] for text, t in zip(texts, names.step, strict=True)]
        return {
            "kinds": list(kinds_of(settings.top)),
            "words": list(pool.vocabulary.words),
            "images": {
                "train": len(pool.train),
                "validation": len(pool.validation),
                "test": len(captioned),
            },
            "captions": int((pool.train.y != PAD).any(-1).sum()),
            "grid": [pool.bank.side, int(pool.bank.x.shape[1])],
            "names": len(self.names.image),
            "shown": [
                {
                    "image_id": int(captioned.image_id[i]),
                    "caption": text,
                    "word": word,
                    "licence": captioned.licence[i] if captioned.licence else "",
                }
                for i, text, word in zip(names.image.tolist(), texts, words, strict=True)
            ],
            "notes": list(pool.notes),
        }

    def pictures(self) -> dict[str, Array]:
        """The photos of the overlays with the boxes of what is named, the same for all members."""
        pool, names = self.pool, self.names.take(self.shown)
        photo = np.zeros((len(self.shown), PIXELS, PIXELS, 3), np.uint8)
        boxes = [
            [box[1:] for box in pool.test.captioned.boxes[i] if box[0] in kinds]
            for i, kinds in zip(names.image.tolist(), names.kinds, strict=True)
        ]
        ends = np.full((len(boxes), max(map(len, boxes), default=0), 4), np.nan)
        for k, image_boxes in enumerate(boxes):
            photo[k] = pool.photo(int(names.image[k]))
            ends[k, : len(image_boxes)] = image_boxes
        return {"photo": photo[None], "boxes": ends[None]}


def _to_show(settings: CaptionSettings, pool: Pool, names: Names) -> Array:
    """The first names, by the number of the photo, of middling boxes, each of another object."""
    captioned, share = pool.test.captioned, names.area / PIXELS**2
    chosen: dict[tuple[int, ...], int] = {}
    for row in np.lexsort((names.step, names.caption, captioned.image_id[names.image])):
        image = int(names.image[row])
        free = not captioned.licence or not any(
            word in captioned.licence[image] for word in UNSHOWN_LICENCES
        )
        used = any(names.image[k] == image for k in chosen.values())
        if free and not used and 0.05 <= share[row] <= 0.5:
            chosen.setdefault(names.kinds[row], int(row))
        if len(chosen) == settings.shown:
            break
    return np.array(list(chosen.values()), int)
