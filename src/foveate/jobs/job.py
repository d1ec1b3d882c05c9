"""The contract of a job: a run directory's settings, parts, results and pages.

A kind of job is one class in one file of this package, registered in :data:`JOBS` under the name
that manifests store as ``kind``. :mod:`foveate.jobs.lifecycle` starts, resumes and finishes every
kind; the command line, the lab and the workers call the methods below and nothing else.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from foveate.errors import FoveateError
from foveate.records.record import Record
from foveate.records.runs import Run
from foveate.registry import Registry
from foveate.types import PartProgress, StepProgress

if TYPE_CHECKING:
    from foveate.bags.bag import Bag
    from foveate.records.findings import Finding
    from foveate.report.outcomes import Outcome
    from foveate.report.trust_files import DeclaredEvidence
    from foveate.training.stack import Stack
    from foveate.trust.subject import Subject

__all__ = [
    "CHECKPOINT",
    "JOBS",
    "Job",
    "NewBags",
    "Overview",
    "TrainedPart",
    "job_class",
    "open_job",
    "open_trained",
    "show_results",
]

CHECKPOINT = "checkpoint.safetensors"


class NewBags(NamedTuple):
    """Labelled bags in a file, for models that have not seen them.

    Args:
        path: The file or folder.
        columns: Keywords of :func:`foveate.io.read_bags`, where they differ from the run's.
    """

    path: Path
    columns: Mapping[str, Any]


class TrainedPart(NamedTuple):
    """Trained members of one part, and labelled bags to examine them on.

    Args:
        name: The part, a paradigm's name.
        models: The members, or what reads each bag by models that were not trained on it.
        bags: The bags of all members, or one set per member.
        classes: Names of the classes.
        known: True for bags whose relevant segments are known, shape (n,); None for all or none.
        ids: Names of the bags; None where they have none.
        more: Further labelled bags, those that the members were trained on; None where unavailable.
        labels: Labels of the bags besides their class, boolean (n, L); None where there are none.
    """

    name: str
    models: "Stack | Subject"
    bags: "Bag | list[Bag]"
    classes: Sequence[str]
    known: Any = None
    ids: Sequence[str] | None = None
    more: "Bag | None" = None
    labels: Any = None


class Overview(NamedTuple):
    """What a page shows of a run besides its curves.

    Args:
        unfinished: A sentence about missing parts; empty if there are none.
        summary: The outcome in a sentence.
        outcomes: One per part whose final scores can be compared.
        findings: Checked claims.
        classes: Names of the classes.
        setup: Tables of settings: title, rows.
    """

    unfinished: str = ""
    summary: str = ""
    outcomes: "Sequence[Outcome]" = ()
    findings: "Sequence[Finding]" = ()
    classes: Sequence[str] = ()
    setup: Any = ()


class Job(ABC):
    """One kind of run: how its parts are computed, finished and shown.

    An instance holds resolved settings. ``folder`` is always the run's directory; a part writes
    into ``folder / name`` and may keep a checkpoint in ``folder / name / CHECKPOINT``, which is
    removed when the part is finished.

    Attributes:
        kind: The name that manifests store, set by registration.
        comparable: Whether several runs can be shown on one page by :meth:`compare`.
        keeps_models: Whether runs keep trained models and bags: :meth:`trained_parts` is defined.
        draws_thinned: Whether figures may be drawn from records with fewer moments.
        per_label: Whether there is one model per label, each with a run directory.
    """

    kind: ClassVar[str]
    comparable: ClassVar[bool] = False
    keeps_models: ClassVar[bool] = False
    draws_thinned: ClassVar[bool] = False
    per_label: ClassVar[bool] = False

    # Execution

    @property
    @abstractmethod
    def label(self) -> str:
        """What is run, for the name of the run directory and for titles."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Entries of the manifest; ``config`` must be enough for :meth:`reopen`."""

    @abstractmethod
    def parts(self) -> Mapping[str, tuple[str, ...]]:
        """Names of the parts in order, each with the parts whose files it reads."""

    @abstractmethod
    def run_part(self, name: str, folder: Path, progress: StepProgress) -> Record:
        """Compute one part; its record is written by the caller, as the part's last file.

        Args:
            name: The part.
            folder: The run's directory.
            progress: Called as ``progress(done, total)``.
        """

    @abstractmethod
    def finish(self, run: Run) -> dict[str, Any]:
        """Write what is computed from all parts; returns further entries of the manifest."""

    @classmethod
    @abstractmethod
    def reopen(cls, run: Run) -> Self:
        """The job of a run directory, from its manifest; data are read when they are needed."""

    def check(self, progress: PartProgress | None) -> None:  # noqa: B027
        """Load inputs and raise for what cannot work, before a run directory is made."""

    def write_inputs(self, folder: Path, *, for_workers: bool) -> tuple[str, ...]:
        """Write the files that parts read.

        Args:
            folder: The run's directory.
            for_workers: Whether other processes compute parts.

        Returns:
            Names of temporary folders that workers need; they are removed in the end.
        """
        del folder, for_workers
        return ()

    # Presentation

    @abstractmethod
    def results(self, run: Run) -> dict[str, Any]:
        """The numbers of a finished run, for JSON."""

    @abstractmethod
    def write_report(self, run: Run, path: Path) -> Path:
        """Write the page of a run."""

    def print_results(self, run: Run) -> None:
        """Print the results of a finished run, and where its page is."""
        print(f"report: {run.path / 'report.html'}")

    def compare(self, runs: Sequence[Run], path: Path) -> Path:
        """Write one page about several runs of this kind."""
        del runs, path
        raise FoveateError(f"runs of kind {self.kind} cannot be compared on one page")

    def figures(self, run: Run, records: Mapping[str, Record]) -> Mapping[str, Any]:
        """Altair charts by name."""
        del run, records
        return {}

    def drawings(self, run: Run) -> dict[str, str]:
        """All figures as SVG, by name."""
        from foveate.charts.render import to_svg

        return {name: to_svg(chart) for name, chart in self.figures(run, run.records()).items()}

    def overview(self, run: Run, records: Mapping[str, Record]) -> Overview:
        """What the lab shows of a run."""
        from foveate.report.outcomes import setup_tables

        del records
        return Overview(setup=setup_tables(run, run.name, {}))

    # Trained models

    def reopen_part(self, run: Run, name: str) -> "tuple[Stack, list[Bag]]":
        """The trained members of one part, and the held-out bags its record was measured on."""
        del name
        raise FoveateError(f"{run.path} is a run of kind {self.kind}, which keeps no bags")

    def model_records(self, run: Run) -> dict[str, list[Record]]:
        """Records for each name that :meth:`trained_parts` accepts, one per fold."""
        return {name: [record] for name, record in run.records().items()}

    def trained_parts(
        self, run: Run, names: Sequence[str], new: NewBags | None, progress: PartProgress | None
    ) -> Iterator[TrainedPart]:
        """Trained models with labelled bags that they were not trained on.

        Args:
            run: A finished run.
            names: Which parts.
            new: Bags to examine them on; the run's held-out bags if None.
            progress: Called as ``progress(part, done, total)``.
        """
        raise NotImplementedError

    # Verdict on the attention

    @classmethod
    def excluded_options(cls, run: Run) -> tuple[str, ...]:
        """Options that a verdict does not advise: the run used them, or its command lacks them."""
        del run
        return ("folds", "group", "supervise-focus")

    @classmethod
    def update_card(cls, run: Run) -> None:
        """Write the verdict into the files that repeat it."""
        del run

    def lacks_verdict(self, run: Run) -> bool:
        """Whether a finished run was stopped before the verdict that it ends with."""
        del run
        return False

    def add_verdict(self, run: Run, declared: "DeclaredEvidence", command: str,
                    report: PartProgress) -> Run:  # fmt: skip
        """Examine the main part of a finished run, or that of every label.

        Args:
            run: The run.
            declared: What the user declared of the evidence.
            command: The command that repeats it.
            report: Called as ``report(part, done, total)``.

        Returns:
            The run with the entries of the manifest that this adds.
        """
        del declared, command, report
        raise FoveateError(f"{run.path} is a run of kind {self.kind}, which ends without a verdict")


