"""Synthetic images for tests of the experiment: a block with a distinct feature, and its name."""

from dataclasses import replace

import numpy as np
import torch

from foveate.data.captions import Captioned
from foveate.data.object_words import ObjectWords, caption_words
from foveate.metrics.boxes import PIXELS, box_mask
from foveate.randomness import generator
from foveate.studies.pvr22.captions.settings import CaptionSettings
from foveate.studies.pvr22.captions.sources import Bank, Photo, Pool, side_of
from foveate.text.tokens import Vocabulary

__all__ = ["synthetic_pool"]

NAMES = ("cat", "dog", "kite")
SIDE, D = 6, 8  # places a side, features a place


def synthetic_pool(settings: CaptionSettings) -> Pool:
    """A pool of ``made_up`` images, half of them to learn from and a quarter for each other side.

    Each image has one object, whose places have the object's feature beside noise; half of its
    captions are "a NAME", half "there is a NAME here".
    """
    rng = generator("made-up captions")
    n = settings.made_up
    kind = torch.randint(len(NAMES), (n,), generator=rng).tolist()
    corner = torch.randint(SIDE - 2, (n, 2), generator=rng)
    x = 0.3 * torch.randn(n, D, SIDE, SIDE, generator=rng)
    boxes = []
    for i, (left, top) in enumerate(corner.tolist()):
        x[i, kind[i], top : top + 3, left : left + 3] += 2.0
        ends = (left / SIDE, top / SIDE, (left + 3) / SIDE, (top + 3) / SIDE)
        boxes.append(((kind[i], *ends),))
    texts = tuple(
        tuple(f"a {NAMES[k]}" if j % 2 else f"there is a {NAMES[k]} here" for j in range(4))
        for k in kind
    )
    all_captions = Captioned(np.arange(n), texts, tuple(boxes), np.arange(n), NAMES)
    learnt, validation, test = (
        _part(all_captions, *cut) for cut in ((0, n // 2), (n // 2, 3 * n // 4), (3 * n // 4, n))
    )
    vocabulary = Vocabulary.of(caption_words(t) for captioned in learnt.captions for t in captioned)
    train_side, validation_side, test_side = (
        side_of(settings, captioned, vocabulary) for captioned in (learnt, validation, test)
    )

    def photo(row: int) -> Photo:
        grey = 90 + 110 * box_mask(b[1:] for b in test.boxes[row])
        return np.repeat(grey[..., None], 3, -1).astype(np.uint8).reshape(PIXELS, PIXELS, 3)

    words = ObjectWords([[name] for name in NAMES])
    return Pool(
        Bank(x, train_side.rows), train_side, validation_side, test_side, vocabulary, words, photo
    )


def _part(captioned: Captioned, start: int, end: int) -> Captioned:
    return replace(
        captioned,
        image_id=captioned.image_id[start:end],
        captions=captioned.captions[start:end],
        boxes=captioned.boxes[start:end],
        row=captioned.row[start:end],
    )
