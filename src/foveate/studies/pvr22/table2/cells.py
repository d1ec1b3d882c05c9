"""The second table as measured, seed by seed, and differences from the published set-up."""

import numpy as np

from foveate.jobs.experiment import Records
from foveate.metrics.focus import focus_true
from foveate.records.published import Cell
from foveate.records.record import Array, Record
from foveate.studies.image_splits import RELEASED, percentages_by_images, released_record
from foveate.studies.published import cell
from foveate.studies.pvr22.table2 import LAYERS, Table2Settings

__all__ = ["MEASURES", "data_groups", "deviations", "image_counts", "table2_cells"]

MEASURES = {  # as published: name in the record, and what makes it a percentage
    "accuracy %": ("accuracy", 100),
    "FT %": ("ft", 100),
    "FT by α %": ("ft_alpha", 100),
    "FTPT %": ("ftpt", 100),
    "NNZ": ("nnz", 1),
    "Dist": ("dist", 1),
    "Ent, bits": ("ent", 1),
}
GROUPS = {"images": "CIFAR-10", "points": "Gaussians"}
COLLAPSED = 0.8  # accuracy below which a training on Gaussians is counted apart too; chance is 1/3


def _of(records: Records, data: str, name: str, layer: str, measure: str) -> Array:
    """One value a seed, shape (S,)."""
    key, scale = MEASURES[measure]
    return scale * records[f"{data}-{name}-{layer}"].last(key)


def table2_cells(settings: Table2Settings, records: Records) -> list[Cell]:
    """The table as measured, a group a data set and layer."""
    cells = []
    for data in settings.sets:
        for layer in LAYERS:
            for name in settings.variants:
                record = records[f"{data}-{name}-{layer}"]
                for measure in MEASURES:
                    key = (f"{_group(settings, data)}, {layer} layer", name, measure)
                    values = _of(records, data, name, layer, measure)
                    cells.append(cell(key, _setting(settings, data), values))
                if data == "points":
                    cells += _without_collapsed(key[0], name, record)
                cells += _on_released_split(key[0], name, record, _setting(settings, data))
                cells += _costs(
                    f"{_group(settings, data)}, {layer} layer", name, record, settings, data
                )
    return cells


def _on_released_split(group: str, name: str, record: Record, setting: str) -> list[Cell]:
    """Accuracy and FT of the same models on mosaics of the training images, if they were read."""
    if "seen" not in record.final:
        return []
    final = released_record(record).final
    flags = {
        "accuracy": final["log_p"].argmax(-1) == final["y"],
        "FT": focus_true(final["s"], final["z"]),
    }
    where = f"{setting}, {RELEASED}" if setting else RELEASED
    values = percentages_by_images(flags, record.final["seen"])
    return [cell((group, name, measure), where, value) for measure, value in values.items()]


def _group(settings: Table2Settings, data: str) -> str:
    source = settings.of(data).data
    return GROUPS[data] if data == "points" or source.startswith("cifar10") else source


def _setting(settings: Table2Settings, data: str) -> str:
    return "frozen features" if settings.of(data).data.endswith("-features") else ""


def _without_collapsed(group: str, name: str, record: Record) -> list[Cell]:
    """How many seeds ended below :data:`COLLAPSED`, and the means of the others, if there are."""
    accuracy = record.last("accuracy")
    collapsed = accuracy < COLLAPSED
    if not collapsed.any():
        return []
    values = {"collapsed seeds": np.full(1, float(collapsed.sum()))}
    if not collapsed.all():
        values |= {
            "accuracy % without collapsed seeds": 100 * accuracy[~collapsed],
            "FTPT % without collapsed seeds": 100 * record.last("ftpt")[~collapsed],
        }
    return [cell((group, name, measure), "", value) for measure, value in values.items()]


def _costs(
    group: str, name: str, record: Record, settings: Table2Settings, data: str
) -> list[Cell]:
    calls = np.array(record.meta["classifier_calls"], float) / 1e6
    seconds = np.full(1, record.meta["cpu_seconds"] / len(calls))
    setting = _setting(settings, data)
    return [
        cell((group, name, "calls of g, millions"), setting, calls),
        cell((group, name, "CPU s a seed"), setting, seconds),
    ]


def data_groups(settings: Table2Settings) -> dict[str, tuple[str, str]]:
    """How the cells of "images" and "points" are named: their group, without layer, and setting."""
    return {data: (_group(settings, data), _setting(settings, data)) for data in settings.sets}


def image_counts(settings: Table2Settings, records: Records) -> list[str]:
    """From how many images the training mosaics were cut, where that is known, as sentences."""
    if settings.images is None:
        return []
    record = records[f"images-{settings.variants[0]}-{LAYERS[0]}"]
    images = record.meta.get("images")
    group = _group(settings, "images")
    return [f"{group}: mosaics are cut from {images:,} training images."] if images else []


def deviations(settings: Table2Settings, data: str) -> list[str]:
    """Differences from the published set-up on one data set, as sentences."""
    if data == "points":
        sizes = settings.points
        text = [
            "Gaussians: every segment is a fresh draw. Means are over all seeds; where some end "
            f"below an accuracy of {100 * COLLAPSED:.0f} %, those of the others stand beside (the "
            "published rows are of one training each, and one that collapsed was left out)."
        ]
        if (sizes.epochs, sizes.lr, sizes.n) != (2500, 1e-3, 3000):
            text.append(
                f"Adam {sizes.lr:g} for at most {sizes.epochs} epochs on {sizes.n:,} mosaics in "
                "place of 1e-3 for up to 2,500 on 3,000."
            )
        return text
    sizes = settings.of("images")
    text = ["Test mosaics are cut from test images, and all seeds are reported."]
    if settings.split == "released":
        text.append("On the released split the same models are read on mosaics of training images.")
    if sizes.net != "pvr22":
        text.append(
            f"{sizes.n:,} mosaics of {sizes.data}, f and g of one hidden layer of 64, Adam "
            f"{sizes.lr:g} for at most {sizes.epochs} epochs, in place of 30,000 mosaics of "
            "CIFAR-10 pixels with convolutional networks, Adam 5e-4 for at most 50; the last layer "
            "is f's hidden layer."
        )
    else:
        text.append(
            "The map of f's sixth convolution is read by the head of g alone; the CIFAR-10 here "
            "has half of the test images."
        )
    return text