class _Jobs(Registry[type[Job]]):
    """Kinds of jobs; registration also sets ``kind`` of the class."""

    def register(self, name: str) -> Any:
        enter = super().register(name)

        def register(job: type[Job]) -> type[Job]:
            job.kind = name
            return enter(job)

        return register


JOBS: Registry[type[Job]] = _Jobs("kind of run", package="foveate.jobs")


def job_class(run: Run) -> type[Job]:
    """The kind of job that a run directory belongs to."""
    return JOBS.get(run.manifest["kind"])


def open_job(run: Run) -> Job:
    """The job that a run directory belongs to."""
    return job_class(run).reopen(run)


def open_trained(run: Run) -> Job:
    """The job of a finished run that keeps trained models, to examine them."""
    job = job_class(run)
    if not job.keeps_models:
        raise FoveateError(
            f"trust is for a race or a fit, and {run.path} is a run of kind {job.kind}"
        )
    if not run.done:
        raise FoveateError(f"{run.path} is not finished: 'foveate resume' continues it")
    return job.reopen(run)


def show_results(run: Run, *, as_json: bool) -> None:
    """Write the page of a finished run and print its results.

    Args:
        run: The run, of any kind.
        as_json: Whether to print JSON in place of a table.
    """
    job = open_job(run)
    job.write_report(run, run.path / "report.html")
    if as_json:
        print(json.dumps(job.results(run), ensure_ascii=False))
    else:
        job.print_results(run)
