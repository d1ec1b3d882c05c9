"""What an experiment offers that repeats a published table, besides its findings."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from foveate.errors import FoveateError
from foveate.jobs.experiment import Experiment, Records
from foveate.metrics.intervals import mean_interval
from foveate.records.published import Cell, Key, PublishedTable
from foveate.records.record import Array
from foveate.settings import Settings

__all__ = ["Reproduction", "cell"]

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
    """An experiment whose numbers are kept, beside published ones where there are any.

    Attributes:
        published: The published table, with its title and source.
    """

    published: ClassVar[PublishedTable]

    @abstractmethod
    def cells(self, settings: Any, records: Records) -> list[Cell]:
        """The table as measured."""

    def differs(self, settings: Any, records: Records) -> list[str]:
        """What differs from the published set-up, in sentences."""
        return []

    def runnable(self, settings: Any) -> tuple[Settings, dict[str, str]]:
        """The settings without the groups whose data is not here, and why each is left out."""
        return settings, {}

    def seconds(
        self, settings: Any, report: Callable[[str, int, int], None] | None = None
    ) -> float:
        """An estimate of the seconds on one core, from short measurements."""
        raise FoveateError(f"there is no estimate for {type(self).__name__}: it takes minutes")
