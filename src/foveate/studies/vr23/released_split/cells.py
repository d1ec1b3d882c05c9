"""Numbers of the released-split study on the clean and the released split."""

from typing import NamedTuple

import numpy as np

from foveate.jobs.experiment import Records
from foveate.metrics.focus import attention_on, focus_and_prediction, label_probability
from foveate.records.published import Cell
from foveate.records.record import Array, Record
from foveate.studies.published import cell
from foveate.studies.vr23.released_split import GROUPS, ReleasedSplitSettings

__all__ = ["Scores", "clean_scores", "deviations", "released_scores", "released_split_cells"]

CLEAN, RELEASED = "clean split", "released split"
TAU = 0.8  # [vr23] Sec. 2.4


class Scores(NamedTuple):
    """Which test bags are predicted correctly, and which count for SAIF, each (S, n)."""

    correct: Array
    strong: Array


def clean_scores(record: Record) -> Scores:
    """The scores on mosaics of test images."""
    a_z, p_y = focus_and_prediction(record)
    correct = record.final["log_p"].argmax(-1) == record.final["y"]
    return Scores(correct, (a_z >= TAU) & (p_y >= TAU))


def released_scores(record: Record) -> Scores:
    """The scores on new mosaics of training images."""
    final = record.final
    log_p = final["released_log_p"].astype(np.float64)
    a_z = attention_on(final["released_alpha"].astype(np.float64), final["released_z"])
    p_y = label_probability(log_p, final["released_y"])
    return Scores(log_p.argmax(-1) == final["released_y"], (a_z >= TAU) & (p_y >= TAU))


def _percent(flags: Array, where: Array | None = None) -> Array:
    """Share of bags in percent for every seed, over all or over some of them, shape (S,)."""
    weight = np.ones(flags.shape) if where is None else where.astype(float)
    return 100 * (flags * weight).sum(-1) / weight.sum(-1)


def released_split_cells(settings: ReleasedSplitSettings, records: Records) -> list[Cell]:
    """The table: both splits, and the released one apart by whether an image was seen."""
    cells = []
    for data in settings.data:
        group = f"{GROUPS[data]} m={settings.m}"
        for rule in settings.rules:
            record = records[f"{data}-{rule}"]
            clean, released = clean_scores(record), released_scores(record)
            seen = record.final["seen"]
            cells += [
                cell((group, rule, "SAIF %"), CLEAN, _percent(clean.strong)),
                cell((group, rule, "accuracy %"), CLEAN, _percent(clean.correct)),
                cell((group, rule, "SAIF %"), RELEASED, _percent(released.strong)),
                cell((group, rule, "accuracy %"), RELEASED, _percent(released.correct)),
            ]
            for title, where in (("seen", seen), ("unseen", ~seen)):
                if where.any(-1).all():
                    cells += [
                        cell((group, rule, f"SAIF, {title} images %"), RELEASED,
                             _percent(released.strong, where)),
                        cell((group, rule, f"accuracy, {title} images %"), RELEASED,
                             _percent(released.correct, where)),
                    ]  # fmt: skip
            cells.append(cell((group, rule, "images seen %"), RELEASED, _percent(seen)))
    return cells


def deviations(settings: ReleasedSplitSettings, records: Records) -> list[str]:
    """Differences from the published set-up, with the number of images, as sentences."""
    sentences = [
        "Frozen features with f and g of one hidden layer of 64, Adam "
        f"{settings.lr:g} with batches of {settings.batch} for {settings.epochs} epochs, in place "
        "of convolutional networks on pixels, SGD .05 for 150.",
        "Both splits are read by the same trained models: only the test mosaics differ.",
    ]
    for data in settings.data:
        meta = records[f"{data}-{settings.rules[0]}"].meta
        sentences.append(
            f"{GROUPS[data]}: {meta['n']:,} training mosaics of {meta['images']:,} images."
        )
    if "cifar100-features" in settings.data:
        sentences.append(
            "The published CIFAR-100 has 50,000 training images; where fewer are counted above, "
            "those missing are background."
        )
    return sentences
