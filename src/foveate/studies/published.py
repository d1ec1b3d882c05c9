"""Interface of experiments that reproduce a published table."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from foveate.errors import FoveateError
from foveate.jobs.experiment import Experiment, Records
from foveate.metrics.intervals import Interval, mean_interval
from foveate.records.causes import Cause
from foveate.records.published import Cell, Key, PublishedTable
from foveate.records.record import Array
from foveate.settings import Settings
from foveate.types import PartProgress

__all__ = ["Reproduction", "SeedValues", "cell", "paired", "seed_values"]

SHARES = (
    *("accuracy", "SAIF", "FT", "FTPT", "FT by α", "FT by another auditor", "pointing"),
    *("middle focus", "middle prediction", "images seen", "seeds that learn"),
    *("SAIF, data-range bins", "SAIF, seen images", "SAIF, unseen images"),
    *("accuracy, seen images", "accuracy, unseen images"),
)
BOUNDS: Mapping[str, tuple[float, float]] = {
    **{f"{name} %": (0.0, 100.0) for name in SHARES},
    "training loss": (0.0, np.inf),
    **dict.fromkeys(
        (
            "attention on the topic word",
            "mean a_z",
            "bag AUC",
            "segment AUROC",
            "AUC, clue reversed",
            "AUC, as in training",
        ),
        (0.0, 1.0),
    ),
}
"""Between what the mean of a measure must lie."""


def cell(key: Key, setting: str, values: Array) -> Cell:
    """A cell from one value per seed, shape (S,); seeds with a dead focus are NaN and not averaged.

    Example:
        >>> cell(("CIFAR10 m=5", "soft", "SAIF %"), "", np.array([30.0, 34.0])).mean
        32.0
    """
    finite = values[np.isfinite(values)]
    bounds = BOUNDS.get(key[2])
    interval = mean_interval(finite, within=bounds) if len(finite) else Interval(0.0, None, None)
    rounded = tuple(float(f"{v:.6g}") if np.isfinite(v) else None for v in values)
    return Cell(*key, setting, *interval, len(finite), rounded)


SeedValues = Mapping[tuple[str, str, str, str], Array]
"""One number a seed by group, setting, name and measure; NaN for a dead seed."""


def seed_values(cells: Iterable[Cell]) -> dict[tuple[str, str, str, str], Array]:
    """The numbers behind measured cells, seed by seed.

    Args:
        cells: Measured, or read from stored results.
    """
    return {
        (c.group, c.setting, c.name, c.measure): np.array(
            [np.nan if v is None else v for v in c.values], float
        )
        for c in cells
    }


def paired(one: Array, other: Array) -> Array:
    """Differences over the seeds that are finite in both, shape (S',).

    Example:
        >>> paired(np.array([3.0, np.nan, 5.0]), np.array([1.0, 1.0, 1.0])).tolist()
        [2.0, 4.0]
    """
    seeds = min(len(one), len(other))
    difference = one[:seeds] - other[:seeds]
    return difference[np.isfinite(difference)]


class Reproduction(Experiment):
    """An experiment with stored numbers, compared with published ones if there are any.

    Attributes:
        published: The published table, with its title and source.
        causes: Why measured numbers differ from published ones; the first that applies counts.
    """

    published: ClassVar[PublishedTable]
    causes: ClassVar[Sequence[Cause]] = ()

    @abstractmethod
    def cells(self, settings: Any, records: Records) -> list[Cell]:
        """The table as measured."""

    def cell_figures(self, cells: Sequence[Cell]) -> Mapping[str, Any]:
        """The figures that need the table only, so that stored results suffice."""
        return {}

    def differs(self, settings: Any, records: Records) -> list[str]:
        """Differences from the published set-up, as sentences."""
        return []

    def runnable(self, settings: Any) -> tuple[Settings, dict[str, str]]:
        """The settings without the groups whose data is missing, and why each is left out."""
        return settings, {}

    def seconds(self, settings: Any, report: PartProgress | None = None) -> float:
        """An estimate of the seconds on one core, from short measurements.

        Args:
            settings: Of the experiment.
            report: Called as ``report("a step of each part", done, total)``.
        """
        raise FoveateError(f"there is no estimate for {type(self).__name__}: it takes minutes")
