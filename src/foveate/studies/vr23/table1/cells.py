"""The first table as measured, seed by seed, and differences from the published set-up."""

import numpy as np

from foveate.jobs.experiment import Records
from foveate.metrics.faults import dead_focus
from foveate.metrics.focus import focus_and_prediction, released_heat_map, saif
from foveate.records.published import Cell
from foveate.records.record import Array, Record
from foveate.studies.image_splits import (
    RELEASED,
    mosaic_scores,
    percentages_by_images,
    released_record,
)
from foveate.studies.published import cell
from foveate.studies.vr23.table1 import PUBLISHED_PIXELS, Table1Settings
from foveate.studies.vr23.table1.rows import ROWS, SECOND_RATES, Sizes

__all__ = ["deviations", "middle_share", "relevant_saif", "table1_cells"]

MIDDLE = (0.2, 0.8)  # the middle three rows and columns of the heat map, [vr23] Sec. 2.4


def _known(record: Record) -> tuple[Array, Array]:
    """Focus a_z and probability of the true class of the bags whose relevant segments are known.

    Each (S, n'); the held-out posts of all seeds are the same, and all mosaics are known.
    """
    a_z, p_y = focus_and_prediction(record)
    known = record.final["z"].any(-1).all(0)
    return a_z[:, known], p_y[:, known]


def relevant_saif(record: Record, tau: float = 0.8) -> Array:
    """SAIF in percent over the bags that have relevant segments, one number a seed, shape (S,)."""
    return 100 * saif(*_known(record), tau)


def middle_share(scores: Array) -> Array:
    """Share of bags in the middle rows (or columns) of the heat map, shape (S,).

    Example:
        >>> middle_share(np.array([[0.1, 0.2, 0.5, 0.8]])).tolist()
        [0.5]
    """
    low, high = MIDDLE
    return ((scores >= low) & (scores < high)).mean(1)


def _measures(record: Record) -> dict[str, Array]:
    """Every measure of a training, one number a seed; NaN for a seed whose focus is dead."""
    a_z, p_y = _known(record)
    measures = {
        "SAIF %": relevant_saif(record),
        "accuracy %": 100 * record.last("accuracy"),
        "SAIF, data-range bins %": _released_saif(a_z, p_y),
        "mean a_z": a_z.mean(1),
        "middle focus %": 100 * middle_share(a_z),
        "middle prediction %": 100 * middle_share(p_y),
    }
    dead = _dead(record)
    return {key: np.where(dead, np.nan, values) for key, values in measures.items()}


def _released_saif(a_z: Array, p_y: Array) -> Array:
    """SAIF in percent as the last cell of the released heat map, one number a seed, shape (S,)."""
    return 100 * np.array([released_heat_map(*seed)[-1, -1] for seed in zip(a_z, p_y, strict=True)])


def _dead(record: Record) -> Array:
    """Which seeds have constant focus scores, shape (S,)."""
    seeds = record.meta.get("seeds", range(len(record.last("accuracy"))))
    dead = dead_focus(record) if "s" in record.final else []
    return np.isin(seeds, dead)


def table1_cells(settings: Table1Settings, records: Records) -> list[Cell]:
    """The table as measured, with what each training cost; dead seeds are counted apart."""
    cells = []
    for row in settings.rows:
        group, setting = ROWS[row].group, ROWS[row].setting
        for rule in settings.rules(row):
            record = records[f"{row}-{rule}"]
            values = {**_measures(record), **_costs(record)}
            if (dead := _dead(record)).any():
                values["dead seeds"] = np.full(1, float(dead.sum()))
            cells += [cell((group, rule, k), setting, v) for k, v in values.items()]
            if "seen" in record.final:
                released = percentages_by_images(
                    mosaic_scores(released_record(record)), record.final["seen"]
                )
                cells += [
                    cell((group, rule, k), _released(setting), np.where(dead, np.nan, v))
                    for k, v in released.items()
                ]
    return cells


def _released(setting: str) -> str:
    """The setting of the same models on the released split."""
    return f"{setting}, {RELEASED}" if setting else RELEASED


