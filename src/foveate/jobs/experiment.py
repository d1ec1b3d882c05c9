"""What an experiment is: parts that leave records, criteria set beforehand, findings, figures."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Literal

from foveate.errors import FoveateError
from foveate.records.findings import Finding
from foveate.records.record import Record
from foveate.registry import Registry
from foveate.settings import Settings

__all__ = ["EXPERIMENTS", "SCALES", "Experiment", "Records", "Scale", "Work"]

Scale = Literal["smoke", "small", "paper"]
SCALES: tuple[Scale, ...] = ("smoke", "small", "paper")
Records = Mapping[str, Record]
Work = Callable[[Path, Callable[[int, int], None]], Record]
"""Does one part, given a file for its checkpoint and a call to report (done, total)."""


class Experiment(ABC):
    """One figure, table or group of claims: a class in a file of its own, registered by name.

    An experiment in a folder has ``findings(settings, records)`` in its ``findings.py`` and
    ``figures(settings, records)`` in its ``figures.py``; one in a single file has them as methods.

    Attributes:
        about: One line for lists.
        criteria: For each claim it serves, the criterion, written before any result was seen.
        scales: Settings for each scale: "smoke" takes seconds, "small" suits two cores, "paper" is
            the published size.
        long: Whether its small scale takes more than a few minutes; the ledger then runs it only
            when asked to.
        needs: For a part that reads the record of others, their names; all others are independent.
    """

    about: ClassVar[str]
    criteria: ClassVar[Mapping[str, str]] = {}
    scales: ClassVar[Mapping[Scale, Settings]]
    long: ClassVar[bool] = False
    needs: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    @abstractmethod
    def parts(self, settings: Any) -> Mapping[str, Work]:
        """The parts to run, in order; each can be resumed by itself."""

    def findings(self, settings: Any, records: Records) -> list[Finding]:
        """What the records say of each claim in ``criteria``, by ``findings.py`` in its folder."""
        found: list[Finding] = self._own("findings")(settings, records) if self.criteria else []
        return found

    def figures(self, settings: Any, records: Records) -> Mapping[str, Any]:
        """Altair charts by name, drawn from the records alone, by ``figures.py`` in its folder."""
        charts: Mapping[str, Any] = self._own("figures")(settings, records)
        return charts

    def _own(self, name: str) -> Callable[[Any, Records], Any]:
        """The function of the module of its name, imported when asked for: charts are heavy."""
        function: Callable[[Any, Records], Any] = getattr(
            import_module(f"{type(self).__module__}.{name}"), name
        )
        return function


def _check_usable(kind: type[Experiment]) -> None:
    if not issubclass(kind, Experiment):
        raise FoveateError("a study must be a subclass of foveate.jobs.experiment.Experiment")
    kind()


EXPERIMENTS: Registry[type[Experiment]] = Registry(
    "experiment",
    package="foveate.studies",
    nested=True,
    group="foveate.studies",
    check=_check_usable,
)
