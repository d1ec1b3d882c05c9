"""Estimated cost of the captioning experiment, from a step of each kind."""

import time

import torch

from foveate.data.files.parquet import count_rows, split_files
from foveate.randomness import generator
from foveate.studies.pvr22.captions.settings import CaptionSettings
from foveate.studies.pvr22.captions.sources import encoder_of, folder_of
from foveate.text.loop import built
from foveate.text.models.captioner import Captioner, counted_words, sampled_loss, word_loss
from foveate.text.tokens import MARKS
from foveate.types import PartProgress

__all__ = ["seconds_of"]

POSITIONS, WORDS, LENGTH = 196, 10_000, 12  # of COCO: a vocabulary, and words to a caption


def seconds_of(settings: CaptionSettings, report: PartProgress | None = None) -> float:
    """Seconds on one core: encoding, and the steps of all paradigms; measuring is left out.

    Steps are timed with a vocabulary of COCO's size, which a smaller set does not reach.
    """
    if settings.made_up:
        images, encoding, d = settings.made_up // 2, 0.0, 8
    else:
        parts = [split_files(folder_of(name)) for name in settings.sets]
        rows = {
            split: sum(count_rows(file) for files in parts for file in files.get(split, ()))
            for split in ("train", "test", "all")
        }
        images = rows["train"] + rows["all"]
        per_image, d = _encoding(settings)
        encoding = per_image * sum(rows.values())
    steps = -(-images // settings.batch) * settings.seeds
    cost = {}
    for done, read_rule in enumerate(("soft", "sampled"), 1):
        cost[read_rule] = _step(settings, d, read_rule == "soft")
        if report is not None:
            report("a step of each kind", done, 2)
    soft, hard = (
        settings.epochs * cost["soft"],
        (settings.epochs + settings.hard_epochs) * cost["sampled"],
    )
    return encoding + steps * (soft + hard)


def _encoding(settings: CaptionSettings) -> tuple[float, int]:
    """Seconds to encode an image, and the features of a place."""
    network = encoder_of(settings).build()
    x = torch.full((4, 3, settings.image_side, settings.image_side), 0.5)
    with torch.inference_mode():
        network(x)
        start = time.process_time()
        h = network(x)
    return (time.process_time() - start) / len(x), int(h.shape[1])


def _step(settings: CaptionSettings, d: int, soft: bool) -> float:
    """Seconds of one step, after a first one that is not counted."""
    sizes = {"embed": settings.embed, "hidden": settings.hidden, "attention": settings.attention}
    model = built(lambda: Captioner(WORDS, d, **sizes), "cost of captions")
    assert isinstance(model, Captioner)
    rng = generator("cost of captions")
    a = torch.randn(settings.batch, POSITIONS, d, generator=rng)
    y = torch.randint(len(MARKS), WORDS, (settings.batch, settings.captions, LENGTH), generator=rng)
    seconds = 0.0
    for _ in range(2):
        start = time.process_time()
        log_p, output = model.log_prob(a, y, "soft" if soft else "sampled", rng)
        loss = (
            word_loss(log_p, counted_words(y))
            if soft
            else sampled_loss(log_p, output.log_pi, counted_words(y), model.baseline)
        )
        loss.backward()
        seconds = time.process_time() - start
    return seconds