def _costs(record: Record) -> dict[str, Array]:
    """What a training took: calls of g and f in millions, CPU seconds, and a chosen rate."""
    meta = record.meta
    calls = np.array(meta["classifier_calls"], float)
    costs = {
        "calls of g, millions": calls / 1e6,
        "CPU s a seed": np.full(1, meta["cpu_seconds"] / len(calls)),
    }
    if {"n", "m", "epochs_run"} <= meta.keys():
        costs["calls of f, millions"] = np.full(1, meta["n"] * meta["m"] * meta["epochs_run"] / 1e6)
    if "rate" in meta:
        costs["learning rate"] = np.full(1, meta["rate"])
    return costs


def _images(settings: Table1Settings, records: Records) -> list[str]:
    """From how many images the training mosaics of each row were cut, where that is known."""
    counts = {
        ROWS[row].group: record.meta.get("images")
        for row in settings.images
        for rule in settings.rules(row)[:1]
        if (record := records.get(f"{row}-{rule}")) is not None
    }
    text = [f"{group}: cut from {n:,} training images." for group, n in counts.items() if n]
    if any(group.startswith("CIFAR100") for group in counts):
        text.append(
            "The published CIFAR-100 has 50,000 training images, 500 of each class; of the "
            "background classes there may be fewer here."
        )
    return text


def deviations(settings: Table1Settings, records: Records) -> list[str]:
    """Differences from the published set-up and irregularities of the data, as sentences."""
    text = [
        f"Test mosaics are cut from test images only{_splits(settings)}; each paradigm is read by "
        "its own inference; "
        f"every paradigm has as many {settings.equal} as soft attention, and its calls and seconds "
        "are given."
    ]
    if any(sizes.rates for sizes in settings.sizes.values()):
        text.append(
            "The learning rate of each paradigm is the one of the grid with the highest accuracy "
            "on a fifth of the training bags, which was held out."
        )
    for kind in ("cifar10", "cifar100"):
        if any(ROWS[row].data == f"{kind}-features" for row in settings.rows):
            text.append(_over_features(kind, settings))
    if "pixels" in settings.sizes and any(ROWS[row].setting == "pixels" for row in settings.rows):
        text += _over_pixels(settings.sizes["pixels"])
    text += _images(settings, records)
    for number, kind in ((1, "words"), (2, "context")):
        if any(row.startswith(f"hatexplain-{number}") for row in settings.rows):
            text.append(_of_posts(number, kind, settings))
    notes = dict.fromkeys(n for r in records.values() for n in r.meta.get("notes", ()))
    return [*text, *(f"Data: {note}." for note in notes)]


def _splits(settings: Table1Settings) -> str:
    if settings.split == "clean" or not settings.images:
        return ""
    return ", on the released split from the training images; both are read by the same models"


def _over_features(kind: str, settings: Table1Settings) -> str:
    sizes = dict(settings.sizes)[kind]  # type: ignore[index]
    return (
        f"{kind}: {sizes.n:,} mosaics of frozen features, f and g of one hidden layer of 64, Adam "
        f"{sizes.lr:g} for {sizes.epochs} epochs, in place of 30,000 mosaics of pixels with "
        "convolutional networks, SGD .05 for 150."
    )


def _over_pixels(sizes: Sizes) -> list[str]:
    """A sentence where sizes or training are not the published ones."""
    if sizes == PUBLISHED_PIXELS:
        return []
    return [
        f"Pixels, with the published networks: {sizes.n:,} mosaics, "
        f"{sizes.optimizer} {sizes.lr:g} with batches of {sizes.batch} for {sizes.epochs} epochs, "
        "in place of 30,000 mosaics, SGD .05 with batches of 256 for 150."
    ]


def _of_posts(number: int, kind: str, settings: Table1Settings) -> str:
    sizes = dict(settings.sizes)[kind]  # type: ignore[index]
    text = (
        f"HateXplain-{number}: vocabulary of the training posts alone; SAIF over test posts that "
        f"have a rationale; {sizes.n:,} training posts, "
        f"{sizes.optimizer} {sizes.lr:g} for {sizes.epochs} epochs (published: SGD for 550)."
    )
    if number == 2:
        text += (
            f" The hybrid's rate is multiplied by {SECOND_RATES[2]:g} when it switches, as in the "
            "released code (.008 after .005); nothing goes around the self-attention."
        )
    return text
