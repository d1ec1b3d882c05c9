"""What the records of the second table say of its claims."""

import numpy as np

from foveate.jobs.experiment import Records
from foveate.metrics.intervals import Interval, difference_interval, mean_interval
from foveate.records.findings import Finding
from foveate.records.published import Cell
from foveate.records.record import Array, Record
from foveate.studies.published import cell
from foveate.studies.pvr22.table2 import LAYERS, VARIANTS, Table2Settings
from foveate.studies.verdicts import above, below, in_words, verdict_of

__all__ = ["MEASURES", "deviations", "findings", "table2_cells"]

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
SPARSER = ("entropy", "sparsemax", "spherical", "hard")


def _of(records: Records, data: str, name: str, layer: str, measure: str) -> Array:
    """One value a seed, shape (S,)."""
    key, scale = MEASURES[measure]
    return scale * records[f"{data}-{name}-{layer}"].last(key)


def _gain(records: Records, measure: str, one: tuple[str, str], other: tuple[str, str]) -> Interval:
    """A measure of one (variant, layer) minus that of another, on images, over paired seeds."""
    return mean_interval(
        _of(records, "images", *one, measure) - _of(records, "images", *other, measure)
    )


def table2_cells(settings: Table2Settings, records: Records) -> list[Cell]:
    """The table as measured, a group a data set and layer."""
    cells = []
    for data in settings.sets:
        for layer in LAYERS:
            for name in VARIANTS:
                own = records[f"{data}-{name}-{layer}"]
                for measure in MEASURES:
                    key = (f"{_group(settings, data)}, {layer} layer", name, measure)
                    values = _of(records, data, name, layer, measure)
                    cells.append(cell(key, _setting(settings, data), values))
                cells += _costs(
                    f"{_group(settings, data)}, {layer} layer", name, own, settings, data
                )
    return cells


def _group(settings: Table2Settings, data: str) -> str:
    source = settings.of(data).data
    return GROUPS[data] if data == "points" or source.startswith("cifar10") else source


def _setting(settings: Table2Settings, data: str) -> str:
    return "frozen features" if settings.of(data).data.endswith("-features") else ""


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


def findings(settings: Table2Settings, records: Records) -> list[Finding]:
    """One finding a claim; none without images, of which most claims speak."""
    if settings.images is None:
        return []
    said = " ".join(deviations(settings, "images"))
    both = f"{said} {' '.join(deviations(settings, 'points'))}"
    return [
        _sparse_maps(records, said),
        _last_layer(records, said),
        _hard(records, said),
        _sparsity(records, said),
        _gaussians(records, both),
    ]


def _finding(
    claim: str, met: list[bool], effect: Interval, measure: str, words: list[str],
    figure: str, deviation: str,
) -> Finding:  # fmt: skip
    counted = f"{sum(met)} of {len(met)} conditions met."
    return Finding(
        claim, verdict_of(met), *effect, measure, f"{'; '.join(words)}. {counted}", figure,
        deviation.rstrip("."),
    )  # fmt: skip


def _sparse_maps(records: Records, deviation: str) -> Finding:
    gains = {
        name: _gain(records, "FT %", (name, "zeroth"), ("softmax", "zeroth"))
        for name in ("sparsemax", "spherical", "entropy")
    }
    deep = _gain(records, "FT %", ("sparsemax", "last"), ("softmax", "last"))
    met = [
        above(gains["sparsemax"], 10),
        above(gains["spherical"], 10),
        abs(gains["entropy"].mean) < 5,
        deep.mean < 0,
    ]
    words = [f"FT over softmax at the zeroth layer, {k}: {in_words(v)}" for k, v in gains.items()]
    words.append(f"sparsemax at the last layer: {in_words(deep)}")
    measure = "FT, sparsemax minus softmax at the zeroth layer, points"
    return _finding("pvr22:C6", met, gains["sparsemax"], measure, words, "focus", deviation)


def _last_layer(records: Records, deviation: str) -> Finding:
    gains = {
        name: _gain(records, "FT %", (name, "last"), (name, "zeroth"))
        for name in ("softmax", "entropy", "sparsemax", "spherical")
    }
    met = [above(gains[name]) for name in ("softmax", "entropy")]
    words = [f"FT, last minus zeroth layer, {k}: {in_words(v)}" for k, v in gains.items()]
    measure = "FT of softmax, last minus zeroth layer, points"
    return _finding("pvr22:C7", met, gains["softmax"], measure, words, "focus", deviation)


def _hard(records: Records, deviation: str) -> Finding:
    met, words, effects = [], [], []
    for layer in LAYERS:
        focus, accuracy = (
            _gain(records, measure, ("hard", layer), ("softmax", layer))
            for measure in ("FT %", "accuracy %")
        )
        met += [above(focus), below(accuracy)]
        effects.append(focus)
        words.append(f"{layer} layer: FT {in_words(focus)}, accuracy {in_words(accuracy)}")
    measure = "FT, hard minus softmax at the zeroth layer, points"
    return _finding("pvr22:C8", met, effects[0], measure, words, "focus", deviation)


def _sparsity(records: Records, deviation: str) -> Finding:
    met, words, effects = [], [], []
    for name in SPARSER:
        count, bits = (
            _gain(records, measure, (name, "zeroth"), ("softmax", "zeroth"))
            for measure in ("NNZ", "Ent, bits")
        )
        met += [below(count), below(bits)]
        effects.append(bits)
        words.append(f"{name}: NNZ {in_words(count, 2)}, Ent {in_words(bits, 2)}")
    largest = max(effects, key=lambda bits: bits.mean)
    measure = "Ent minus softmax's at the zeroth layer, bits, the variant that lowers it least"
    return _finding("pvr22:C11", met, largest, measure, words, "sparsity", deviation)


def _gaussians(records: Records, deviation: str) -> Finding:
    met, words, effects = [], [], []
    for name in ("softmax", "entropy"):
        gains = [
            _of(records, data, name, "last", "FT %") - _of(records, data, name, "zeroth", "FT %")
            for data in ("points", "images")
        ]
        more = difference_interval(*gains)
        met.append(above(more))
        effects.append(more)
        words.append(
            f"{name}: the last layer adds {gains[0].mean():+.1f} points of FT on the Gaussians and "
            f"{gains[1].mean():+.1f} on images, difference {in_words(more)}"
        )
    for layer in LAYERS:
        fall = mean_interval(
            _of(records, "points", "hard", layer, "FTPT %")
            - _of(records, "points", "softmax", layer, "FTPT %")
        )
        met.append(below(fall, -10))
        words.append(f"hard minus softmax on the Gaussians, {layer} layer: FTPT {in_words(fall)}")
    measure = "what the last layer adds to FT of softmax, Gaussians minus images, points"
    return _finding("pvr22:C13", met, effects[0], measure, words, "gaussians", deviation)


def deviations(settings: Table2Settings, data: str) -> list[str]:
    """What differs from the published set-up on one data set, in sentences."""
    if data == "points":
        sizes = settings.points
        text = ["Gaussians: every segment is a fresh draw."]
        if (sizes.epochs, sizes.lr, sizes.n) != (2500, 1e-3, 3000):
            text.append(
                f"Adam {sizes.lr:g} for at most {sizes.epochs} epochs on {sizes.n:,} mosaics in "
                "place of 1e-3 for up to 2,500 on 3,000."
            )
        return text
    sizes = settings.of("images")
    text = ["Test mosaics are cut from test images, and all seeds are reported."]
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
