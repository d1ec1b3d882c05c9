"""The table: scores of every method on every set, and means over design and confirmation sets."""

from collections.abc import Iterator

import numpy as np

from foveate.jobs.experiment import Records
from foveate.records.published import Cell
from foveate.records.record import Record
from foveate.studies.beyond.real_bags.sets import SETS
from foveate.studies.published import cell
from foveate.types import Array
from foveate.userdata.ensemble import MIXTURE

__all__ = ["MEANS", "MEASURES", "mean_cells", "real_cells", "values_of"]

MEASURES = {
    "auroc": ("bag AUC", 1),
    "accuracy": ("accuracy %", 100),
    "log_loss": ("log loss", 1),
    "macro_f1": ("macro F1", 1),
    "micro_f1": ("micro F1", 1),
    "hamming_loss": ("Hamming loss", 1),
    "subset_accuracy": ("subset accuracy %", 100),
}
POINTS = {
    "ft": ("pointing %", 100),
    "segment_auroc": ("segment AUROC", 1),
    "removal": ("removal", 1),
}
MEANS = {
    "design": "Mean of the design sets",
    "confirmation": "Mean of the confirmation sets",
    "fresh": "Mean of the fresh sets",
}
Values = dict[tuple[str, str, str], list[float]]
"""One number per draw of folds, by set, name and measure."""


def values_of(records: Records) -> Values:
    """The numbers of all records; the name of a map is that of the model and of the map."""
    values: Values = {}
    for record in records.values():
        for name, measure, value in _entries(record):
            values.setdefault((record.meta["set"], name, measure), []).append(value)
    return values


def real_cells(records: Records) -> list[Cell]:
    """A cell per set, method and measure; then means over sets, weighing sets alike."""
    values = values_of(records)
    order = [name for name in SETS if any(key[0] == name for key in values)]
    cells = [
        cell((SETS[name].title, method, measure), "", np.array(numbers))
        for name in order
        for (set_name, method, measure), numbers in values.items()
        if set_name == name
    ]
    return [*cells, *mean_cells(values)]


def mean_cells(values: Values) -> list[Cell]:
    """Means over the design, the confirmation and the fresh sets, which are weighed alike."""
    cells = []
    for role, title in MEANS.items():
        of_role = [name for name, real_set in SETS.items() if real_set.role == role]
        cells += _means(values, of_role, title)
    return cells


def _entries(record: Record) -> Iterator[tuple[str, str, float]]:
    for key, value in record.final.items():
        name, *kind, measure = key.split("/")
        titles = POINTS if kind else MEASURES
        title, scale = titles[measure]
        yield (f"{name}, {kind[0]}" if kind else name), title, scale * float(value)


def _means(values: Values, sets: list[str], title: str) -> list[Cell]:
    """Means over the sets that have the measure; a method must have all of them.

    Where the mixture has a measure on some of them, these are the sets that count.
    """
    measured: dict[str, set[str]] = {}
    of_mixture: dict[str, set[str]] = {}
    for name, method, measure in values:
        if name in sets:
            measured.setdefault(measure, set()).add(name)
            if method == MIXTURE:
                of_mixture.setdefault(measure, set()).add(name)
    measured |= of_mixture
    cells = []
    for method, measure in dict.fromkeys(key[1:] for key in values):
        counted = measured.get(measure, set())
        with_value = [
            name for name in sets if name in counted and (name, method, measure) in values
        ]
        if len(with_value) < 2 or set(with_value) != counted:
            continue
        means: Array = np.array([np.mean(values[name, method, measure]) for name in with_value])
        cells.append(
            Cell(title, method, measure, "", float(means.mean()), None, None, len(with_value))
        )
    return cells
