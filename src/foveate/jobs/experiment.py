"""Experiments: parts that leave records, criteria set beforehand, findings, figures."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from foveate.errors import FoveateError
from foveate.jobs.engine import Engine
from foveate.jobs.job import CHECKPOINT, JOBS, Job, Overview
from foveate.jobs.lifecycle import IN_PROCESS, resume_job, start_job
from foveate.papers import statement_of
from foveate.records.checksums import advice, seal_json, verify_json
from foveate.records.findings import Entry, Finding, Revision
from foveate.records.record import Record, write_atomically
from foveate.records.runs import Run
from foveate.registry import Registry
from foveate.settings import Settings
from foveate.types import PartProgress, StepProgress

__all__ = [
    "EXPERIMENTS",
    "SCALES",
    "Experiment",
    "ExperimentJob",
    "Records",
    "Scale",
    "Work",
    "changed_settings",
    "experiment_charts",
    "findings_of",
    "of_run",
    "resume_experiment",
    "scale_title",
    "settings_for",
    "start_experiment",
]

FINDINGS = "findings.json"

Scale = Literal["smoke", "small", "paper"]
SCALES: tuple[Scale, ...] = ("smoke", "small", "paper")
Records = Mapping[str, Record]
Work = Callable[[Path, StepProgress], Record]
"""Computes one part, given a file for its checkpoint and a progress callback."""


class Experiment(ABC):
    """One figure, table or group of claims: a class in a separate file, registered by name.

    An experiment in a folder has ``findings(settings, records)`` in its ``findings.py`` and
    ``figures(settings, records)`` in its ``figures.py``; one in a single file has them as methods.

    Attributes:
        about: One line for lists.
        criteria: For each claim it serves, the criterion, written before any result was seen
            unless ``revisions`` has the claim.
        revisions: For each criterion that was changed after results had been seen: when and why,
            with the earlier criterion and verdict.
        scales: Settings for each scale: "smoke" takes seconds, "small" suits two cores, "paper" is
            the published size.
        long: Whether its small scale takes more than a few minutes; the ledger then runs it only
            when asked to.
        needs: For a part that reads the record of others, their names; all others are independent.
    """

    about: ClassVar[str]
    criteria: ClassVar[Mapping[str, str]] = {}
    revisions: ClassVar[Mapping[str, Revision]] = {}
    scales: ClassVar[Mapping[Scale, Settings]]
    long: ClassVar[bool] = False
    needs: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    @abstractmethod
    def parts(self, settings: Any) -> Mapping[str, Work]:
        """The parts to run, in order; each can be resumed by itself."""

    def findings(self, settings: Any, records: Records) -> list[Finding]:
        """What the records say of each claim in ``criteria``, by ``findings.py`` in its folder."""
        if not self.criteria:
            return []
        findings: list[Finding] = self._function("findings")(settings, records)
        return findings

    def figures(self, settings: Any, records: Records) -> Mapping[str, Any]:
        """Altair charts by name, drawn from the records only, by ``figures.py`` in its folder."""
        charts: Mapping[str, Any] = self._function("figures")(settings, records)
        return charts

    def _function(self, name: str) -> Callable[[Any, Records], Any]:
        """The function ``name`` of the module ``name``, imported on demand: charts are heavy."""
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


@JOBS.register("experiment")
class ExperimentJob(Job):
    """An experiment at a scale, with its settings.

    Args:
        name: A name in :data:`EXPERIMENTS`.
        scale: How large.
        changes: Settings that differ from the scale's.
    """

    def __init__(self, name: str, scale: str, changes: Mapping[str, Any]) -> None:
        self.settings = settings_for(name, scale, changes)
        self.name, self.scale, self.experiment = name, scale, EXPERIMENTS.get(name)()

    @classmethod
    def reopen(cls, run: Run) -> Self:
        config = run.manifest["config"]
        try:
            return cls(config["experiment"], config["scale"], config["settings"])
        except (KeyError, TypeError):
            raise FoveateError(f"{run.path} is not a run of an experiment") from None

    @property
    def label(self) -> str:
        return self.name

    def describe(self) -> dict[str, Any]:
        settings = self.settings.model_dump()
        return {"config": {"experiment": self.name, "scale": self.scale, "settings": settings}}

    def parts(self) -> dict[str, tuple[str, ...]]:
        parts = self.experiment.parts(self.settings)
        return {name: self.experiment.needs.get(name, ()) for name in parts}

    def check(self, progress: PartProgress | None) -> None:
        if not self.parts():
            raise FoveateError(f"these settings leave {self.name} nothing to do")
        for claim in self.experiment.criteria:
            statement_of(claim)  # a claim without a statement is refused before training

    def run_part(self, name: str, folder: Path, progress: StepProgress) -> Record:
        return self.experiment.parts(self.settings)[name](folder / name / CHECKPOINT, progress)

    def finish(self, run: Run) -> dict[str, Any]:
        findings = self.experiment.findings(self.settings, run.records())
        content = seal_json({"findings": [asdict(one) for one in findings]}, indent=2)
        write_atomically(run.path / FINDINGS, content)
        return {}

    def results(self, run: Run) -> dict[str, Any]:
        return {"run": str(run.path), "findings": [asdict(one) for one in findings_of(run)]}

    def print_results(self, run: Run) -> None:
        from foveate.report.terminal.findings import print_findings

        if findings := findings_of(run):  # an experiment may check no claim
            print_findings(findings, self.scale)
        super().print_results(run)

    def write_report(self, run: Run, path: Path) -> Path:
        from foveate.report.pages.experiment import write_experiment_page

        criteria, name = self.experiment.criteria, run.manifest["label"]
        entries = [
            Entry(
                one.claim,
                statement_of(one.claim),
                name,
                criteria[one.claim],
                one,
                scale_title(run.manifest["config"]),
                self.experiment.revisions.get(one.claim),
            )
            for one in findings_of(run)
        ]
        charts = self.experiment.figures(self.settings, run.records())
        return write_experiment_page(run, path, self.experiment.about, entries, charts)

    def figures(self, run: Run, records: Records) -> Mapping[str, Any]:
        return self.experiment.figures(self.settings, records) if run.done else {}

    def overview(self, run: Run, records: Records) -> Overview:
        findings = findings_of(run) if run.done else []
        return super().overview(run, records)._replace(findings=findings)


def settings_for(name: str, scale: str, changes: Mapping[str, Any]) -> Settings:
    """An experiment's settings at a scale, with some of them changed.

    Args:
        name: The experiment.
        scale: One of "smoke", "small", "paper".
        changes: Fields to replace, checked like any other.
    """
    experiment = EXPERIMENTS.get(name)
    if scale not in SCALES:
        raise FoveateError(f"scale must be one of {', '.join(SCALES)}, got '{scale}'")
    usual = experiment.scales[scale]
    return type(usual)(**{**usual.model_dump(), **changes})


def changed_settings(config: Mapping[str, Any]) -> list[str]:
    """Settings in which a run differs from its scale as it is today, by name.

    Args:
        config: The ``config`` of a manifest: experiment, scale and settings.

    Example:
        >>> name = EXPERIMENTS.names()[0]
        >>> usual = settings_for(name, "small", {}).model_dump()
        >>> changed_settings({"experiment": name, "scale": "small", "settings": usual})
        []
    """
    settings_class = EXPERIMENTS.get(config["experiment"]).scales[config["scale"]]
    stored = config["settings"]
    with suppress(FoveateError, ValueError):  # fields that did not exist yet have their defaults
        stored = type(settings_class)(**stored).model_dump()
    usual, stored = (json.loads(json.dumps(some)) for some in (settings_class.model_dump(), stored))
    return [key for key in usual | stored if usual.get(key) != stored.get(key)]


def scale_title(config: Mapping[str, Any]) -> str:
    """The scale of a run in words, with the settings that were changed.

    Example:
        >>> name = EXPERIMENTS.names()[0]
        >>> usual = settings_for(name, "small", {}).model_dump()
        >>> scale_title({"experiment": name, "scale": "small", "settings": usual | {"seed": 1}})
        'small, changed: seed'
    """
    changed = changed_settings(config)
    return config["scale"] + (f", changed: {', '.join(changed)}" if changed else "")


def start_experiment(
    name: str,
    scale: Scale = "small",
    changes: Mapping[str, Any] | None = None,
    *,
    out: Path | None = None,
    report: PartProgress | None = None,
    command: str = "",
    engine: Engine = IN_PROCESS,
) -> Run:
    """Run an experiment in a new run directory.

    Args:
        name: A name in ``foveate list experiments``.
        scale: How large.
        changes: Settings to change.
        out: The directory; None for a new one in the folder of runs.
        report: Called as ``report(part, done, total)``.
        command: The command that repeats it, for the manifest.
        engine: Where its parts are computed.
    """
    job = ExperimentJob(name, scale, changes or {})
    return start_job(job, out=out, report=report, command=command, engine=engine)


def resume_experiment(
    run: Run, report: PartProgress | None = None, engine: Engine = IN_PROCESS
) -> Run:
    """Compute the parts that are missing, then write the findings."""
    return resume_job(run, report, engine, ExperimentJob.reopen(run))


def of_run(run: Run) -> tuple[Experiment, Settings]:
    """The experiment of a run, and its settings."""
    job = ExperimentJob.reopen(run)
    return job.experiment, job.settings


def findings_of(run: Run) -> list[Finding]:
    """The findings that a finished run wrote; those of version 0.1 are a list without checksum."""
    path = run.path / FINDINGS
    try:
        content = json.loads(path.read_text("utf-8"))
        entries = content if isinstance(content, list) else verify_json(path, content)["findings"]
        return [Finding.from_json(entry) for entry in entries]
    except FoveateError:
        raise
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise FoveateError(f"{path} is missing or damaged ({error}){advice(path)}") from None


def experiment_charts(run: Run) -> Mapping[str, Any]:
    """The charts of an experiment run, drawn from its records."""
    job = ExperimentJob.reopen(run)
    return job.experiment.figures(job.settings, run.records())
