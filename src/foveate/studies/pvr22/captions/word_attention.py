r"""Attention of a captioner when it names an object. [pvr22] Sec. 2, [vr23] Sec. 5

A name is a phrase of ``object_words.csv``; the attention of its last word is compared with the
union of the boxes of those objects in the image that the phrase may stand for. Attention is
up-sampled bilinearly to 224 × 224 (:mod:`foveate.metrics.boxes`), as is all it is compared with.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from foveate.data.object_words import caption_words
from foveate.metrics.boxes import Grid, box_mask, only
from foveate.randomness import generator
from foveate.records.record import Array
from foveate.studies.pvr22.captions.sources import Pool, Side
from foveate.text.models.caption_decoding import CaptionDecoder
from foveate.text.models.captioner import Captioner, ReadRule, counted_words
from foveate.text.models.decoding import beam_search
from foveate.text.tokens import END, PAD, batches

__all__ = [
    "INSIDE",
    "SAIF_THRESHOLD",
    "Names",
    "Read",
    "compared",
    "generate_captions",
    "kinds_of",
    "names_in",
    "padded",
    "read_words",
    "reference_words",
]

SAIF_THRESHOLD = 0.3  # [vr23] Sec. 5: SAIF's threshold for captions
INSIDE = "inside"  # the share of attention within the box
CHUNK = 16  # images read together


@dataclass(frozen=True)
class Names:
    """The positions in captions of N images at which an object is named.

    Args:
        image: Which image, shape (n,).
        caption: Which of its captions, shape (n,).
        step: Which word, shape (n,).
        has_box: Whether the image has a box of such an object, shape (n,).
        low: The boxes' mask as products need it, shape (n, L); 0 where there is none.
        area: Pixels of the mask, shape (n,).
        kinds: The objects that each name may stand for.
    """

    image: Array
    caption: Array
    step: Array
    has_box: Array
    low: Array
    area: Array
    kinds: tuple[tuple[int, ...], ...]

    def take(self, rows: Array) -> "Names":
        """Some of the names."""
        return Names(
            self.image[rows],
            self.caption[rows],
            self.step[rows],
            self.has_box[rows],
            self.low[rows],
            self.area[rows],
            tuple(self.kinds[k] for k in rows),
        )


def names_in(
    pool: Pool, side: Side, captions: Sequence[Sequence[Sequence[str]]], longest: int
) -> Names:
    """Every name of an object in some captions of the images of a side.

    Args:
        pool: Says what names an object, and how many places there are.
        side: The images with their boxes.
        captions: Words of each caption of each image.
        longest: Words beyond are not read.
    """
    grid = Grid(pool.bank.side)
    nothing = (np.zeros(grid.side**2), 0.0)
    masks: dict[tuple[int, ...], tuple[Array, float]] = {}
    rows, low, area, kinds = [], [], [], []
    for i, of_image in enumerate(captions):
        boxes = side.captioned.boxes[i]
        for k, words in enumerate(of_image):
            for name in pool.objects.find(words[:longest]):
                box_rows = tuple(j for j, box in enumerate(boxes) if box[0] in name.categories)
                if box_rows and (i, *box_rows) not in masks:
                    mask = box_mask(boxes[j][1:] for j in box_rows)
                    masks[i, *box_rows] = grid.lowered(mask), float(mask.sum())
                object_mask = masks[i, *box_rows] if box_rows else nothing
                rows.append((i, k, name.position, bool(box_rows)))
                low.append(object_mask[0])
                area.append(object_mask[1])
                kinds.append(name.categories)
    image, caption, step, has_box = np.array(rows, np.int64).reshape(-1, 4).T
    where = np.array(low).reshape(-1, grid.side**2)
    return Names(image, caption, step, has_box.astype(bool), where, np.array(area), tuple(kinds))


@dataclass(frozen=True)
class Read:
    """Attention and probabilities at names in captions.

    Args:
        alpha: Attention at each name, shape (n, L).
        p: Probability of the word there, shape (n,).
        loss: Nats a word over all words.
    """

    alpha: Array
    p: Array
    loss: float


@torch.no_grad()
def read_words(
    model: Captioner, pool: Pool, side: Side, y: Tensor, read_rule: ReadRule, names: Names
) -> Read:
    """Run a model over captions y (N, k, T), word by word given the words before.

    Images with captions of similar length go together, so that little is padded.
    """
    alpha = np.zeros((len(names.image), pool.bank.side**2))
    p, total, count = np.zeros(len(names.image)), 0.0, 0
    image_row = np.zeros(len(y), int)  # of an image among those read with it
    for rows in batches((y != PAD).sum(-1).amax(-1), CHUNK, None):
        targets = y[rows]
        targets = targets[..., : max(1, int((targets != PAD).sum(-1).max()))]
        log_p, output = model.log_prob(pool.bank.take(side.rows[rows]), targets, read_rule)
        counts = counted_words(targets)
        total, count = total - float((log_p * counts).sum()), count + int(counts.sum())
        image_row[rows.numpy()] = np.arange(len(rows))
        (caption_rows,) = np.nonzero(np.isin(names.image, rows.numpy()))
        where = (
            image_row[names.image[caption_rows]],
            names.caption[caption_rows],
            names.step[caption_rows],
        )
        alpha[caption_rows] = output.alpha.numpy()[where]
        p[caption_rows] = log_p.exp().numpy()[where]
    return Read(alpha, p, total / max(1, count))


@torch.no_grad()
def generate_captions(
    model: Captioner, pool: Pool, side: Side, read_rule: ReadRule, *, longest: int, beam: int
) -> list[list[int]]:
    """The captions that a model generates for the images of a side, without END."""
    captions: list[list[int]] = []
    for rows in side.rows.split(2 * CHUNK):
        decoder = CaptionDecoder(model, pool.bank.take(rows), read_rule)
        captions += beam_search(decoder, torch.arange(len(rows)), most=longest, width=beam).words
    return captions


def padded(captions: Sequence[Sequence[int]]) -> Tensor:
    """One caption an image as words with END behind, shape (N, 1, T)."""
    y = torch.full((len(captions), 1, 1 + max(map(len, captions), default=0)), PAD)
    for i, words in enumerate(captions):
        y[i, 0, : len(words) + 1] = torch.tensor([*words, END])
    return y


def kinds_of(tops: Sequence[int]) -> tuple[str, ...]:
    """Names of the columns of :func:`compared`.

    ``uniform`` and ``shuffled`` are controls that [pvr22] lacks: the whole image, and the attention
    itself with its places exchanged. Twenty random positions have a small cosine because they are
    few, whole attention has not.
    """
    per_top = [f"{order}-{k}" for order in ("top", "random") for k in tops]
    return ("full", *per_top, "uniform", "shuffled", INSIDE)


def compared(
    grid: Grid, alpha: Array, names: Names, tops: Sequence[int], *name: str | int
) -> Array:
    """Cosines with the boxes, and the share of attention inside, shape (n, kinds).

    Args:
        grid: Its places and pixels.
        alpha: Attention at the names, shape (n, L).
        names: The names; those of objects that are not there have nan.
        tops: How many places "top" and "random" have.
        name: Decides the random places.
    """
    draws = torch.rand(2, *alpha.shape, generator=generator(*name)).numpy()
    order = draws[1].argsort(1)
    maps = [
        alpha,
        *(only(alpha, k) for k in tops),
        *(only(draws[0], k) for k in tops),
        np.ones_like(alpha),
        np.take_along_axis(alpha, order, 1),
    ]
    with np.errstate(invalid="ignore", divide="ignore"):
        columns = [grid.cosine(part, names.low, names.area) for part in maps]
    columns.append(grid.inside(alpha, names.low))
    return np.where(names.has_box[:, None], np.stack(columns, 1), np.nan)


def reference_words(side: Side, captions: int) -> list[list[list[str]]]:
    """Words of the reference captions that are read."""
    return [[caption_words(text) for text in texts[:captions]] for texts in side.captioned.captions]
