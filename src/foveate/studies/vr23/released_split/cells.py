"""Numbers of the released-split study on the clean and the released split."""

from foveate.jobs.experiment import Records
from foveate.records.published import Cell
from foveate.studies.image_splits import (
    RELEASED,
    mosaic_scores,
    percentages_by_images,
    released_record,
)
from foveate.studies.published import cell
from foveate.studies.vr23.released_split import GROUPS, ReleasedSplitSettings

__all__ = ["CLEAN", "deviations", "released_split_cells"]

CLEAN = "clean split"


def released_split_cells(settings: ReleasedSplitSettings, records: Records) -> list[Cell]:
    """The table: both splits, and the released one apart by whether an image was seen."""
    cells = []
    for data in settings.data:
        group = f"{GROUPS[data]} m={settings.m}"
        for rule in settings.rules:
            record = records[f"{data}-{rule}"]
            clean = {k: 100 * v.mean(-1) for k, v in mosaic_scores(record).items()}
            released = percentages_by_images(
                mosaic_scores(released_record(record)), record.final["seen"]
            )
            cells += [cell((group, rule, f"{k} %"), CLEAN, v) for k, v in clean.items()]
            cells += [cell((group, rule, k), RELEASED, v) for k, v in released.items()]
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
