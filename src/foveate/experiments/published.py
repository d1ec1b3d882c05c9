"""The published tables, and what an experiment that repeats one owes besides its claims."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from foveate.checked import Checked
from foveate.errors import FoveateError
from foveate.experiments.experiment import Experiment, Records
from foveate.metrics.intervals import mean_interval
from foveate.record import Array

__all__ = ["PUBLISHED", "SOURCES", "TITLES", "Cell", "Key", "Reproduction", "cell"]

Key = tuple[str, str, str]
"""Group (a data set and its sizes), name (a paradigm or a map), measure with its unit."""


class Cell(NamedTuple):
    """A measured number of a table.

    Args:
        group: Data set and sizes, as :data:`PUBLISHED` calls them.
        name: What is compared within the group.
        measure: What the number is, with its unit.
        setting: What tells runs of the same group apart ("frozen features").
        mean: Mean over seeds.
        low: Lower end of the 95 % interval, None with one seed.
        high: Upper end.
        seeds: How many seeds.
        values: One a seed, in their order, so that anyone can compare in another way; nothing where
            the interval is not over seeds alone.
    """

    group: str
    name: str
    measure: str
    setting: str
    mean: float
    low: float | None
    high: float | None
    seeds: int
    values: tuple[float, ...] = ()


SHARES = ("accuracy", "SAIF", "FT", "FTPT", "FT by α", "pointing", "seeds that learn")
WITHIN: Mapping[str, tuple[float, float]] = {
    **{f"{name} %": (0.0, 100.0) for name in SHARES},
    **dict.fromkeys(("mean a_z", "bag AUC", "segment AUROC"), (0.0, 1.0)),
}
"""Between what the mean of a measure must lie."""


def cell(key: Key, setting: str, values: Array) -> Cell:
    """A cell from one value a seed, shape (S,).

    Example:
        >>> import numpy as np
        >>> cell(("CIFAR10 m=5", "soft", "SAIF %"), "", np.array([30.0, 34.0])).mean
        32.0
    """
    interval = mean_interval(values, within=WITHIN.get(key[2]))
    kept = tuple(float(f"{value:.6g}") for value in values)
    return Cell(*key, setting, *interval, len(values), kept)


class Reproduction(Experiment):
    """An experiment whose numbers are kept, beside published ones where there are any."""

    @abstractmethod
    def cells(self, use: Any, records: Records) -> list[Cell]:
        """The table as measured."""

    def differs(self, use: Any, records: Records) -> list[str]:
        """What differs from the published set-up, in sentences."""
        return []

    def runnable(self, use: Any) -> tuple[Checked, dict[str, str]]:
        """The settings without the groups whose data is not here, and why each is left out."""
        return use, {}

    def seconds(self, use: Any, report: Callable[[str, int, int], None] | None = None) -> float:
        """An estimate of the seconds on one core, from short measurements."""
        raise FoveateError(f"there is no estimate for {type(self).__name__}: it takes minutes")


TITLES = {
    "table1": "vr23 Table 1: SAIF and accuracy by paradigm",
    "table2": "pvr22 Table 2 and its appendix: maps and layers",
    "captions": "Captions: where the decoder looks when it names an object",
    "witness": "The witness beside the published paradigms and the oracle",
    "trust-validation": "The label-free score of attention against FT",
    "mnist-bags": "MNIST-bags: every paradigm beside torchmil's ABMIL",
    "diagnosis": "Will attention be learnt? Said before training, and what became of it",
}
OURS = ("witness", "trust-validation", "mnist-bags", "diagnosis")
SOURCES = {
    "table1": "[vr23] Table 1",
    "table2": "[pvr22] Table 2; the Gaussians from the authors' repository",
    "captions": "[vr23] Table 1, last row; [pvr22] Sec. 2",
    **dict.fromkeys(OURS, "nothing, this is ours"),
}

_TABLE1 = {  # SAIF %, accuracy % of hard, soft, hybrid, LVML
    "CIFAR10 m=5": ((37.8, 63.3), (37.1, 75.3), (59.0, 76.6), (62.0, 77.9)),
    "CIFAR10 m=20": ((1.9, 42.1), (23.8, 65.2), (38.2, 66.0), (47.2, 71.0)),
    "CIFAR100 m=5": ((13.6, 46.6), (79.2, 83.2), (83.2, 80.0), (77.5, 79.7)),
    "CIFAR100 m=20": ((1.7, 8.2), (67.0, 72.2), (66.8, 71.0), (66.5, 69.0)),
    "HateXplain-1": ((2.7, 54.3), (4.6, 51.6), (21.6, 54.6), (22.6, 54.6)),
    "HateXplain-2": ((23.4, 49.8), (9.2, 49.63), (24.6, 49.0), (19.2, 44.7)),
}
_TABLE2 = {  # accuracy %, FT %, NNZ, Dist, Ent in bits; zeroth layer, then the sixth
    "softmax": ((95.04, 79.77, 4.2315, 0.2594, 1.0272), (95.12, 86.21, 4.7424, 0.2776, 1.1298)),
    "entropy": ((94.76, 79.97, 3.4927, 0.2113, 0.8111), (95.39, 83.64, 3.6073, 0.2175, 0.8466)),
    "sparsemax": ((95.8, 91.43, 1.91, 0.181, 0.4866), (94.23, 85.54, 2.46, 0.2466, 0.7146)),
    "spherical": ((95.17, 91.07, 2.613, 0.2539, 1.064), (95.07, 91.34, 4.7521, 0.3005, 1.2693)),
    "hard": ((92.13, 87.63, 1.311, 0.0259, 0.070), (74.45, 86.5, 1.5031, 0.0378, 0.1150)),
}
_GAUSSIANS = {  # accuracy %, FTPT %; zeroth layer, then the last
    "softmax": ((98.89, 77.50), (99.67, 86.83)),
    "sparsemax": ((98.57, 76.95), (99.76, 87.14)),
    "spherical": ((96.16, 71.38), (99.79, 89.06)),
    "entropy": ((98.8, 80.05), (99.85, 87.87)),
}
_LAYERS = ("zeroth layer", "last layer")

PUBLISHED: Mapping[str, Mapping[Key, float]] = {
    "table1": {
        (group, rule, measure): value
        for group, row in _TABLE1.items()
        for rule, pair in zip(("hard", "soft", "hybrid", "lvml"), row, strict=True)
        for measure, value in zip(("SAIF %", "accuracy %"), pair, strict=True)
    },
    "table2": {
        (f"{data}, {layer}", name, measure): value
        for data, table, measures in (
            ("CIFAR-10", _TABLE2, ("accuracy %", "FT %", "NNZ", "Dist", "Ent, bits")),
            ("Gaussians", _GAUSSIANS, ("accuracy %", "FTPT %")),
        )
        for name, both in table.items()
        for layer, row in zip(_LAYERS, both, strict=True)
        for measure, value in zip(measures, row, strict=True)
    },
    "captions": {
        ("MSCOCO", "hard", "SAIF at .3, %"): 11.1,
        ("MSCOCO", "hard", "BLEU-4"): 10.4,
        ("MSCOCO", "soft", "SAIF at .3, %"): 23.2,
        ("MSCOCO", "soft", "BLEU-4"): 20.9,
        ("MSCOCO", "hybrid", "SAIF at .3, %"): 24.2,
        ("MSCOCO", "hybrid", "BLEU-4"): 20.4,
        ("Alignment with boxes", "full", "cosine"): 0.539,
        ("Alignment with boxes", "top-20", "cosine"): 0.429,
        ("Alignment with boxes", "top-10", "cosine"): 0.367,
        ("Alignment with boxes", "random-20", "cosine"): 0.24,
        ("Alignment with boxes", "random-10", "cosine"): 0.181,
    },
    **{name: {} for name in OURS},
}
